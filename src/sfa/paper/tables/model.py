"""A table of the paper: published and measured values, cell by cell, before it is rendered in some format."""

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
    """The measured value of a cell; one that is counted or read has no seeds.

    Attributes:
        std: Deviation over training seeds of the means over splits; with one seed, over its splits.
        budget: The training budget in words, where it is not the recipe's: ``100 of 200 epochs``.
        mine: Whether it is from the user's ledger, and not shipped with sfa.
        text: Shown in place of mean and deviation: a time, a count, a word (then the mean is NaN).
        difference: Paired difference from the baseline with the same budget, named ``difference_from``.
    """

    mean: float
    std: float | None
    seeds: tuple[int, ...]
    splits: int
    protocol: str
    metric: str
    budget: str | None = None
    mine: bool = False
    text: str | None = None
    difference: Interval | None = None
    difference_from: str | None = None


@dataclass(frozen=True)
class Cell:
    """A published value, in bold if ``best``, beside the measured one and the command that measures it.

    ``failure`` says why a measurement failed, ``missing`` why there cannot be one; ``note`` is on the paper's value.
    """

    published: str | None = None
    best: bool = False
    measured: Measured | None = None
    command: str | None = None
    failure: str | None = None
    note: str | None = None
    missing: str | None = None


@dataclass(frozen=True)
class Row:
    """A row of a table; one that is ``ours`` is not in the paper, a ``highlighted`` one is shaded in it."""

    label: str
    ours: bool = False
    highlighted: bool = False
    rule_above: bool = False
    cells: tuple[Cell, ...] = ()
    key: str = ""


@dataclass(frozen=True)
class Table:
    """A table that is ready to be rendered, with the command that shows it and the commands that fill its gaps."""

    number: int
    title: str
    caption: str
    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    row_header: str = ""
    notes: tuple[str, ...] = ()
    command: str = ""
    commands: tuple[str, ...] = ()
