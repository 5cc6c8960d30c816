"""The texts of a table that all formats show: its cells, the marks on them, and the explanations of both."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from sfa.paper.tables.model import Cell, Measured, Table

NOT_MEASURED, NOT_PUBLISHED, OURS = "–", "·", "†"
LETTERS = "abcdefghijklmnoprstuvwxyz"  # all but q, which has no superscript form
_RAISED = str.maketrans(f"0123456789{LETTERS}", "⁰¹²³⁴⁵⁶⁷⁸⁹ᵃᵇᶜᵈᵉᶠᵍʰⁱʲᵏˡᵐⁿᵒᵖʳˢᵗᵘᵛʷˣʸᶻ")


class CellText(NamedTuple):
    """A cell as text. ``best`` is bold in the paper, ``leading`` is the best measured value of its column."""

    published: str
    best: bool
    published_marks: tuple[str, ...]
    measured: str
    leading: bool
    measured_marks: tuple[str, ...]
    difference: str


class TableText(NamedTuple):
    """A table as text; ``marks`` explains letters (how a value was measured) and numbers (all else)."""

    labels: tuple[str, ...]
    cells: tuple[tuple[CellText, ...], ...]
    legend: tuple[str, ...]
    marks: dict[str, str]
    commands: tuple[str, ...]


def text_of(table: Table, *, commands_below: bool = True) -> TableText:
    """Return the table as text; ``commands_below`` says whether the format shows the commands below the table."""
    cells = [cell for row in table.rows for cell in row.cells]
    ways = list(dict.fromkeys(_describe(cell.measured, cells) for cell in cells if cell.measured))
    letters = {way: "" if len(ways) == 1 else _letter(place) for place, way in enumerate(ways)}
    remarks = dict.fromkeys(remark for cell in cells for remark in (*_note(cell), *_obstacles(cell)))
    numbers = {remark: str(number) for number, remark in enumerate(remarks, 1)}
    leading = set(_leading(table))
    commands = table.commands or dict.fromkeys(one.command for one in cells if one.command and one.measured is None)

    def cell_text(cell: Cell, ours: bool, is_leading: bool) -> CellText:
        measured, published = cell.measured, one_line(cell.published or "")
        text, letter = "failed" if cell.failure else NOT_MEASURED if _is_missing(cell) else "", ""
        if measured is not None:
            text = mean_and_std(measured.mean, measured.std) if measured.text is None else one_line(measured.text)
            letter = letters[_describe(measured, cells)]
        note = tuple(numbers[remark] for remark in _note(cell))
        here = (letter, *(numbers[remark] for remark in _obstacles(cell)), *(() if published else note))
        return CellText(
            published=published or (NOT_PUBLISHED if text and not ours else ""),
            best=cell.best and bool(published),
            published_marks=note if published else (),
            measured=text,
            leading=is_leading,
            measured_marks=tuple(filter(None, here)),
            difference=str(measured.difference) if measured and measured.difference else "",
        )

    return TableText(
        labels=tuple(one_line(row.label) + f" {OURS}" * row.ours for row in table.rows),
        cells=tuple(
            tuple(cell_text(cell, row.ours, (i, j) in leading) for j, cell in enumerate(row.cells))
            for i, row in enumerate(table.rows)
        ),
        legend=tuple(_legend(table, cells, ways, bool(leading), commands_below and bool(commands))),
        marks={mark: meaning for meaning, mark in (*letters.items(), *numbers.items()) if mark},
        commands=tuple(map(one_line, commands)),
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


def raised(marks: tuple[str, ...]) -> str:
    """Return marks as superscript characters.

    >>> raised(("a", "12"))
    'ᵃ,¹²'
    """
    return ",".join(marks).translate(_RAISED)


def subscripted(text: str, plain: Callable[[str], str], subscript: Callable[[str], str]) -> str:
    """Return a text with the subscripts of the paper's names, each piece formatted by its function.

    >>> subscripted("A_G + A_F*, SFA", str.lower, lambda below: f"[{below}]")
    'a[G] + a[F*], sfa'
    """
    pieces = re.split(r"(?:(?<=\bSFA)|(?<=\bA))_([A-Za-z]+\*?)", text)
    return "".join(subscript(piece) if place % 2 else plain(piece) for place, piece in enumerate(pieces))


def with_code(text: str, plain: Callable[[str], str], code: Callable[[str], str]) -> str:
    """Return prose whose pieces, plain ones and those between backticks, are each formatted by a function.

    >>> with_code("by `sfa table 1`.", str.upper, lambda name: f"<{name}>")
    'BY <sfa table 1>.'
    """
    pieces = re.split("`([^`]+)`", one_line(text))
    return "".join(code(piece) if place % 2 else plain(piece) for place, piece in enumerate(pieces))


def seeds_text(seeds: tuple[int, ...]) -> str:
    """Return ``seed 0``, ``seeds 0–4`` or ``seeds 0, 2, 7``."""
    if len(seeds) == 1:
        return f"seed {seeds[0]}"
    ordered = sorted(seeds)
    if len(ordered) > 2 and ordered == list(range(ordered[0], ordered[-1] + 1)):
        return f"seeds {ordered[0]}–{ordered[-1]}"
    return f"seeds {', '.join(map(str, ordered))}"


def measured_how(measured: Measured) -> str:
    """Return protocol, seeds and splits: ``honest-10-10-80, seeds 0–2, 20 splits each``."""
    timed, clustered = measured.protocol.startswith("run-time"), "clustering" in measured.protocol
    repeats = "turn" if timed else "run" if clustered else "split"
    splits = f"{measured.splits} {repeats}{'' if measured.splits == 1 else 's'}"
    seeded = (seeds_text(measured.seeds), splits + (" each" if len(measured.seeds) > 1 else ""))
    return ", ".join((one_line(measured.protocol), *(seeded if measured.seeds else ())))


def _describe(measured: Measured, cells: list[Cell]) -> str:
    """Return how a value was measured; the recipe's own budget and the source are named where others differ."""
    others, parts = [cell.measured for cell in cells if cell.measured], [measured_how(measured)]
    if measured.budget is not None or any(one.budget is not None for one in others):
        parts.append(one_line(measured.budget or "the recipe's own budget"))
    if measured.mine or any(one.mine for one in others):
        parts.append("from your ledger" if measured.mine else "shipped with sfa")
    return ", ".join(parts) + "."


def _letter(place: int) -> str:
    """Return a, b, …, z, aa, ab and so on."""
    before, last = divmod(place, len(LETTERS))
    return (_letter(before - 1) if before else "") + LETTERS[last]


def _note(cell: Cell) -> list[str]:
    return [one_line(cell.note)] if cell.note else []


def _obstacles(cell: Cell) -> list[str]:
    reasons = {"Failed": cell.failure, "Cannot be measured": cell.missing}
    return [f"{word}: {one_line(why).removesuffix('.')}." for word, why in reasons.items() if why]


def _is_missing(cell: Cell) -> bool:
    """Tell whether a cell is to be measured and is not; a published value alone is no gap."""
    return cell.measured is None and not cell.failure and bool(cell.command or cell.missing)


def _leading(table: Table) -> Iterator[tuple[int, int]]:
    """Yield the places of the best measured cells, in columns of which the paper marks one cell as the best.

    Rows that the paper does not have do not count, nor columns that were measured in more than one way.
    """
    for j in range(len(table.columns)):
        column = {i: row.cells[j] for i, row in enumerate(table.rows) if not row.ours}
        values = {
            i: cell.measured
            for i, cell in column.items()
            if cell.measured and cell.measured.text is None and math.isfinite(cell.measured.mean)
        }
        alike = len({(measured.protocol, measured.metric) for measured in values.values()}) == 1
        if alike and len(values) > 1 and sum(cell.best for cell in column.values()) == 1:
            top = max(measured.mean for measured in values.values())
            yield from ((i, j) for i, measured in values.items() if measured.mean == top)


def _legend(table: Table, cells: list[Cell], ways: list[str], leading: bool, commands: bool) -> Iterator[str]:
    differences = _differences(table)
    third = f", and below that the paired difference from {differences} with its 95 % interval" if differences else ""
    yield f"In each cell: above, the paper's value; below it, ours{third}."
    if len(ways) == 1:
        yield f"Ours: {ways[0]}"
    if leading:
        yield "Bold: the best of the paper's lines in a column, as printed and as measured."
    elif any(cell.best for cell in cells):
        yield "Bold as in the paper."
    if any(map(_is_missing, cells)):
        yield f"{NOT_MEASURED} not measured" + (": see the commands below." if commands else ".")
    unprinted = (cell for row in table.rows if not row.ours for cell in row.cells if not cell.published)
    if any(cell.measured or cell.failure or _is_missing(cell) for cell in unprinted):
        yield f"{NOT_PUBLISHED} not in the paper."
    if any(row.ours for row in table.rows):
        yield f"{OURS} not in the paper: our addition."


def _differences(table: Table) -> str:
    """Name the baselines of the differences, with the rows of each if there are several."""
    found: dict[str, dict[str, None]] = {}
    for row in table.rows:
        for cell in row.cells:
            if cell.measured and cell.measured.difference:
                baseline = one_line(cell.measured.difference_from or "its plain twin")
                found.setdefault(baseline, {})[one_line(row.label)] = None
    if len(found) == 1:
        return next(iter(found))
    *before, last = [f"{baseline} ({', '.join(labels)})" for baseline, labels in found.items()] or [""]
    return f"{', '.join(before)} and {last}" if before else last
