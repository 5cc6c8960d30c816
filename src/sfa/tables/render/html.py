"""A table as a small web page that needs nothing but itself."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from sfa.tables.model import Cell, Row, Table
from sfa.tables.render.html_style import STYLE
from sfa.tables.render.inline_code import with_code
from sfa.tables.render.parts import Parts, Shown, measured_how, one_line, parts_of
from sfa.tables.render.subscript import split_subscripts


def to_html(table: Table) -> str:
    """A page. Every cell opens to what is known of it: protocol, seeds, budget, the command that fills it."""
    return "\n".join(_page(table)) + "\n"


def _page(table: Table) -> Iterator[str]:
    title = f"Table {table.number}: {one_line(table.title)}"
    yield from ("<!DOCTYPE html>", '<html lang="en">', "<head>", '<meta charset="utf-8">')
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield f"<title>{escape(title)}</title>"
    yield from (f"<style>{STYLE}</style>", "</head>", "<body>", "<main>")
    yield f"<h1>{_named(title)}</h1>"
    yield f"<p>{_prose(table.caption)}</p>"
    parts = parts_of(table)
    yield f'<div class="scroll" role="region" tabindex="0" aria-label="{escape(title)}">'
    yield from _table(table, parts)
    yield "</div>"
    yield from _below(table, parts)
    yield from ("</main>", "</body>", "</html>")


def _table(table: Table, parts: Parts) -> Iterator[str]:
    yield "<table>"
    headings = "".join(f'<th scope="col">{_named(text)}</th>' for text in (table.row_header, *table.columns))
    yield f"<thead><tr>{headings}</tr></thead>"
    yield "<tbody>"
    for row, label, cells in zip(table.rows, parts.labels, parts.cells, strict=True):
        yield _row(row, label, cells)
    yield from ("</tbody>", "</table>")


def _row(row: Row, label: str, cells: tuple[Shown, ...]) -> str:
    classes = [name for name, holds in (("rule", row.rule_above), ("highlighted", row.highlighted)) if holds]
    opened = f'<tr class="{" ".join(classes)}">' if classes else "<tr>"
    inner = "".join(f"<td>{_cell(cell, shown)}</td>" for cell, shown in zip(row.cells, cells, strict=True))
    return f'{opened}<th scope="row">{_named(label)}</th>{inner}</tr>'


def _cell(cell: Cell, shown: Shown) -> str:
    """Its lines; a click on them opens the details, a pointer that rests on them shows the first of these."""
    lines = [
        _line("published", shown.published, bold=shown.best, marks=shown.published_marks),
        _line("measured", shown.measured, bold=shown.leading, marks=shown.measured_marks),
        _line("difference", shown.difference),
    ]
    details = [(name, one_line(text)) for name, text in _details(cell) if text]
    if not details:
        return "".join(lines)
    told = escape("; ".join(f"{name}: {text}" for name, text in details))
    listed = "".join(
        f"<dt>{name}</dt><dd>{f'<code>{escape(text)}</code>' if name == 'command' else _prose(text)}</dd>"
        for name, text in details
    )
    return f'<details name="cell"><summary title="{told}">{"".join(lines)}</summary><dl>{listed}</dl></details>'


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


def _below(table: Table, parts: Parts) -> Iterator[str]:
    legend = (*parts.legend, "A cell opens to its protocol, seeds, budget and command.")
    yield f"<p>{'<br>'.join(map(_prose, legend))}</p>"
    if parts.marks:
        marks = (f"<dt>{mark}</dt><dd>{_prose(text)}</dd>" for mark, text in parts.marks.items())
        yield f'<dl class="marks">{"".join(marks)}</dl>'
    if table.notes:
        yield f"<h2>Notes</h2><ul>{''.join(f'<li>{_prose(note)}</li>' for note in table.notes)}</ul>"
    if parts.commands:
        yield "<h2>Not measured yet</h2><p>These commands fill it:</p>"
        yield f'<pre tabindex="0">{escape(chr(10).join(parts.commands))}</pre>'
    if table.command:
        yield f"<footer>Made by <code>{escape(one_line(table.command))}</code>.</footer>"


def _named(text: str) -> str:
    """Escaped, with the subscripts of the paper's names."""
    return _subscripted(one_line(text))


def _subscripted(text: str) -> str:
    pieces = split_subscripts(text)
    return "".join(escape(piece) + (f"<sub>{escape(below)}</sub>" if below else "") for piece, below in pieces)


def _prose(text: str) -> str:
    return with_code(one_line(text), _subscripted, lambda code: f"<code>{escape(code)}</code>")
