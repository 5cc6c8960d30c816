"""Find the folders of data sets and of the cache, without any library that reads data."""

import json
import os
import stat
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from sfa.errors import InputError, quoted, shortened, unknown_name

PathLike = str | os.PathLike[str]
VARIABLE = "SFA_DATA"


def data_root(root: PathLike | None = None) -> Path:
    """Return the folder to look in: `root` if given, else the environment variable SFA_DATA, else the cache folder."""
    given, origin = (os.environ.get(VARIABLE), f"set in {VARIABLE}") if root is None else (root, "given as data root")
    if not given:
        return cache_folder()
    folder = expand_user(given)
    if not os.path.isdir(folder):
        what = f"{origin} is not a folder" if os.path.exists(folder) else f"{origin} does not exist"
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


def expand_user(path: PathLike) -> Path:
    """Return the path with the home folder in place of `~` or `~user`."""
    try:
        return Path(path).expanduser()
    except RuntimeError as error:
        raise InputError(f"The path {os.fspath(path)!r} begins with the home folder of no known user.") from error


def require_regular_file(path: PathLike, what: str | None = None, *, max_bytes: int | None = None) -> Path:
    """Return the path, `~` expanded, of an ordinary file (or a link to one) to read, of at most ``max_bytes``.

    A pipe would be waited for, and a device can be read for ever. An error calls the file ``what`` ("The recipe x").
    """
    full = expand_user(path)
    what = what or str(full)
    try:
        status = full.stat()
    except FileNotFoundError:
        raise InputError(f"{what} does not exist.") from None
    except (OSError, ValueError) as error:  # a name that is too long, a loop of links, a null character
        raise InputError(f"{what} cannot be read: {getattr(error, 'strerror', None) or error}.") from error
    if stat.S_ISDIR(status.st_mode):
        raise InputError(f"{what} is a folder; give a file in it.")
    if not stat.S_ISREG(status.st_mode):
        raise InputError(f"{what} is no ordinary file but a pipe, a device or the like; save it to a file first.")
    if max_bytes is not None and status.st_size > max_bytes:
        raise InputError(f"{what} has {status.st_size} bytes, and at most {max_bytes} are read.")
    return full


def read_json(path: PathLike) -> Any:
    """Return the values in a file of JSON; whatever is wrong with the file is one sentence."""
    file = require_regular_file(path, max_bytes=2**26)
    try:
        return parse_json(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{file} cannot be read, it is damaged or is not JSON: {shortened(str(error))}.") from error


def parse_json(text: str) -> Any:
    """Return the values that are written in JSON; raise ``ValueError`` also if a key is given twice."""
    try:
        values = json.loads(text, object_pairs_hook=_without_twins)
        if "\\ud" in text.lower():
            json.dumps(values, ensure_ascii=False).encode()  # raises for half of a surrogate pair, as no file holds it
        return values
    except RecursionError as error:
        raise ValueError("it is nested too deep") from error


def _without_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) < len(pairs):
        keys = [key for key, _ in pairs]
        raise ValueError(f"the key {quoted(next(key for key in values if keys.count(key) > 1))} is given twice")
    return values


def existing(path: PathLike, kind: str, *, or_folder: bool = False) -> Path:
    """Return the path of an ordinary file (or perhaps a folder) that exists."""
    full = expand_user(path)
    if or_folder and os.path.isdir(full):
        return full
    if or_folder and not os.path.lexists(full):
        raise InputError(f"There is no file or folder {full}.")
    return require_regular_file(full, f"The {kind} file {full}")


def no_such_data(name: PathLike, known: Iterable[str]) -> InputError:
    """Return the error for a name that is neither that of a data set nor of a file or folder."""
    unknown, quoted = str(unknown_name("data set", name, known)), repr(name)
    return InputError(unknown.replace(quoted, f"{quoted}, and there is no file or folder of that name", 1))
