"""Find the folders of data sets and of the cache, without any library that reads data."""

import os
from pathlib import Path

from sfa.errors import InputError

PathLike = str | os.PathLike[str]
VARIABLE = "SFA_DATA"


def data_root(root: PathLike | None = None) -> Path:
    """Return the folder to look in: `root` if given, else the environment variable SFA_DATA, else the cache folder."""
    given, origin = (os.environ.get(VARIABLE), f"set in {VARIABLE}") if root is None else (root, "given as data root")
    if not given:
        return cache_folder()
    folder = Path(given).expanduser()
    if not folder.is_dir():
        what = f"{origin} is not a folder" if folder.exists() else f"{origin} does not exist"
        raise InputError(f"The folder {folder} {what}; it should hold Planetoid/, Amazon/, TUDataset/ or the like.")
    return folder


def cache_folder() -> Path:
    """Return `$XDG_CACHE_HOME/sfa`, or `~/.cache/sfa`; it is not made until something is written."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "sfa"


def find_place(root: PathLike | None, *places: str) -> Path | None:
    """Return the first of these, in the user's root or else in the cache, that is a file or a folder with content."""
    paths = (base / place for base in (data_root(root), cache_folder()) for place in places)
    return next((path for path in paths if path.is_file() or (path.is_dir() and any(path.iterdir()))), None)
