"""Tables drawn: for the terminal, and as Markdown, CSV, LaTeX and HTML."""

from __future__ import annotations

from collections.abc import Callable

from sfa.errors import unknown_name
from sfa.tables.model import Table
from sfa.tables.render.comma_separated import to_csv
from sfa.tables.render.html import to_html
from sfa.tables.render.latex import to_latex
from sfa.tables.render.markdown import to_markdown
from sfa.tables.render.terminal import to_rich

FORMATS: dict[str, Callable[[Table], str]] = {
    "md": to_markdown,
    "csv": to_csv,
    "latex": to_latex,
    "html": to_html,
}
"""What a table can be written as."""

__all__ = ["FORMATS", "render", "to_rich"]


def render(table: Table, format: str) -> str:
    """The table as text in one of :data:`FORMATS`, ending in a line break."""
    if format not in FORMATS:
        raise unknown_name("format", format, FORMATS)
    return FORMATS[format](table)
