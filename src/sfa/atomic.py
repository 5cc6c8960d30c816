"""Atomic replacement of files, and locks."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

from sfa.errors import InputError


@contextmanager
def atomic_path(path: Path) -> Iterator[Path]:
    """Yield a temporary path beside ``path``, which is renamed over it on success and removed on failure."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=path.suffix)
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        _flush_to_disk(temporary)
        temporary.chmod(0o666 & ~umask())
        temporary.replace(path)
        _flush_to_disk(path.parent)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def write_text(path: Path, text: str) -> None:
    """Replace a text file in one step."""
    with atomic_path(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def ensure_writable(path: Path) -> None:
    """Raise unless a file can be made at ``path``, before long work whose result goes there."""
    if path.is_dir():
        raise InputError(f"Cannot write {path}: it is a folder, a file name is needed.")
    if not path.parent.is_dir():
        raise InputError(f"Cannot write {path}: the folder {path.parent} does not exist.")
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        os.close(handle)
        os.unlink(name)
    except OSError as error:
        raise InputError(f"Cannot write {path}: {error.strerror or error}.") from error


@contextmanager
def locked(path: Path, *, wait: bool) -> Iterator[bool]:
    """Hold the lock ``path``, and yield whether it is ours: without ``wait`` it may be another process's."""
    lock = FileLock(path)
    with suppress(Timeout):
        lock.acquire(timeout=-1 if wait else 0)
    try:
        yield lock.is_locked
    finally:
        if lock.is_locked:
            with suppress(OSError):  # while it is held: whoever waits for it finds out and makes a new one
                path.unlink()
            lock.release()


def _flush_to_disk(path: Path) -> None:
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
