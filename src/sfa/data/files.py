"""Find files on this machine, and say in one sentence why one cannot be used."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from sfa.errors import InputError, SfaError

PathLike = str | os.PathLike[str]
VARIABLE = "SFA_DATA"


def data_root(root: PathLike | None = None) -> Path:
    """Return the folder to look in: `root` if given, else the environment variable SFA_DATA, else the cache folder."""
    given, origin = (os.environ.get(VARIABLE), f"set in {VARIABLE}") if root is None else (root, "given as data root")
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
    """Return `$XDG_CACHE_HOME/sfa`, or `~/.cache/sfa`; it is not made until something is written."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "sfa"


def writable_cache() -> Path:
    """Return the cache folder, made if it is not there."""
    folder = cache_folder()
    reason = "it is read-only"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = error.strerror or str(error)
    if not os.access(folder, os.W_OK):
        raise InputError(
            f"The cache folder {folder} cannot be made or written ({reason}); set XDG_CACHE_HOME to a folder that can."
        )
    return folder


def find_place(root: PathLike | None, *places: str) -> Path | None:
    """Return the first of these, in the user's root or else in the cache, that is a file or a folder with content."""
    paths = (base / place for base in (data_root(root), cache_folder()) for place in places)
    return next((path for path in paths if path.is_file() or (path.is_dir() and any(path.iterdir()))), None)


def existing(path: PathLike, kind: str, *, or_folder: bool = False) -> Path:
    """Return the path of an ordinary file (or perhaps a folder) that exists."""
    full = Path(path).expanduser()
    try:
        if full.is_file() or (or_folder and full.is_dir()):
            return full
        if or_folder and not full.exists():
            raise InputError(f"There is no file or folder {full}.")
        # A pipe or a device can be read once, or for ever.
        there = "is a folder; give a file in it" if full.is_dir() else "is no ordinary file; save it to one first"
        what = there if full.exists() else "does not exist"
    except OSError as error:
        what = f"cannot be read: {error.strerror or error}"
    raise InputError(f"The {kind} file {full} {what}.")


@contextlib.contextmanager
def explain_damage(what: object, maybe: str = "it may be damaged or of another format") -> Iterator[None]:
    """Turn whatever a reader raises on damaged files into one sentence."""
    try:
        yield
    except SfaError:
        raise
    except Exception as error:
        reason = (str(error) or type(error).__name__).splitlines()[0].rstrip(".")
        raise InputError(f"{what} cannot be read, {maybe}: {reason}.") from error
