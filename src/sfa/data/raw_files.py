"""Raw files of published data sets: found in the user's root or the cache; what is made of them, kept in the cache."""

from __future__ import annotations

import contextlib
import hashlib
import io
import os
import tempfile
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from sfa.data.roots import cache_folder, data_root, writable_cache
from sfa.errors import InputError


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
