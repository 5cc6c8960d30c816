"""Tables as Markdown and CSV, and by name in every format of a file."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Any

import pandas as pd

from sfa.errors import unknown_name
from sfa.paper.tables.html import to_html
from sfa.paper.tables.latex import to_latex
from sfa.paper.tables.model import Table
from sfa.paper.tables.text import CellText, one_line, raised, text_of, with_code

_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "~": "&#126;"}
CSV_COLUMNS = "table row column published measured_mean measured_std seeds splits protocol metric budget difference low"
CSV_COLUMNS += " high source command note best measured_text difference_from missing failure"


def to_markdown(table: Table) -> str:
    """Return a page for GitHub and the documentation: heading, caption, table, what its marks stand for, commands."""
    return "\n\n".join(_blocks(table)) + "\n"


def _blocks(table: Table) -> Iterator[str]:
    text = text_of(table)
    yield f"# Table {table.number}: {_escaped(table.title)}"
    yield _prose(table.caption)
    frame = pd.DataFrame(
        [[_escaped(label), *map(_cell, cells)] for label, cells in zip(text.labels, text.cells, strict=True)],
        columns=range(1 + len(table.columns)),
    )
    heads = [_escaped(head) for head in (table.row_header, *table.columns)]
    yield str(frame.to_markdown(index=False, headers=heads, tablefmt="github", disable_numparse=True))
    yield "  \n".join(map(_prose, text.legend))
    if text.marks:
        yield "\n".join(f"- {raised((mark,))} {_prose(meaning)}" for mark, meaning in text.marks.items())
    if table.notes:
        yield "Notes:"
        yield "\n".join(f"- {_prose(note)}" for note in table.notes)
    if text.commands:
        yield "Not measured yet; these commands fill it:"
        yield "\n".join(("```sh", *text.commands, "```"))
    if table.command:
        yield f"Made by {_code(table.command)}."


def _escaped(text: str) -> str:
    """Return a text that Markdown shows as it is, also within a table."""
    return _kept(one_line(text))


def _kept(text: str) -> str:
    text = re.sub(r"([\\`*_{}\[\]#|])", r"\\\1", text)
    return re.sub("[&<>~]", lambda found: _ENTITIES[found[0]], text)


def _prose(text: str) -> str:
    return with_code(text, _kept, _code)


def _cell(cell: CellText) -> str:
    published = _bold(_escaped(cell.published) + raised(cell.published_marks), cell.best)
    measured = _bold(_escaped(cell.measured) + raised(cell.measured_marks), cell.leading)
    return "<br>".join(filter(None, (published, measured, cell.difference)))


def _bold(text: str, really: bool) -> str:
    return f"**{text}**" if really and text else text


def _code(text: str) -> str:
    """Return code between more backticks than it has in a row."""
    ticks = "`" * (1 + max(map(len, re.findall("`+", text)), default=0))
    return f"{ticks}{text}{ticks}" if len(ticks) == 1 else f"{ticks} {text} {ticks}"


def to_csv(table: Table) -> str:
    """Return a line for each cell, with all digits; what a cell does not have is empty.

    ``source`` is ``ledger`` for what the user measured and ``sfa`` for what came with it; ``seeds`` are separated by
    spaces; ``measured_text`` is given where a value is not a mean.
    """
    frame = pd.DataFrame(list(_csv_rows(table)), columns=CSV_COLUMNS.split(), dtype=object)
    return str(frame.to_csv(index=False))


def _csv_rows(table: Table) -> Iterator[dict[str, Any]]:
    for row in table.rows:
        for column, cell in zip(table.columns, row.cells, strict=True):
            measured = cell.measured
            of_cell = {name: getattr(cell, name) for name in ("published", "command", "note", "missing", "failure")}
            of_cell |= {"table": table.number, "row": row.label, "column": column, "best": "yes" if cell.best else ""}
            if measured is None:
                yield of_cell
                continue
            difference = dict(zip(("difference", "low", "high"), measured.difference or (), strict=False))
            yield (
                of_cell
                | difference
                | {
                    "measured_mean": measured.mean if math.isfinite(measured.mean) else None,
                    "measured_std": measured.std,
                    "seeds": " ".join(map(str, measured.seeds)),
                    "source": "ledger" if measured.mine else "sfa",
                    "measured_text": measured.text,
                    **{
                        name: getattr(measured, name)
                        for name in ("splits", "protocol", "metric", "budget", "difference_from")
                    },
                }
            )


FORMATS = {"md": to_markdown, "csv": to_csv, "latex": to_latex, "html": to_html}
"""What a table can be written as."""


def render(table: Table, format: str) -> str:
    """Return the table as text in one of :data:`FORMATS`, ending in a line break."""
    if format not in FORMATS:
        raise unknown_name("format", format, FORMATS)
    return FORMATS[format](table)
