"""What the paper prints: its 17 tables, value by value, from one YAML file each."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import yaml

from sfa.errors import InputError

NUMBERS = range(1, 18)
"""Of the paper's tables, in the order of their captions."""


@dataclass(frozen=True)
class PublishedCell:
    """A value as printed."""

    text: str
    best: bool = False
    """Bold in the paper."""
    note: str | None = None
    """What is wrong with it, or odd about it, in our words."""


@dataclass(frozen=True)
class PublishedRow:
    """A line of a table."""

    key: str
    """Stays what it is: ``grace``, ``sfa-infonce``; the name of the data set, where the line is of one."""
    label: str
    """As printed, but for slips of typing."""
    cells: tuple[PublishedCell | None, ...]
    highlighted: bool = False
    """Shaded."""
    rule_above: bool = False
    printed: str | None = None
    """The paper's own label, where it is another one."""


@dataclass(frozen=True)
class PublishedTable:
    """One of the paper's tables.

    Shades of lines and bold type are kept. The blue of some values is not: what it marks differs from table to table.
    """

    number: int
    title: str
    caption: str
    """The paper's, shortened."""
    columns: tuple[str, ...]
    """As printed, but for slips of typing."""
    column_keys: tuple[str, ...]
    """Stay what they are; the name of the data set, where a column is of one."""
    rows: tuple[PublishedRow, ...]
    row_header: str = ""
    notes: tuple[str, ...] = ()
    """What the paper leaves open or got wrong, in our words."""

    def cell(self, row: str, column: str) -> PublishedCell | None:
        """By their keys."""
        found = next((candidate for candidate in self.rows if candidate.key == row), None)
        if found is None or column not in self.column_keys:
            raise InputError(f"Table {self.number} of the paper has no cell {row!r}, {column!r}.")
        return found.cells[self.column_keys.index(column)]


@cache
def load(number: int) -> PublishedTable:
    """Table ``number`` of the paper."""
    if number not in NUMBERS:
        raise InputError(f"The paper has no table {number}: they are numbered {NUMBERS[0]} to {NUMBERS[-1]}.")
    folder = files("sfa.tables").joinpath("published")
    file = next(entry for entry in folder.iterdir() if entry.name.startswith(f"{number:02d}_"))
    return _table(yaml.safe_load(file.read_text(encoding="utf-8")))


def _table(content: dict[str, Any]) -> PublishedTable:
    keys = tuple(column["key"] for column in content["columns"])
    spelt = [(entry["printed"], entry["label"]) for entry in (*content["columns"], *content["rows"]) if _slip(entry)]
    return PublishedTable(
        number=content["number"],
        title=content["title"],
        caption=content["caption"],
        columns=tuple(column["label"] for column in content["columns"]),
        column_keys=keys,
        rows=tuple(_row(row, keys) for row in content["rows"]),
        row_header=content["row_header"],
        notes=(*content.get("notes", ()), *_spelling(spelt)),
    )


def _row(row: dict[str, Any], columns: tuple[str, ...]) -> PublishedRow:
    best, notes = row.get("best", ()), row.get("notes", {})
    return PublishedRow(
        key=row["key"],
        label=row["label"],
        cells=tuple(
            None if text is None else PublishedCell(text, best=column in best, note=notes.get(column))
            for column, text in zip(columns, row["cells"], strict=True)
        ),
        highlighted=row.get("highlighted", False),
        rule_above=row.get("rule_above", False),
        printed=row.get("printed"),
    )


def _slip(entry: dict[str, Any]) -> bool:
    """Whether a label differs from what is printed as a word does, rather than as ticks do."""
    return any(letter.isalpha() for letter in entry.get("printed", ""))


def _spelling(spelt: list[tuple[str, str]]) -> tuple[str, ...]:
    if not spelt:
        return ()
    return ("The paper spells " + ", ".join(f"{label} as {printed!r}" for printed, label in spelt) + ".",)
