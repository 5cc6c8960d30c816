"""A table for the terminal, laid out to its width: nothing is cut."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import rich.table
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.text import Text

from sfa.tables.model import Table
from sfa.tables.render.parts import Parts, Shown, one_line, parts_of
from sfa.tables.render.shell_words import shell_words
from sfa.tables.render.superscript import raised

SHORT_HEADING = 16
"""Columns up to which the heading of a column does not wrap, if there is room."""
NARROW_LABELS = 18
"""Columns that labels may be squeezed to, where a table is too wide."""


def to_rich(table: Table) -> list[RenderableType]:
    """Heading, table, what its marks stand for, notes and commands, to be printed one after another."""
    parts = parts_of(table)
    shown: list[RenderableType] = [_Paragraph(f"Table {table.number}: {one_line(table.title)}", "bold")]
    shown += [_Paragraph(one_line(table.caption)), _Body(table, parts), *map(_Paragraph, parts.legend)]
    shown += [_Paragraph(f"{raised((mark,))} {text}") for mark, text in parts.marks.items()]
    if table.notes:
        shown += [Text(), *(_Paragraph(f"- {one_line(note)}") for note in table.notes)]
    if parts.commands:
        shown += [Text(), _Paragraph("Not measured yet; these commands fill it:"), *map(_Command, parts.commands)]
    return shown


@dataclass(frozen=True)
class _Paragraph:
    """Text that goes on in the next line, whatever the console does with long ones."""

    text: str
    style: str = ""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield _wrapped(Text(self.text, style=self.style))


def _wrapped(text: Text) -> Text:
    text.no_wrap, text.overflow = False, "fold"
    return text


@dataclass(frozen=True)
class _Command:
    """A command that can be copied from a narrow terminal too: where it is broken, a backslash says that it goes on."""

    command: str

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        room = options.max_width - len("   \\")
        lines = [""]
        for word in shell_words(self.command):
            if lines[-1] and cell_len(lines[-1]) + 1 + cell_len(word) > room:
                lines.append("")
            lines[-1] += f" {word}" if lines[-1] else word
        yield Text(" \\\n  ".join(lines), no_wrap=True, overflow="ignore")


@dataclass(frozen=True)
class _Grid:
    """Labels, columns and cells of the table, of a part of it or of its transpose."""

    corner: str
    labels: Sequence[str]
    columns: Sequence[str]
    cells: Sequence[Sequence[Shown]]
    rules: Sequence[bool]
    narrow: bool = False
    """Whether labels may wrap, and the interval of a difference has a line of its own."""

    def transposed(self) -> _Grid:
        cells, rules = list(zip(*self.cells, strict=True)), [False] * len(self.columns)
        return replace(self, corner="", labels=self.columns, columns=self.labels, cells=cells, rules=rules)

    def part(self, start: int, stop: int) -> _Grid:
        """Some of its columns."""
        return replace(self, columns=self.columns[start:stop], cells=[row[start:stop] for row in self.cells])

    def column_widths(self) -> list[int]:
        """Values stay in one line; headings wrap between words, short ones only where there is no room."""
        return [
            max(
                [
                    self._heading_width(heading),
                    *(line.cell_len for row in self.cells for line in self.lines(row[place])),
                ]
            )
            for place, heading in enumerate(self.columns)
        ]

    def _heading_width(self, heading: str) -> int:
        whole = 0 if self.narrow or cell_len(heading) > SHORT_HEADING else cell_len(heading)
        return max(whole, _longest_word(heading))

    def label_width(self) -> int:
        texts = (self.corner, *self.labels)
        longest = max(map(cell_len, texts))
        return min(longest, max(NARROW_LABELS, *map(_longest_word, texts))) if self.narrow else longest

    def width(self) -> int:
        """With a blank on both sides of a column and a line between columns."""
        inner = [self.label_width(), *self.column_widths()]
        return sum(inner) + 3 * len(inner) + 1

    def lines(self, shown: Shown) -> list[Text]:
        """Of a cell: the paper's value is dim, the best are bold."""
        lines = [
            Text.assemble((shown.published, "bold dim" if shown.best else "dim"), raised(shown.published_marks)),
            Text.assemble((shown.measured, "bold" if shown.leading else ""), raised(shown.measured_marks)),
        ]
        lines += map(Text, shown.difference.split(" ", maxsplit=1) if self.narrow else [shown.difference])
        return [line for line in lines if line]


@dataclass(frozen=True)
class _Body:
    """The table itself: as it is, its transpose, its columns in several parts, or cell by cell: the first that fits."""

    table: Table
    parts: Parts

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        columns = [one_line(column) for column in self.table.columns]
        rules = [row.rule_above for row in self.table.rows]
        grid = _Grid(one_line(self.table.row_header), self.parts.labels, columns, self.parts.cells, rules)
        fitting = _fitting(grid, options.max_width)
        yield from map(_drawn, fitting) if fitting else _listed(grid)


def _fitting(grid: _Grid, width: int) -> list[_Grid]:
    """What to draw; nothing, if not even one column fits."""
    narrow = replace(grid, narrow=True)
    for candidate in (grid, narrow, grid.transposed(), narrow.transposed()):
        if candidate.width() <= width:
            return [candidate]
    count = len(grid.columns)
    for number in range(2, count + 1):
        size = math.ceil(count / number)
        parts = [narrow.part(start, min(start + size, count)) for start in range(0, count, size)]
        if all(part.width() <= width for part in parts):
            return parts
    return []


def _drawn(grid: _Grid) -> rich.table.Table:
    table = rich.table.Table()
    for heading, width in zip((grid.corner, *grid.columns), (grid.label_width(), *grid.column_widths()), strict=True):
        table.add_column(Text(heading), width=width, overflow="fold")
    for label, cells, rule in zip(grid.labels, grid.cells, grid.rules, strict=True):
        if rule:
            table.add_section()
        table.add_row(Text(label), *(Text("\n").join(grid.lines(shown)) for shown in cells))
    return table


def _listed(grid: _Grid) -> Iterator[Text]:
    """Cell by cell, for terminals narrower than one value and its label."""
    for label, cells in zip(grid.labels, grid.cells, strict=True):
        yield _wrapped(Text(label, style="bold"))
        for column, shown in zip(grid.columns, cells, strict=True):
            yield _wrapped(Text(f"{column}: ") + Text("; ").join(grid.lines(shown)))


def _longest_word(text: str) -> int:
    return max(map(cell_len, text.split()), default=0)
