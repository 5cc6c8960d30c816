"""What every format shows of a table: the texts of its cells, the marks on them and the sentences that explain both."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from sfa.paper.tables.model import Cell, Measured, Table
from sfa.paper.words import mean_and_std

NOT_MEASURED, NOT_PUBLISHED, OURS = "–", "·", "†"
LETTERS = "abcdefghijklmnoprstuvwxyz"
"""All but q, which has no superscript form."""
_RAISED = str.maketrans(f"0123456789{LETTERS}", "⁰¹²³⁴⁵⁶⁷⁸⁹ᵃᵇᶜᵈᵉᶠᵍʰⁱʲᵏˡᵐⁿᵒᵖʳˢᵗᵘᵛʷˣʸᶻ")
_SUBSCRIPT = re.compile(r"\b(SFA|A)_([A-Za-z]+\*?)")
"""Names of the paper that have one: SFA_InfoNCE, A_F*."""


class CellText(NamedTuple):
    """A cell as text; what it does not have is empty. Marks are those of the explanations below the table."""

    published: str
    best: bool
    """Bold in the paper."""
    published_marks: tuple[str, ...]
    measured: str
    leading: bool
    """The best measured one of its column."""
    measured_marks: tuple[str, ...]
    difference: str


class TableText(NamedTuple):
    """A table as text: how its cells are to be read, what each mark stands for, and what fills those not measured."""

    labels: tuple[str, ...]
    cells: tuple[tuple[CellText, ...], ...]
    legend: tuple[str, ...]
    marks: dict[str, str]
    """Letters for how it was measured, numbers for all else."""
    commands: tuple[str, ...]


def text_of(table: Table, *, commands_below: bool = True) -> TableText:
    """Return the table as text, for a format that shows its commands below the table, or does not."""
    settings = list(dict.fromkeys(_setting(cell.measured) for cell in _cells(table) if cell.measured))
    letters = {one: "" if len(settings) == 1 else _letter(place) for place, one in enumerate(settings)}
    remarks: dict[str, None] = {}
    for cell in _cells(table):
        remarks |= dict.fromkeys([*([one_line(cell.note)] if cell.note else []), *_obstacles(cell)])
    numbers = {remark: str(number) for number, remark in enumerate(remarks, 1)}
    leading = set(_leading(table))
    commands = table.commands or tuple(
        dict.fromkeys(cell.command for cell in _cells(table) if cell.command and cell.measured is None)
    )
    return TableText(
        labels=tuple(one_line(row.label) + f" {OURS}" * row.ours for row in table.rows),
        cells=tuple(
            tuple(_cell_text(cell, row.ours, (i, j) in leading, letters, numbers) for j, cell in enumerate(row.cells))
            for i, row in enumerate(table.rows)
        ),
        legend=tuple(_legend(table, settings, bool(leading), commands_below and bool(commands))),
        marks={mark: _setting_text(table, one) for one, mark in letters.items() if mark}
        | {mark: remark for remark, mark in numbers.items()},
        commands=tuple(map(one_line, commands)),
    )


def one_line(text: str) -> str:
    """Return a text without line breaks and runs of spaces."""
    return " ".join(text.split())


def raised(marks: tuple[str, ...]) -> str:
    """Return marks as raised characters, for formats that have no markup for them.

    >>> raised(("a", "12"))
    'ᵃ,¹²'
    """
    return ",".join(marks).translate(_RAISED)


def split_subscripts(text: str) -> list[tuple[str, str]]:
    """Return the pieces of a text, each with what stands below its end.

    >>> split_subscripts("A_G + A_F*, SFA")
    [('A', 'G'), (' + A', 'F*'), (', SFA', '')]
    """
    pieces = _SUBSCRIPT.split(text)  # what is between names, then a name and its subscript, and so on
    found = [(f"{pieces[i]}{pieces[i + 1]}", pieces[i + 2]) for i in range(0, len(pieces) - 1, 3)]
    return [*found, (pieces[-1], "")] if pieces[-1] else found


def with_code(text: str, plain: Callable[[str], str], code: Callable[[str], str]) -> str:
    """Return prose in which commands and names stand between backticks, each piece of it written in its way.

    >>> with_code("by `sfa table 1`.", str.upper, lambda name: f"<{name}>")
    'BY <sfa table 1>.'
    """
    pieces = re.split("`([^`]+)`", one_line(text))
    return "".join(code(piece) if place % 2 else plain(piece) for place, piece in enumerate(pieces))


def seeds_text(seeds: tuple[int, ...]) -> str:
    """Return ``seed 0``, ``seeds 0–4``, ``seeds 0, 2, 7``."""
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


Setting = tuple[str, str | None, bool]
"""How, with what budget, and whether by the user."""


def _setting(measured: Measured) -> Setting:
    return measured_how(measured), measured.budget, measured.mine


def _cells(table: Table) -> Iterator[Cell]:
    return (cell for row in table.rows for cell in row.cells)


def _letter(place: int) -> str:
    """Return a … z, aa, ab …"""
    before, last = divmod(place, len(LETTERS))
    return (_letter(before - 1) if before else "") + LETTERS[last]


def _obstacles(cell: Cell) -> Iterator[str]:
    """Tell what stood or stands in the way of measuring a cell."""
    for word, why in (("Failed", cell.failure), ("Cannot be measured", cell.missing)):
        if why:
            yield f"{word}: {one_line(why).removesuffix('.')}."


def _cell_text(cell: Cell, ours: bool, leading: bool, letters: dict[Setting, str], numbers: dict[str, str]) -> CellText:
    measured, published = cell.measured, one_line(cell.published or "")
    text, letter = "failed" if cell.failure else NOT_MEASURED if _is_missing(cell) else "", ""
    if measured is not None:
        text = mean_and_std(measured.mean, measured.std) if measured.text is None else one_line(measured.text)
        letter = letters[_setting(measured)]
    note = numbers[one_line(cell.note)] if cell.note else ""
    here = (letter, *(numbers[remark] for remark in _obstacles(cell)), "" if published else note)
    return CellText(
        published=published or (NOT_PUBLISHED if text and not ours else ""),
        best=cell.best and bool(published),
        published_marks=(note,) if note and published else (),
        measured=text,
        leading=leading,
        measured_marks=tuple(filter(None, here)),
        difference=str(measured.difference) if measured and measured.difference else "",
    )


def _leading(table: Table) -> Iterator[tuple[int, int]]:
    """Return the places of the best measured cells, in columns of which the paper marks one cell as the best.

    Lines that the paper does not have are out of it, and so are columns measured in more than one way.
    """
    for j in range(len(table.columns)):
        of_column = {i: row.cells[j] for i, row in enumerate(table.rows) if not row.ours}
        values = {
            i: cell.measured
            for i, cell in of_column.items()
            if cell.measured and cell.measured.text is None and math.isfinite(cell.measured.mean)
        }
        alike = len({(measured.protocol, measured.metric) for measured in values.values()}) == 1
        if alike and len(values) > 1 and sum(cell.best for cell in of_column.values()) == 1:
            top = max(measured.mean for measured in values.values())
            yield from ((i, j) for i, measured in values.items() if measured.mean == top)


def _legend(table: Table, settings: list[Setting], leading: bool, commands: bool) -> Iterator[str]:
    differences = _differences(table)
    third = f", and below that the paired difference from {differences} with its 95 % interval" if differences else ""
    yield f"In each cell: above, the paper's value; below it, ours{third}."
    if len(settings) == 1:
        yield f"Ours: {_setting_text(table, settings[0])}"
    if leading:
        yield "Bold: the best of the paper's lines in a column, as printed and as measured."
    elif any(cell.best for cell in _cells(table)):
        yield "Bold as in the paper."
    if any(map(_is_missing, _cells(table))):
        yield f"{NOT_MEASURED} not measured" + (": see the commands below." if commands else ".")
    unprinted = (cell for row in table.rows if not row.ours for cell in row.cells if not cell.published)
    if any(cell.measured or cell.failure or _is_missing(cell) for cell in unprinted):
        yield f"{NOT_PUBLISHED} not in the paper."
    if any(row.ours for row in table.rows):
        yield f"{OURS} not in the paper: our addition."


def _is_missing(cell: Cell) -> bool:
    """Tell whether there is something to measure, and nothing came of it: a published value alone is no gap."""
    return cell.measured is None and not cell.failure and bool(cell.command or cell.missing)


def _differences(table: Table) -> str:
    """Tell what differences are taken from, line by line."""
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


def _setting_text(table: Table, setting: Setting) -> str:
    """Tell it in a sentence. Whose it is, and that a budget is the recipe's, is said where others differ."""
    how, budget, mine = setting
    measured = [cell.measured for cell in _cells(table) if cell.measured]
    said = [how]
    if budget is not None or len({one.budget for one in measured}) > 1:
        said.append(one_line(budget or "the recipe's own budget"))
    if mine or len({one.mine for one in measured}) > 1:
        said.append("from your ledger" if mine else "shipped with sfa")
    return ", ".join(said) + "."
