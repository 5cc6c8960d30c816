"""Where data sets lie on this machine: the user's data root, and the cache that is ours to write into."""

from __future__ import annotations

import os
from pathlib import Path

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
