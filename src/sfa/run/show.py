"""Results that show themselves: as text at a prompt and on a terminal, as HTML in a notebook."""

from __future__ import annotations

import io
import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from html import escape

from rich.console import Console, ConsoleOptions, RenderableType
from rich.table import Table
from rich.text import Text

from sfa.run.display import PLAIN_WIDTH

Rows = Sequence[Sequence[str]]


class Shown(ABC):
    """A result with a table and some sentences."""

    texts = 1
    """Columns of the table that are text; the others are numbers, and stand to the right."""

    @abstractmethod
    def table(self) -> tuple[Sequence[str], Rows]:
        """Return the headings of the table, and its rows."""

    def notes(self) -> list[str]:
        """Return the sentences that go with the table."""
        return []

    def rich_table(self, console: Console) -> Table:
        """Return the table for a terminal."""
        headings, rows = self.table()
        table = Table()
        for number, heading in enumerate(headings):
            table.add_column(heading, justify="left" if number < self.texts else "right")
        for row in rows:
            table.add_row(*map(Text, row))
        return table

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        yield self.rich_table(console)
        yield from map(Text, self.notes())

    def __repr__(self) -> str:
        console = Console(width=PLAIN_WIDTH, file=io.StringIO(), highlight=False, color_system=None)
        with console.capture() as captured:
            console.print(self, soft_wrap=True)
        return captured.get().rstrip()

    def _repr_html_(self) -> str:
        headings, rows = self.table()
        return html_table(headings, rows) + "".join(f"<p>{escape(note)}</p>" for note in self.notes())


def html_table(headings: Sequence[str], rows: Rows) -> str:
    """Return a table as HTML."""
    import pandas as pd

    return str(pd.DataFrame([list(row) for row in rows], columns=list(headings)).to_html(index=False, border=0))


def loss_curve(points: Sequence[tuple[int, float]], *, width: int = 360, height: int = 120) -> str:
    """Return the loss by epochs as an inline SVG; nothing, if there are less than two finite losses."""
    points = [(x, y) for x, y in points if math.isfinite(y)]
    if len(points) < 2:
        return ""
    (left, right), (low, high) = ((min(values), max(values)) for values in zip(*points, strict=True))
    across, up = (width - 8) / ((right - left) or 1), (height - 24) / ((high - low) or 1)
    path = " ".join(f"{4 + (x - left) * across:.1f},{4 + (high - y) * up:.1f}" for x, y in points)
    return (
        f'<svg viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img" aria-label="loss by epochs">'
        f'<polyline points="{path}" fill="none" stroke="#2a78d6" stroke-width="1.5"/>'
        f'<text x="4" y="{height - 6}" font-size="11" fill="currentColor">'
        f"loss {high:.4g} to {low:.4g}, epochs {left:g} to {right:g}</text></svg>"
    )
