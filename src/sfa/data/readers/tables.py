"""Read text tables: the separator, the first row, ids, labels, and tables (id, label)."""

import csv
import os
import warnings
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sfa.data.downloads import explain_damage
from sfa.data.labels import is_unknown
from sfa.data.readers.image_file import SUFFIXES as IMAGE_SUFFIXES
from sfa.errors import InputError
from sfa.tasks import Task

ID_NAMES = ("", "id", "node", "node_id", "nodeid", "name", "index")
LABEL_NAMES = ("label", "labels", "y", "class", "subject")


class TextTable:
    """A text table, of which only the first row that is no comment (`#`, `%`) is read, to tell the separator."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with path.open(encoding="utf-8-sig") as file:
            for number, line in enumerate(file):
                if line.strip() and line.lstrip()[0] not in "#%":
                    found = next((sign for sign in ",\t;" if sign in line), None)  # spreadsheets use any
                    self.separator = "\t" if path.suffix.lower() == ".tsv" else found
                    self.skip, self.first_row = number, self._cells(line)
                    return
        raise InputError(f"{path} has no rows.")

    def read(self, **options: Any) -> Any:
        """Return a data frame with the columns 0, 1, …; `options` are those of `pandas.read_csv`."""
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)  # cells would be dropped
            try:
                return pd.read_csv(
                    self.path,
                    sep=self.separator or r"\s+",
                    skiprows=self.skip,
                    names=list(range(len(self.first_row))),
                    index_col=False,
                    keep_default_na=False,
                    skipinitialspace=True,
                    encoding="utf-8-sig",
                    **options,
                )
            except (pd.errors.ParserError, pd.errors.ParserWarning):
                self._check_widths()
                raise

    def read_text(self) -> Any:
        """Return the data frame of the stripped texts of all rows, the first of which may be a header."""
        frame = self.read(header=None, dtype=str)
        if (frame.iloc[:, -1] == "").any():  # or there are too few cells in a row
            self._check_widths()
        return frame.apply(lambda column: column.str.strip())

    def _check_widths(self) -> None:
        with self.path.open(encoding="utf-8-sig") as file:
            for number, line in enumerate(file):
                width = len(self._cells(line))
                if number >= self.skip and line.strip() and width != len(self.first_row):
                    raise InputError(
                        f"{self.path} has {width} columns in line {number + 1}, but {len(self.first_row)} in its first "
                        "row."
                    )

    def _cells(self, line: str) -> list[str]:
        text = line.rstrip("\r\n") if self.separator else " ".join(line.split())
        return [cell.strip() for cell in next(csv.reader([text], delimiter=self.separator or " "), [])]


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
    position = {str(one): i for i, one in enumerate(ids)}
    named, texts = read_pairs(path, position, item)
    stems = _stems(ids) if item == "image" else {}
    labels = np.full(len(ids), None, dtype=object)
    seen: set[int] = set()
    for one, label in zip(named, parse_labels(texts), strict=True):
        place = position.get(one, stems.get(one))
        if place is None:
            holder = "the graph" if item == "node" else "the set"
            hint = f"; ids are names of files such as {ids[0]}" if stems else ""
            raise InputError(f"{path} labels the {item} {one!r}, which {holder} does not have{hint}.")
        if place in seen:
            raise InputError(f"{path} labels the {item} {str(ids[place])!r} more than once.")
        seen.add(place)
        labels[place] = label
    return labels


def read_pairs(path: Path, known: Container[str] = (), item: Task = "node") -> tuple[list[str], list[str]]:
    """Return the columns of a table (id, label) without its header, which begins with no known id."""
    with explain_damage(path):
        frame = TextTable(path).read_text()
    if frame.shape[1] != 2:
        raise InputError(f"{path} has {frame.shape[1]} columns; a label file has two, the {item} id and its label.")
    named, texts = frame[0].tolist(), frame[1].tolist()
    has_header = named[0].lower() in ID_NAMES or texts[0].lower() in LABEL_NAMES
    start = 1 if has_header and named[0] not in known else 0
    return named[start:], texts[start:]


def _stems(ids: Sequence[Any]) -> dict[str, int | None]:
    """Return the places of names of image files, by what comes before the suffix; None where that is not unique."""
    names = [(*os.path.splitext(str(one)), place) for place, one in enumerate(ids)]
    files = [(stem, place) for stem, suffix, place in names if suffix.lower() in IMAGE_SUFFIXES]
    counts = Counter(stem for stem, _ in files)
    return {stem: place if counts[stem] == 1 else None for stem, place in files}
