"""Atomic replacement of files, and locks."""

import fcntl
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

from sfa.errors import InputError, translate_os_errors

TEMPORARY = ".*.tmp-????????"  # pattern of the names of temporary folders


@contextmanager
def atomic_path(path: Path) -> Iterator[Path]:
    """Yield a temporary path of the same name, which is renamed to ``path`` on success and removed on failure."""
    refuse_special(path)
    with temporary_folder(path) as folder:
        temporary = folder / path.name
        yield temporary
        flush_to_disk(temporary)
        temporary.chmod(0o666 & ~umask())
        temporary.replace(path)
        flush_to_disk(path.parent)


@contextmanager
def atomic_folder(path: Path) -> Iterator[Path]:
    """Yield a new folder, which is renamed to ``path`` on success, unless that has files, and removed on failure."""
    with temporary_folder(path) as folder:
        yield folder
        for file in folder.iterdir():
            flush_to_disk(file)
        folder.chmod(0o777 & ~umask())
        folder.replace(path)
        flush_to_disk(path.parent)


def refuse_special(path: Path) -> None:
    """Raise if ``path`` is a pipe, a device or a loop of links, which no file must take the place of."""
    with translate_os_errors(f"Cannot write {path}"), suppress(FileNotFoundError, NotADirectoryError):
        if stat.S_IFMT(path.stat().st_mode) not in (stat.S_IFREG, stat.S_IFDIR):
            raise InputError(f"Cannot write {path}: it is a pipe, a device or the like.")


@contextmanager
def temporary_folder(path: Path) -> Iterator[Path]:
    """Yield a new folder beside ``path``, which is removed at the end unless it was renamed.

    It is locked while in use. A lock ends with its process, so folders that killed processes left are known by it, and
    are removed first.
    """
    for left in path.parent.glob(TEMPORARY):
        with suppress(OSError):  # in use, or no folder of ours
            handle = os.open(left, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(left, ignore_errors=True)
            finally:
                os.close(handle)
    folder, handle = _make_locked_folder(path)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(handle)


def _make_locked_folder(path: Path) -> tuple[Path, int]:
    while True:
        folder = Path(tempfile.mkdtemp(dir=path.parent, prefix=f".{path.name}.tmp-"))
        with suppress(FileNotFoundError):
            handle = os.open(folder, os.O_RDONLY)
            with suppress(OSError):  # on a file system without locks, where nothing that was left is removed either
                fcntl.flock(handle, fcntl.LOCK_SH)
            if folder.exists():  # else another process took it for one that was left, just before it was locked
                return folder, handle
            os.close(handle)


def write_text(path: Path, text: str) -> None:
    """Replace a text file in one step."""
    with atomic_path(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def ensure_writable(path: Path) -> None:
    """Raise unless a file can be made at ``path``, before long work whose result goes there."""
    with translate_os_errors(f"Cannot write {path}"):
        if path.is_dir():
            raise InputError(f"Cannot write {path}: it is a folder, a file name is needed.")
        if not path.parent.is_dir():
            raise InputError(f"Cannot write {path}: the folder {path.parent} does not exist.")
        refuse_special(path)
        with temporary_folder(path):
            pass


@contextmanager
def locked(path: Path, *, wait: bool) -> Iterator[bool]:
    """Hold the lock ``path``, and yield whether it is ours: without ``wait`` it may be another process's.

    It ends with the process, however that ends. A process that has it may ask for it again.
    """
    lock = FileLock(path.absolute(), is_singleton=True)
    with suppress(Timeout):
        lock.acquire(timeout=-1 if wait else 0)
    try:
        yield lock.is_locked
    finally:
        if lock.lock_counter == 1:
            with suppress(OSError):  # while it is held: whoever waits for it finds out and makes a new one
                path.unlink()
        lock.release()


def flush_to_disk(path: Path) -> None:
    """Wait until the disk has a file, or the names in a folder."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def umask() -> int:
    """Return the permissions that new files do not get."""
    mask = os.umask(0)
    os.umask(mask)
    return mask
