"""Where data sets lie on this machine: the user's data root, and the cache that is ours to write into."""

from __future__ import annotations

import contextlib
import hashlib
import io
import os
import shutil
import tarfile
import tempfile
import urllib.request
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from sfa.errors import InputError

VARIABLE = "SFA_DATA"


def data_root(root: str | os.PathLike[str] | None = None) -> Path:
    """The folder to look in: `root` if given, else the environment variable SFA_DATA, else the cache folder."""
    given, origin = (
        (root, "given as data root") if root is not None else (os.environ.get(VARIABLE), f"set in {VARIABLE}")
    )
    if not given:
        return cache_folder()
    folder = Path(given).expanduser()
    if not folder.is_dir():
        what = "is not a folder" if folder.exists() else "does not exist"
        raise InputError(
            f"The folder {folder} {origin} {what}; it should hold Planetoid/, Amazon/, TUDataset/ or the like."
        )
    return folder


def cache_folder() -> Path:
    """`$XDG_CACHE_HOME/sfa`, or `~/.cache/sfa`; not made until something is written."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "sfa"


def writable_cache() -> Path:
    """The cache folder, made if it is not there."""
    folder = cache_folder()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"The cache folder {folder} cannot be made ({error.strerror}); set XDG_CACHE_HOME to a folder that can."
        ) from error
    if not os.access(folder, os.W_OK):
        raise InputError(f"The cache folder {folder} cannot be written; set XDG_CACHE_HOME to a folder that can.")
    return folder


def find_raw(folder: Path, root: str | os.PathLike[str] | None) -> Path | None:
    """The folder of this path in the user's root, or else among earlier downloads, that has something in it."""
    for base in (data_root(root), cache_folder()):
        raw = base / folder
        if raw.is_dir() and any(raw.iterdir()):
            return raw
    return None


def require_files(key: str, folder: Path, files: Sequence[str]) -> None:
    """Raises unless all files of a data set are there."""
    for name in files:
        if not (folder / name).is_file():
            raise InputError(f"The folder {folder} has no file {name}; {key} needs {', '.join(files)}.")


def processed(key: str, files: Sequence[Path], made_by: str, make: Callable[[Path], None]) -> Path:
    """The folder in the cache that `make` fills; filled anew if a file's place, size or time has changed, or the maker.

    It is made in a temporary folder and then renamed, so that a crash or a second process never leaves half of one.
    """
    facts: list[object] = [made_by]
    for file in files:
        status = file.stat()
        facts += [str(file.resolve()), status.st_size, status.st_mtime_ns]
    folder = (
        writable_cache()
        / "processed"
        / f"{key.replace(':', '-')}-{hashlib.sha256(repr(facts).encode()).hexdigest()[:16]}"
    )
    if not folder.exists():
        folder.parent.mkdir(exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent, prefix="making-") as temporary:
            made = Path(temporary, "made")
            made.mkdir()
            make(made)
            move(made, folder)
    return folder


def move(source: Path, target: Path) -> None:
    """Renames a folder; if another process made the same one first, that one stays."""
    try:
        source.rename(target)
    except OSError:
        if not target.is_dir():
            raise


@contextlib.contextmanager
def damage_is_said(key: str, folder: Path) -> Iterator[None]:
    """Whatever a reader raises on damaged files becomes one sentence."""
    try:
        yield
    except InputError:
        raise
    except Exception as error:
        reason = (str(error) or type(error).__name__).splitlines()[0].rstrip(".")
        raise InputError(f"The files of {key} in {folder} cannot be read, they may be damaged: {reason}.") from error


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Without what libraries print ("Processing...") and the warnings (and warning filters) of their readers."""
    with (
        contextlib.redirect_stdout(io.StringIO()),
        contextlib.redirect_stderr(io.StringIO()),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")
        yield


SECONDS = 60
"""Without a word from the server, after which it is given up."""


@dataclass(frozen=True)
class Archive:
    """Where an archive is published, its checksum, and the one folder that is in it."""

    url: str
    md5: str
    folder: str


def fetch(key: str, archive: Archive, instead: str, looked_in: Path) -> Path:
    """The archive's folder in the cache. Nothing is left there if any of it fails.

    Args:
        key: our name of the data set.
        archive: what to fetch.
        instead: the bundled set to turn to where this one cannot be had.
        looked_in: the folder in which it was not found.
    """
    target = writable_cache() / archive.folder
    with tempfile.TemporaryDirectory(dir=cache_folder(), prefix="download-") as temporary:
        file = Path(temporary, "archive")
        try:
            _download(archive.url, file)
        except Exception as error:  # whatever the network raises
            raise InputError(
                f"{key} is not in {looked_in}, where it was looked for, and could not be downloaded "
                f"({type(error).__name__}); give the folder that holds {archive.folder}/ (unpacked from {archive.url}) "
                f"with --data-root or {VARIABLE}, or use the bundled {instead}."
            ) from error
        checksum = _md5(file)
        if checksum != archive.md5:
            raise InputError(
                f"What was downloaded from {archive.url} is not {key} as published: its MD5 is {checksum} and not "
                f"{archive.md5}; try again, or use the bundled {instead}."
            )
        unpack(file, Path(temporary), archive.folder)
        move(Path(temporary, archive.folder), target)
    return target


def _download(url: str, file: Path) -> None:
    with urllib.request.urlopen(url, timeout=SECONDS) as answer, file.open("wb") as opened:
        shutil.copyfileobj(answer, opened, 1 << 20)


def _md5(file: Path) -> str:
    digest = hashlib.md5(usedforsecurity=False)
    with file.open("rb") as opened:
        while chunk := opened.read(1 << 20):
            digest.update(chunk)
    return digest.hexdigest()


def unpack(file: Path, into: Path, folder: str) -> None:
    """The ordinary files of a tar archive, all of which lie in one folder; one that has anything else is refused.

    The files are written here one by one: a link, or a path that leads out of the folder, is never followed.
    """
    with tarfile.open(file) as archive:
        for member in archive:
            path = PurePosixPath(member.name)
            if path.is_absolute() or ".." in path.parts or path.parts[:1] != (folder,) or not _is_plain(member):
                raise InputError(
                    f"The archive of {folder} has {member.name!r} in it, which is no file or folder below {folder}; it "
                    "is not unpacked."
                )
            target = into / path
            if member.isdir():
                target.mkdir(parents=True, exist_ok=True)
                continue
            target.parent.mkdir(parents=True, exist_ok=True)
            content = archive.extractfile(member)
            assert content is not None  # it is a file
            with content, target.open("wb") as opened:
                shutil.copyfileobj(content, opened, 1 << 20)


def _is_plain(member: tarfile.TarInfo) -> bool:
    return member.isfile() or member.isdir()
