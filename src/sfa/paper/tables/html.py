"""A table as a small web page that needs nothing but itself."""

from __future__ import annotations

from functools import cache
from html import escape

from jinja2 import Environment, PackageLoader, Template
from markupsafe import Markup

from sfa.paper.tables.model import Cell, Table
from sfa.paper.tables.text import measured_how, one_line, split_subscripts, text_of, with_code


def to_html(table: Table) -> str:
    """Return a page. Every cell opens to what is known of it: protocol, seeds, budget, the command that fills it."""
    title = f"Table {table.number}: {one_line(table.title)}"
    return _template().render(table=table, title=title, text=text_of(table), details=_details) + "\n"


@cache
def _template() -> Template:
    environment = Environment(loader=PackageLoader("sfa.paper.tables", ""), autoescape=True)
    environment.filters |= {"named": _named, "prose": _prose}
    return environment.get_template("page.html")


def _details(cell: Cell) -> list[tuple[str, str]]:
    """Return what is known of a cell; a pointer that rests on it shows the same."""
    measured, told = cell.measured, dict[str, str | None]()
    if measured is not None:
        told |= {"protocol": measured_how(measured), "metric": measured.metric}
        told |= {"budget": measured.budget or "as the recipe has it"}
        told |= {"source": "your ledger" if measured.mine else "shipped with sfa"}
        told |= {"difference from": measured.difference_from if measured.difference else None}
    told |= {"failed": cell.failure, "cannot be measured": cell.missing, "note": cell.note, "command": cell.command}
    return [(name, one_line(text)) for name, text in told.items() if text]


def _named(text: str) -> Markup:
    """Return a text with the subscripts of the paper's names."""
    return Markup(_subscripted(one_line(text)))


def _prose(text: str) -> Markup:
    return Markup(with_code(text, _subscripted, lambda code: f"<code>{escape(code)}</code>"))


def _subscripted(text: str) -> str:
    return "".join(
        escape(one) + (f"<sub>{escape(below)}</sub>" if below else "") for one, below in split_subscripts(text)
    )
