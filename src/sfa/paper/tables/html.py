"""A table as a small web page that needs nothing but itself."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from importlib.resources import files

import pandas as pd

from sfa.paper.tables.model import Cell, Row, Table
from sfa.paper.tables.text import CellText, TableText, measured_how, one_line, split_subscripts, text_of, with_code


def to_html(table: Table) -> str:
    """Return a page. Every cell opens to what is known of it: protocol, seeds, budget, the command that fills it."""
    return "\n".join(_page(table)) + "\n"


def _page(table: Table) -> Iterator[str]:
    title, text = f"Table {table.number}: {one_line(table.title)}", text_of(table)
    yield from ("<!DOCTYPE html>", '<html lang="en">', "<head>", '<meta charset="utf-8">')
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield f"<title>{escape(title)}</title>"
    style = files("sfa.paper.tables").joinpath("page.css").read_text(encoding="utf-8")
    yield from (f"<style>\n{style}</style>", "</head>", "<body>", "<main>")
    yield f"<h1>{_named(title)}</h1>"
    yield f"<p>{_prose(table.caption)}</p>"
    yield f'<div class="scroll" role="region" tabindex="0" aria-label="{escape(title)}">'
    labels = [_label(row, label) for row, label in zip(table.rows, text.labels, strict=True)]
    heads = [_named(one_line(head)) for head in table.columns]
    cells = [
        [_cell(cell, shown) for cell, shown in zip(row.cells, own, strict=True)]
        for row, own in zip(table.rows, text.cells, strict=True)
    ]
    frame = pd.DataFrame(cells, columns=pd.RangeIndex(len(heads), name=_named(one_line(table.row_header))))
    styler = frame.style.format_index(labels.__getitem__).format_index(heads.__getitem__, axis="columns")
    yield str(styler.to_html(exclude_styles=True)).strip()
    yield "</div>"
    yield from _below(table, text)
    yield from ("</main>", "</body>", "</html>")


def _label(row: Row, label: str) -> str:
    """Return the head of a row, which says how the row looks in the paper."""
    classes = [name for name, holds in (("rule", row.rule_above), ("highlighted", row.highlighted)) if holds]
    return f'<span class="{" ".join(classes)}">{_named(label)}</span>' if classes else _named(label)


def _cell(cell: Cell, shown: CellText) -> str:
    """Return its lines; a click on them opens the details, a pointer that rests on them shows the first of these."""
    lines = "".join(
        (
            _line("published", shown.published, bold=shown.best, marks=shown.published_marks),
            _line("measured", shown.measured, bold=shown.leading, marks=shown.measured_marks),
            _line("difference", shown.difference),
        )
    )
    details = [(name, one_line(text)) for name, text in _details(cell) if text]
    if not details:
        return lines
    told = escape("; ".join(f"{name}: {text}" for name, text in details))
    listed = "".join(
        f"<dt>{name}</dt><dd>{f'<code>{escape(text)}</code>' if name == 'command' else _prose(text)}</dd>"
        for name, text in details
    )
    return f'<details name="cell"><summary title="{told}">{lines}</summary><dl>{listed}</dl></details>'


def _details(cell: Cell) -> Iterator[tuple[str, str | None]]:
    measured = cell.measured
    if measured is not None:
        yield "protocol", measured_how(measured)
        yield "metric", measured.metric
        yield "budget", measured.budget or "as the recipe has it"
        yield "source", "your ledger" if measured.mine else "shipped with sfa"
        yield "difference from", measured.difference_from if measured.difference else None
    yield "failed", cell.failure
    yield "cannot be measured", cell.missing
    yield "note", cell.note
    yield "command", cell.command


def _line(kind: str, text: str, *, bold: bool = False, marks: tuple[str, ...] = ()) -> str:
    inner = f"<b>{escape(text)}</b>" if bold else escape(text)
    raised = f"<sup>{','.join(marks)}</sup>" if marks else ""
    return f'<span class="{kind}">{inner}{raised}</span>' if text else ""


def _below(table: Table, text: TableText) -> Iterator[str]:
    legend = (*text.legend, "A cell opens to its protocol, seeds, budget and command.")
    yield f"<p>{'<br>'.join(map(_prose, legend))}</p>"
    if text.marks:
        marks = (f"<dt>{mark}</dt><dd>{_prose(meaning)}</dd>" for mark, meaning in text.marks.items())
        yield f'<dl class="marks">{"".join(marks)}</dl>'
    if table.notes:
        yield f"<h2>Notes</h2><ul>{''.join(f'<li>{_prose(note)}</li>' for note in table.notes)}</ul>"
    if text.commands:
        yield "<h2>Not measured yet</h2><p>These commands fill it:</p>"
        yield f'<pre tabindex="0">{escape(chr(10).join(text.commands))}</pre>'
    if table.command:
        yield f"<footer>Made by <code>{escape(one_line(table.command))}</code>.</footer>"


def _named(text: str) -> str:
    """Return a text with the subscripts of the paper's names."""
    pieces = split_subscripts(text)
    return "".join(escape(piece) + (f"<sub>{escape(below)}</sub>" if below else "") for piece, below in pieces)


def _prose(text: str) -> str:
    return with_code(text, _named, lambda code: f"<code>{escape(code)}</code>")
