"""Open files, and read text tables: which sign separates the columns, what is a header, what an id, what a label."""

from __future__ import annotations

import csv
import os
import struct
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar
from xml.etree.ElementTree import ParseError

import numpy as np
from numpy.typing import NDArray

from sfa.data.downloads import PathLike
from sfa.data.labels import is_unknown
from sfa.data.readers.image_file import SUFFIXES as IMAGE_SUFFIXES
from sfa.errors import InputError
from sfa.tasks import Task

Grid = list[list[str]]
T = TypeVar("T")

# What NumPy, SciPy, pandas, torch, NetworkX and the XML parser raise on damaged files.
UNREADABLE = (OSError, ValueError, LookupError, TypeError, EOFError, RuntimeError, MemoryError, OverflowError)
DAMAGED = (*UNREADABLE, csv.Error, zipfile.BadZipFile, zlib.error, ParseError, struct.error)
ID_NAMES = ("", "id", "node", "node_id", "nodeid", "name", "index")
LABEL_NAMES = ("label", "labels", "y", "class", "subject")
HOLDERS: dict[Task, str] = {"node": "the graph", "graph": "the set", "image": "the set"}


def reading(path: Path, read: Callable[[Path], T]) -> T:
    """Return what is read from a file, or say in a sentence why it cannot be."""
    try:
        return read(path)
    except InputError:
        raise
    except DAMAGED as error:
        reason = (str(error) or type(error).__name__).splitlines()[0].rstrip(".")
        raise InputError(f"{path} cannot be read, it may be damaged or of another format: {reason}.") from error


def existing(path: PathLike, kind: str, *, or_folder: bool = False) -> Path:
    """Return the path of an ordinary file (or perhaps a folder) that is there."""
    full = Path(path).expanduser()
    try:
        if full.is_dir():
            if or_folder:
                return full
            raise InputError(f"The {kind} file {full} is a folder; give a file in it.")
        if not full.exists():
            raise InputError(
                f"There is no file or folder {full}." if or_folder else f"The {kind} file {full} does not exist."
            )
        if not full.is_file():  # a pipe or a device can be read once, or for ever
            raise InputError(f"The {kind} file {full} is no ordinary file; save it to one first.")
    except OSError as error:
        raise InputError(f"The {kind} file {full} cannot be read: {error.strerror or error}.") from error
    return full


def text_layout(path: Path) -> tuple[int, str | None, list[str]]:
    """Return the comment lines (`#` or `%`) before a text table, its separator (None: white space), its first row."""
    with path.open(encoding="utf-8-sig") as file:
        for skip, line in enumerate(file):
            if line.strip() and line.lstrip()[0] not in "#%":
                found = next((sign for sign in (",", "\t", ";") if sign in line), None)  # spreadsheets use any
                separator = "\t" if path.suffix.lower() == ".tsv" else found
                return skip, separator, _cells(line, separator)
    raise InputError(f"{path} has no rows.")


def read_grid(path: Path) -> Grid:
    """Return the rows of a table of few columns, each cell stripped, blank lines left out."""
    skip, separator, first_row = text_layout(path)
    grid = []
    with path.open(encoding="utf-8-sig") as file:
        for number, line in enumerate(file):
            if number < skip or not line.strip():
                continue
            grid.append(_cells(line, separator))
            if len(grid[-1]) != len(first_row):
                raise InputError(
                    f"{path} has {len(grid[-1])} columns in line {number + 1}, but {len(first_row)} in its first row."
                )
    return grid


def _cells(line: str, separator: str | None) -> list[str]:
    if separator is None:
        return line.split()
    return [cell.strip() for cell in next(csv.reader([line.rstrip("\r\n")], delimiter=separator))]


def is_integer(text: str) -> bool:
    return text.removeprefix("-").isdecimal()


def is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def parse_ids(texts: Iterable[object]) -> list[int] | list[str]:
    """Return ids as integers if every one is written like an integer ("7", not "07"), otherwise as text."""
    ids = [str(text).strip() for text in texts]
    try:
        numbers = [int(one) for one in ids]
    except ValueError:
        return ids
    fit = all(-(2**63) <= number < 2**63 for number in numbers)  # a longer one would not go into any table of numbers
    return numbers if fit and all(str(number) == one for number, one in zip(numbers, ids, strict=True)) else ids


def parse_labels(texts: list[str]) -> list[int | str | None]:
    """Return labels as integers if all known ones are written like integers, otherwise as text; None if unknown."""
    known: Iterator[int | str] = iter(parse_ids(text for text in texts if not is_unknown(text)))
    return [None if is_unknown(text) else next(known) for text in texts]


def read_labels(path: Path, ids: Sequence[Any], item: Task = "node") -> NDArray[Any]:
    """Return the label of each node (or other item) from a table (id, label), header optional; None if not listed.

    An image may be listed without the suffix of its file, if there is no other of that name.
    """
    grid = _label_grid(path, item)
    position = {str(one): i for i, one in enumerate(ids)}
    if grid[0][0] not in position and _is_label_header(grid[0]):
        grid = grid[1:]
    stems = _stems(ids) if item == "image" else {}
    labels = np.full(len(ids), None, dtype=object)
    seen: set[int] = set()
    for (one, _), label in zip(grid, parse_labels([label for _, label in grid]), strict=True):
        place = position.get(one, stems.get(one))
        if place is None:
            hint = f"; ids are names of files such as {ids[0]}" if stems else ""
            raise InputError(f"{path} labels the {item} {one!r}, which {HOLDERS[item]} does not have{hint}.")
        if place in seen:
            raise InputError(f"{path} labels the {item} {str(ids[place])!r} more than once.")
        seen.add(place)
        labels[place] = label
    return labels


def labeled_nodes(path: Path) -> list[str]:
    """Return the nodes that a table (id, label) names, as text."""
    grid = _label_grid(path)
    return [one for one, _ in grid[_is_label_header(grid[0]) :]]


def _label_grid(path: Path, item: Task = "node") -> Grid:
    grid = read_grid(path)
    if len(grid[0]) != 2:
        raise InputError(f"{path} has {len(grid[0])} columns; a label file has two, the {item} id and its label.")
    return grid


def _is_label_header(row: list[str]) -> bool:
    return row[0].lower() in ID_NAMES or row[1].lower() in LABEL_NAMES


def _stems(ids: Sequence[Any]) -> dict[str, int | None]:
    """Return the places of names of image files, by what comes before the suffix; None where that is not unique."""
    names = [(*os.path.splitext(str(one)), place) for place, one in enumerate(ids)]
    files = [(stem, place) for stem, suffix, place in names if suffix.lower() in IMAGE_SUFFIXES]
    counts = Counter(stem for stem, _ in files)
    return {stem: place if counts[stem] == 1 else None for stem, place in files}
