"""Tables of facts: values that are counted or read, not measured over seeds."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from sfa.tables import published
from sfa.tables.model import Cell, Measured, Row, Table

ValueOf = Callable[[str, str], "Cell | None"]
"""By row and column, what we have: a cell whose published value is still open; ``None``: nothing to compare."""


def fact(value: float | str, *, source: str, metric: str) -> Cell:
    """A cell with a value that depends on no seed; ``source`` says where it was read."""
    number = math.nan if isinstance(value, str) else float(value)
    text = value if isinstance(value, str) else f"{value:,}" if isinstance(value, int) else f"{value:g}"
    return Cell(measured=Measured(number, None, (), 0, source, metric, text=text))


def facts_table(
    number: int,
    value_of: ValueOf,
    *,
    rows: Sequence[str] = (),
    ours: Mapping[str, str] | None = None,
    notes: Sequence[str] = (),
    command: str,
    commands: Sequence[str] = (),
) -> Table:
    """A table of facts.

    Args:
        number: Which.
        value_of: What we have.
        rows: The keys of those to show; all, if there are none.
        ours: Labels of rows that the paper does not have, by key.
        notes: Printed below, before what is said of the paper.
        command: What shows it.
        commands: What fills it, where something is missing.
    """
    paper = published.load(number)
    lines = [
        Row(
            row.label,
            highlighted=row.highlighted,
            rule_above=row.rule_above,
            cells=tuple(
                _beside(printed, value_of(row.key, column))
                for printed, column in zip(row.cells, paper.column_keys, strict=True)
            ),
        )
        for row in paper.rows
        if not rows or row.key in rows
    ]
    more = [
        Row(label, ours=True, cells=tuple(value_of(key, column) or Cell() for column in paper.column_keys))
        for key, label in (ours or {}).items()
        if not rows or key in rows
    ]
    if lines and more:
        more[0] = replace(more[0], rule_above=True)
    return Table(
        number=number,
        title=paper.title,
        caption=paper.caption,
        columns=paper.columns,
        rows=(*lines, *more),
        row_header=paper.row_header,
        notes=(*notes, *paper.notes),
        command=command,
        commands=tuple(commands),
    )


def _beside(printed: published.PublishedCell | None, own: Cell | None) -> Cell:
    cell = own or Cell()
    return cell if printed is None else replace(cell, published=printed.text, best=printed.best, note=printed.note)
