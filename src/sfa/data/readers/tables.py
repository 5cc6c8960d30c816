"""Text tables as a grid of text: which sign separates the columns, and which lines are comment or header."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sfa.errors import InputError

Grid = list[list[str]]


@dataclass
class Layout:
    """How a text table is laid out: comment lines before it, its separator (None: white space), its first row."""

    skip: int
    separator: str | None
    first_row: list[str]


def text_layout(path: Path) -> Layout:
    """The layout, found from the first line that is neither blank nor a comment (`#` or `%`)."""
    with path.open(encoding="utf-8-sig") as file:
        for skip, line in enumerate(file):
            if line.strip() and line.lstrip()[0] not in "#%":
                separator = _separator(path, line)
                return Layout(skip, separator, _cells(line, separator))
    raise InputError(f"{path} has no rows.")


def read_grid(path: Path) -> Grid:
    """The rows of a table of few columns, each cell stripped, blank lines left out."""
    layout = text_layout(path)
    grid = []
    with path.open(encoding="utf-8-sig") as file:
        for number, line in enumerate(file):
            if number < layout.skip or not line.strip():
                continue
            grid.append(_cells(line, layout.separator))
            if len(grid[-1]) != len(layout.first_row):
                raise InputError(
                    f"{path} has {len(grid[-1])} columns in line {number + 1}, but {len(layout.first_row)} in its "
                    "first row."
                )
    return grid


def _cells(line: str, separator: str | None) -> list[str]:
    if separator is None:
        return line.split()
    return [cell.strip() for cell in next(csv.reader([line.rstrip("\r\n")], delimiter=separator))]


def _separator(path: Path, line: str) -> str | None:
    """A `.csv` from a spreadsheet may well use semicolons or tabs."""
    if path.suffix.lower() == ".tsv":
        return "\t"
    return next((sign for sign in (",", "\t", ";") if sign in line), None)


def is_integer(text: str) -> bool:
    return text.removeprefix("-").isdecimal()


def is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


@dataclass
class Parts:
    """The arrays of one graph file; `num_nodes` is set when the file says it, as an adjacency does.

    If `ptr` is set, it is a graph set: `y` are labels of graphs, and edges count nodes through all of them.
    """

    edges: Any
    edge_weight: Any = None
    x: Any = None
    y: Any = None
    class_names: list[str] | None = None
    node_ids: list[int | str] | None = None
    num_nodes: int | None = None
    name: str | None = None
    masks: dict[str, Any] = field(default_factory=dict)
    ptr: Any = None
    graph_ids: list[int | str] | None = None


def parse_ids(texts: Iterable[object]) -> list[int] | list[str]:
    """Ids as integers if every one is written like an integer ("7", not "07"), otherwise as text."""
    ids = [str(text).strip() for text in texts]
    try:
        numbers = [int(one) for one in ids]
    except ValueError:
        return ids
    fit = all(-(2**63) <= number < 2**63 for number in numbers)  # a longer one would not go into any table of numbers
    return numbers if fit and all(str(number) == one for number, one in zip(numbers, ids, strict=True)) else ids
