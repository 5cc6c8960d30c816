"""The texts of a table that all formats show: its cells with their marks, and the explanations below it."""

import math
from collections.abc import Iterator
from typing import NamedTuple

from sfa.paper.tables.model import Cell, Measured, Table

NOT_MEASURED, NOT_PUBLISHED, OURS = "–", "·", "†"
_RAISED = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


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
    marks: dict[str, str] = {}  # by what they mean

    def marked(text: str, *meanings: str) -> str:
        return text + ",".join(marks.setdefault(one, str(1 + len(marks)).translate(_RAISED)) for one in meanings)

    def cell_text(cell: Cell, ours: bool, leading: bool) -> CellText:
        measured, note = cell.measured, [one_line(cell.note)] if cell.note else []
        published = marked(cell.published, *note) if cell.published else ""
        reasons = {"Failed": cell.failure, "Cannot be measured": cell.missing}
        meanings = [f"{word}: {one_line(why).removesuffix('.')}." for word, why in reasons.items() if why]
        text = "failed" if cell.failure else NOT_MEASURED if cell.command or cell.missing else ""
        if measured is not None:
            text = measured.text or mean_and_std(measured.mean, measured.std)
            meanings = [_describe(measured, all_measured)] * (len(ways) > 1) + meanings
        text = marked(text, *meanings, *([] if published else note))
        published = published or (NOT_PUBLISHED if text and not ours else "")
        difference = str(measured.difference) if measured and measured.difference else ""
        return CellText(published, text, difference, cell.best and bool(cell.published), leading)

    leading = set(_leading(table))
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
    notes += [f"{mark} {meaning}" for meaning, mark in marks.items()]
    return TableText(
        f"Table {table.number}: {table.title}",
        [row.label + f" {OURS}" * row.ours for row in table.rows],
        texts,
        [*notes, *table.notes],
        list(table.commands or missing),
    )


def mean_and_std(mean: float | None, std: float | None) -> str:
    """Return ``83.20 ± 1.05``; small numbers keep three digits."""
    if mean is None:
        return ""
    digits = ".2f" if abs(mean) >= 1 else ".3g"
    return f"{mean:{digits}}" if std is None else f"{mean:{digits}} ± {std:{digits}}"


def one_line(text: str) -> str:
    """Return a text without line breaks and repeated spaces."""
    return " ".join(text.split())


def measured_how(measured: Measured) -> str:
    """Return protocol, seeds and splits: ``honest-10-10-80, seeds 0, 1, 2, 20 splits each``."""
    if not measured.seeds:
        return measured.protocol
    timed, clustered = measured.protocol.startswith("run-time"), "clustering" in measured.protocol
    repeats = "turn" if timed else "run" if clustered else "split"
    splits = f"{measured.splits} {repeats}{'' if measured.splits == 1 else 's'}"
    seeds, many = ", ".join(map(str, sorted(measured.seeds))), len(measured.seeds) > 1
    return f"{measured.protocol}, seed{'s' * many} {seeds}, {splits}{' each' * many}"


def _describe(measured: Measured, others: list[Measured]) -> str:
    """Return how a value was measured; the recipe's own budget and the source are named where others differ."""
    parts = [measured_how(measured)]
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
        found = {i: measured for i, measured in found.items() if math.isfinite(measured.mean)}
        alike = len({(measured.protocol, measured.metric) for measured in found.values()}) == 1
        if alike and len(found) > 1 and sum(cell.best for cell in column.values()) == 1:
            top = max(measured.mean for measured in found.values())
            yield from ((i, j) for i, measured in found.items() if measured.mean == top)


def _differences(table: Table) -> str:
    """Name the baselines of the differences, with the rows of each."""
    found: dict[str, dict[str, None]] = {}
    for row in table.rows:
        for measured in (cell.measured for cell in row.cells):
            if measured and measured.difference:
                found.setdefault(measured.difference_from or "its plain twin", {})[row.label] = None
    names = "; ".join(f"{baseline} ({', '.join(labels)})" for baseline, labels in found.items())
    return f", and below that the paired difference, with its 95 % interval, from {names}" if names else ""
