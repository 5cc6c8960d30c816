"""A table of the paper: what it prints and what was measured, cell by cell, before it is drawn in some format."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


class Interval(NamedTuple):
    """A mean difference with its 95 % interval."""

    mean: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.mean:+.2f} [{self.low:+.2f}, {self.high:+.2f}]"


@dataclass(frozen=True)
class Measured:
    """What was measured of one cell."""

    mean: float
    """NaN where :attr:`text` is a word."""
    std: float | None
    """Over training seeds, of the means over splits; with one seed, over its splits; ``None`` of a single value."""
    seeds: tuple[int, ...]
    """None where a value is read or counted, and depends on no seed."""
    splits: int
    """Of one seed."""
    protocol: str
    metric: str
    budget: str | None = None
    """In words, where it is not the recipe's own: ``100 of 200 epochs, batches of 1024 (clusters)``."""
    mine: bool = False
    """From the user's ledger; else from what came with sfa."""
    text: str | None = None
    """Shown in place of mean and deviation where a value is no percentage: a time, a ratio, a count, a word."""
    difference: Interval | None = None
    """From the baseline with the same budget, paired over the seeds, or splits, that both have."""
    difference_from: str | None = None
    """What that baseline is called."""


@dataclass(frozen=True)
class Cell:
    """One value of the paper beside ours."""

    published: str | None = None
    """As printed; ``None`` where the paper has none."""
    best: bool = False
    """Bold in the paper."""
    measured: Measured | None = None
    command: str | None = None
    """The complete command that fills it; ``None`` of what cannot be measured."""
    failure: str | None = None
    """Why a measurement failed."""
    note: str | None = None
    """What is wrong with the paper's value, or odd about it."""
    missing: str | None = None
    """Why it cannot be measured."""


@dataclass(frozen=True)
class Row:
    """A line of a table."""

    label: str
    ours: bool = False
    """An addition that the paper does not have."""
    highlighted: bool = False
    """Shaded in the paper."""
    rule_above: bool = False
    cells: tuple[Cell, ...] = ()
    key: str = ""
    """Of a line of the paper; stays what it is: ``grace``, or the name of the data set."""


@dataclass(frozen=True)
class Table:
    """A table that is ready to be drawn."""

    number: int
    title: str
    caption: str
    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    row_header: str = ""
    notes: tuple[str, ...] = ()
    """Printed below."""
    command: str = ""
    """What shows it."""
    commands: tuple[str, ...] = ()
    """What fills the cells that are not measured yet, each for as many as possible."""
