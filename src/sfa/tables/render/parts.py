"""What every format shows of a table: the texts of its cells, the marks on them and the sentences that explain both."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from sfa.ledger import mean_and_std
from sfa.tables.model import Cell, Measured, Table

NOT_MEASURED = "–"
NOT_PUBLISHED = "·"
OURS = "†"
LETTERS = "abcdefghijklmnoprstuvwxyz"
"""All but q, which has no superscript form."""


@dataclass(frozen=True)
class Shown:
    """A cell as text; what it does not have is empty."""

    published: str
    best: bool
    """Bold in the paper."""
    published_marks: tuple[str, ...]
    """Of the explanations below the table."""
    measured: str
    leading: bool
    """The best measured one of its column."""
    measured_marks: tuple[str, ...]
    difference: str


@dataclass(frozen=True)
class Parts:
    """A table as text."""

    labels: tuple[str, ...]
    cells: tuple[tuple[Shown, ...], ...]
    legend: tuple[str, ...]
    """How cells are to be read."""
    marks: dict[str, str]
    """What each stands for: letters for how it was measured, numbers for all else."""
    commands: tuple[str, ...]
    """What fills the cells that are not measured."""


def parts_of(table: Table, *, commands_below: bool = True) -> Parts:
    """The table as text, for a format that shows its commands below the table, or does not."""
    settings = _lettered(table)
    remarks = _numbered(table)
    leading = set(_leading(table))
    cells = tuple(
        tuple(
            _shown(cell, ours=row.ours, leading=(i, j) in leading, settings=settings, remarks=remarks)
            for j, cell in enumerate(row.cells)
        )
        for i, row in enumerate(table.rows)
    )
    marks = {mark: _setting_text(table, setting) for setting, mark in settings.items() if mark}
    marks |= {mark: remark for remark, mark in remarks.items()}
    commands = table.commands or tuple(dict.fromkeys(c.command for c in _cells(table) if _waits(c) and c.command))
    return Parts(
        labels=tuple(f"{one_line(row.label)} {OURS}" if row.ours else one_line(row.label) for row in table.rows),
        cells=cells,
        legend=tuple(_legend(table, settings, bool(leading), commands_below and bool(commands))),
        marks=marks,
        commands=tuple(one_line(command) for command in commands),
    )


def one_line(text: str) -> str:
    """Without line breaks and runs of spaces."""
    return " ".join(text.split())


def measured_text(measured: Measured) -> str:
    """``83.20 ± 1.05``, or what is shown in its place."""
    return mean_and_std(measured.mean, measured.std) if measured.text is None else one_line(measured.text)


def seeds_text(seeds: tuple[int, ...]) -> str:
    """``seed 0``, ``seeds 0–4``, ``seeds 0, 2, 7``."""
    if len(seeds) == 1:
        return f"seed {seeds[0]}"
    ordered = sorted(seeds)
    if len(ordered) > 2 and ordered == list(range(ordered[0], ordered[-1] + 1)):
        return f"seeds {ordered[0]}–{ordered[-1]}"
    return f"seeds {', '.join(map(str, ordered))}"


def measured_how(measured: Measured) -> str:
    """Protocol, seeds and splits: ``honest-10-10-80, seeds 0–2, 20 splits each``."""
    repeats = (
        "turns"
        if measured.protocol.startswith("run-time")
        else "runs"
        if "clustering" in measured.protocol
        else "splits"
    )
    splits = f"1 {repeats[:-1]}" if measured.splits == 1 else f"{measured.splits} {repeats}"
    seeded = (seeds_text(measured.seeds), splits + (" each" if len(measured.seeds) > 1 else ""))
    return ", ".join((one_line(measured.protocol), *(seeded if measured.seeds else ())))


Setting = tuple[str, str | None, bool]
"""How, with what budget, and whether by the user."""


def _setting(measured: Measured) -> Setting:
    return measured_how(measured), measured.budget, measured.mine


def _cells(table: Table) -> Iterator[Cell]:
    return (cell for row in table.rows for cell in row.cells)


def _waits(cell: Cell) -> bool:
    """Whether it could be measured, and is not."""
    return cell.measured is None and cell.command is not None


def _lettered(table: Table) -> dict[Setting, str]:
    """The mark of each setting; none is needed where there is but one."""
    found = dict.fromkeys(_setting(cell.measured) for cell in _cells(table) if cell.measured)
    if len(found) == 1:
        return dict.fromkeys(found, "")
    return {setting: _letter(place) for place, setting in enumerate(found)}


def _letter(place: int) -> str:
    """a … z, aa, ab …"""
    before, last = divmod(place, len(LETTERS))
    return (_letter(before - 1) if before else "") + LETTERS[last]


def _numbered(table: Table) -> dict[str, str]:
    found: dict[str, None] = {}
    for cell in _cells(table):
        found |= dict.fromkeys([*([one_line(cell.note)] if cell.note else []), *_obstacles(cell)])
    return {remark: str(number) for number, remark in enumerate(found, 1)}


def _obstacles(cell: Cell) -> Iterator[str]:
    """What stood or stands in the way of measuring it."""
    if cell.failure:
        yield f"Failed: {_sentence(cell.failure)}"
    if cell.missing:
        yield f"Cannot be measured: {_sentence(cell.missing)}"


def _sentence(text: str) -> str:
    return one_line(text) if one_line(text).endswith(".") else f"{one_line(text)}."


def _shown(cell: Cell, *, ours: bool, leading: bool, settings: dict[Setting, str], remarks: dict[str, str]) -> Shown:
    measured, published = cell.measured, one_line(cell.published or "")
    if measured is not None:
        text = measured_text(measured)
    else:
        text = "failed" if cell.failure else NOT_MEASURED if _is_missing(cell) else ""
    letter = settings[_setting(measured)] if measured else ""
    note = remarks[one_line(cell.note)] if cell.note else ""
    here = (letter, *(remarks[remark] for remark in _obstacles(cell)), "" if published else note)
    return Shown(
        published=published or (NOT_PUBLISHED if text and not ours else ""),
        best=cell.best and bool(published),
        published_marks=(note,) if note and published else (),
        measured=text,
        leading=leading,
        measured_marks=tuple(mark for mark in here if mark),
        difference=str(measured.difference) if measured and measured.difference else "",
    )


def _leading(table: Table) -> Iterator[tuple[int, int]]:
    """The places of the best measured cells, in columns of which the paper marks one cell as the best.

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


def _legend(table: Table, settings: dict[Setting, str], leading: bool, commands: bool) -> Iterator[str]:
    differences = _differences(table)
    third = f", and below that the paired difference from {differences} with its 95 % interval" if differences else ""
    yield f"In each cell: above, the paper's value; below it, ours{third}."
    if len(settings) == 1:
        yield f"Ours: {_setting_text(table, next(iter(settings)))}"
    if leading:
        yield "Bold: the best of the paper's lines in a column, as printed and as measured."
    elif any(cell.best for cell in _cells(table)):
        yield "Bold as in the paper."
    if any(map(_is_missing, _cells(table))):
        yield f"{NOT_MEASURED} not measured" + (": see the commands below." if commands else ".")
    if any(not cell.published and _is_ours(cell) for row in table.rows if not row.ours for cell in row.cells):
        yield f"{NOT_PUBLISHED} not in the paper."
    if any(row.ours for row in table.rows):
        yield f"{OURS} not in the paper: our addition."


def _is_missing(cell: Cell) -> bool:
    """Whether there is something to measure, and nothing came of it; a published value alone is compared with none."""
    return cell.measured is None and not cell.failure and bool(cell.command or cell.missing)


def _is_ours(cell: Cell) -> bool:
    """Whether there is anything of ours in it."""
    return bool(cell.measured or cell.failure) or _is_missing(cell)


def _differences(table: Table) -> str:
    """What differences are taken from, line by line."""
    found: dict[str, dict[str, None]] = {}
    for row in table.rows:
        for cell in row.cells:
            if cell.measured and cell.measured.difference:
                twin = one_line(cell.measured.difference_from or "its plain twin")
                found.setdefault(twin, {})[one_line(row.label)] = None
    if len(found) == 1:
        return next(iter(found))
    *before, last = [f"{twin} ({', '.join(labels)})" for twin, labels in found.items()] or [""]
    return f"{', '.join(before)} and {last}" if before else last


def _setting_text(table: Table, setting: Setting) -> str:
    """In a sentence. Whose it is, and that a budget is the recipe's, is said where others differ."""
    how, budget, mine = setting
    measured = [cell.measured for cell in _cells(table) if cell.measured]
    said = [how]
    if budget is not None or _differ(measured, lambda one: one.budget):
        said.append(one_line(budget or "the recipe's own budget"))
    if mine or _differ(measured, lambda one: one.mine):
        said.append("from your ledger" if mine else "shipped with sfa")
    return ", ".join(said) + "."


def _differ(measured: list[Measured], what: Callable[[Measured], object]) -> bool:
    return len({what(one) for one in measured}) > 1
