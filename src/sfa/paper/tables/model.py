"""A table of the paper, published and measured values cell by cell; and its texts, which all formats show."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

NOT_MEASURED, NOT_PUBLISHED, OURS = "–", "·", "†"
_RAISED = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


class Interval(NamedTuple):
    """A mean difference with its 95 % interval."""

    mean: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.mean:+.2f} [{self.low:+.2f}, {self.high:+.2f}]"


@dataclass(frozen=True)
class Measured:
    """The measured value of a cell; one that is counted or read has no seeds."""

    mean: float
    std: float | None  # over training seeds of the means over splits; with one seed, over its splits
    seeds: tuple[int, ...]
    splits: int
    protocol: str
    metric: str
    budget: str | None = None  # in words, where it is not the recipe's: ``100 of 200 epochs``
    mine: bool = False  # from the user's ledger, and not shipped with sfa
    text: str | None = None  # shown in place of mean and deviation: a time, a count, a word (then the mean is NaN)
    difference: Interval | None = None  # paired, from the baseline with the same budget
    difference_from: str | None = None  # label of this baseline

    @property
    def how(self) -> str:
        """Protocol, seeds and splits: ``honest-10-10-80, seeds 0, 1, 2, 20 splits each``."""
        if not self.seeds:
            return self.protocol
        timed, clustered = self.protocol.startswith("run-time"), "clustering" in self.protocol
        repeats = "turn" if timed else "run" if clustered else "split"
        splits = f"{self.splits} {repeats}{'' if self.splits == 1 else 's'}"
        seeds, many = ", ".join(map(str, sorted(self.seeds))), len(self.seeds) > 1
        return f"{self.protocol}, seed{'s' * many} {seeds}, {splits}{' each' * many}"


@dataclass(frozen=True)
class Cell:
    """A published value, in bold if ``best``, beside the measured one and the command that measures it."""

    published: str | None = None
    best: bool = False
    measured: Measured | None = None
    command: str | None = None
    failure: str | None = None  # why a measurement failed
    note: str | None = None  # on the paper's value
    missing: str | None = None  # why there cannot be a measurement


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


class CellText(NamedTuple):
    """The lines of a cell, with marks. ``best`` is bold in the paper, ``leading`` is the column's best measured."""

    published: str
    measured: str
    difference: str
    best: bool
    leading: bool


class TableText(NamedTuple):
    """A table as text; ``notes`` explain the cells, then each mark, then the table."""

    title: str
    labels: list[str]
    cells: list[list[CellText]]
    notes: list[str]
    commands: list[str]


def text_of(table: Table) -> TableText:
    """Return the table as text; a mark is a raised number."""
    cells = [cell for row in table.rows for cell in row.cells]
    all_measured = [cell.measured for cell in cells if cell.measured]
    ways = {_describe(measured, all_measured) for measured in all_measured}
    leading = set(_leading(table))
    marks: dict[str, str] = {}  # by what they mean

    def marked(text: str, *meanings: str) -> str:
        return text + ",".join(marks.setdefault(one, str(1 + len(marks)).translate(_RAISED)) for one in meanings)

    def cell_text(cell: Cell, ours: bool, leading: bool) -> CellText:
        measured, note = cell.measured, [" ".join(cell.note.split())] if cell.note else []
        published = marked(cell.published, *note) if cell.published else ""
        reasons = {"Failed": cell.failure, "Cannot be measured": cell.missing}
        meanings = [f"{word}: {' '.join(why.split()).removesuffix('.')}." for word, why in reasons.items() if why]
        text = "failed" if cell.failure else NOT_MEASURED if cell.command or cell.missing else ""
        if measured is not None:
            text = measured.text or mean_and_std(measured.mean, measured.std)
            meanings = [_describe(measured, all_measured)] * (len(ways) > 1) + meanings
        text = marked(text, *meanings, *([] if published else note))
        published = published or (NOT_PUBLISHED if text and not ours else "")
        difference = str(measured.difference) if measured and measured.difference else ""
        return CellText(published, text, difference, cell.best and bool(cell.published), leading)

    texts = [
        [cell_text(cell, row.ours, (i, j) in leading) for j, cell in enumerate(row.cells)]
        for i, row in enumerate(table.rows)
    ]
    missing = dict.fromkeys(cell.command for cell in cells if cell.command and cell.measured is None)
    lines = [line for row in texts for cell in row for line in cell[:2]]
    notes = [f"In each cell: above, the paper's value; below it, ours{_differences(table)}."]
    notes += [f"Ours: {way}" for way in ways if len(ways) == 1]
    if any(cell.best for cell in cells):
        notes.append("Bold: the best of a column, in the paper and, where it can be told, as measured.")
    notes += [f"{NOT_MEASURED} not measured."] * any(line.startswith(NOT_MEASURED) for line in lines)
    notes += [f"{NOT_PUBLISHED} not in the paper."] * (NOT_PUBLISHED in lines)
    notes += [f"{OURS} not in the paper: our addition."] * any(row.ours for row in table.rows)
    notes += [*(f"{mark} {meaning}" for meaning, mark in marks.items()), *table.notes]
    labels = [row.label + f" {OURS}" * row.ours for row in table.rows]
    return TableText(f"Table {table.number}: {table.title}", labels, texts, notes, list(table.commands or missing))


def mean_and_std(mean: float | None, std: float | None) -> str:
    """Return ``83.20 ± 1.05``, or ``83.20`` without a deviation (``None`` or NaN); small numbers keep three digits."""
    if mean is None:
        return ""
    digits = ".2f" if abs(mean) >= 1 else ".3g"
    return f"{mean:{digits}}" if std is None or math.isnan(std) else f"{mean:{digits}} ± {std:{digits}}"


def _describe(measured: Measured, others: list[Measured]) -> str:
    """Return how a value was measured; the recipe's own budget and the source are named where others differ."""
    parts = [measured.how]
    if any(one.budget is not None for one in others):
        parts.append(measured.budget or "the recipe's own budget")
    if any(one.mine for one in others):
        parts.append("from your ledger" if measured.mine else "shipped with sfa")
    return ", ".join(parts) + "."


def _leading(table: Table) -> Iterator[tuple[int, int]]:
    """Yield the places of the best measured cells, in columns of which the paper marks one cell as the best.

    Rows that the paper does not have do not count, nor columns that were measured in more than one way.
    """
    for j in range(len(table.columns)):
        column = {i: row.cells[j] for i, row in enumerate(table.rows) if not row.ours}
        found = {i: cell.measured for i, cell in column.items() if cell.measured and cell.measured.text is None}
        means = {i: measured.mean for i, measured in found.items() if math.isfinite(measured.mean)}
        alike = len({(found[i].protocol, found[i].metric) for i in means}) == 1
        if alike and len(means) > 1 and sum(cell.best for cell in column.values()) == 1:
            yield from ((i, j) for i, mean in means.items() if mean == max(means.values()))


def _differences(table: Table) -> str:
    """Name the baselines of the differences, with the rows of each."""
    found: dict[str, dict[str, None]] = {}
    for row in table.rows:
        for measured in (cell.measured for cell in row.cells):
            if measured and measured.difference:
                found.setdefault(measured.difference_from or "its plain twin", {})[row.label] = None
    names = "; ".join(f"{baseline} ({', '.join(labels)})" for baseline, labels in found.items())
    return f", and below that the paired difference, with its 95 % interval, from {names}" if names else ""
