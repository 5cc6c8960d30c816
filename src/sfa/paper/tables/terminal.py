"""A table for the terminal, laid out to its width: nothing is cut."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import rich.table
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.text import Text

from sfa.paper.tables.model import Table
from sfa.paper.tables.text import CellText, one_line, raised, text_of

SHORT_HEADING = 16
"""Columns up to which the heading of a column does not wrap, if there is room."""
NARROW_LABELS = 18
"""Columns that labels may be squeezed to, where a table is too wide."""
_WORD = re.compile(r"""(?:[^\s'"]|'[^']*'|"[^"]*"|['"])+""")
"""Of a command, quotes and all."""


def to_rich(table: Table) -> list[RenderableType]:
    """Return heading, table, what its marks stand for, notes and commands, to be printed one after another."""
    text = text_of(table)
    columns, rules = [one_line(column) for column in table.columns], [row.rule_above for row in table.rows]
    grid = _Grid(one_line(table.row_header), text.labels, columns, text.cells, rules)
    shown: list[RenderableType] = [_wrapped(f"Table {table.number}: {one_line(table.title)}", "bold")]
    shown += [_wrapped(table.caption), grid, *map(_wrapped, text.legend)]
    shown += [_wrapped(f"{raised((mark,))} {meaning}") for mark, meaning in text.marks.items()]
    if table.notes:
        shown += [Text(), *(_wrapped(f"- {one_line(note)}") for note in table.notes)]
    if text.commands:
        shown += [Text(), _wrapped("Not measured yet; these commands fill it:"), *map(_Command, text.commands)]
    return shown


def _wrapped(text: str, style: str = "") -> Group:
    """Return text that goes on in the next line, whatever the console does with long ones."""
    return Group(Text(one_line(text), style=style, no_wrap=False, overflow="fold"))


@dataclass(frozen=True)
class _Command:
    """A command that can be copied from a narrow terminal too: where it is broken, a backslash says that it goes on."""

    command: str

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        room = options.max_width - len("   \\")
        lines = [""]
        for word in _WORD.findall(self.command):
            if lines[-1] and cell_len(lines[-1]) + 1 + cell_len(word) > room:
                lines.append("")
            lines[-1] += f" {word}" if lines[-1] else word
        yield Text(" \\\n  ".join(lines), no_wrap=True, overflow="ignore")


@dataclass(frozen=True)
class _Grid:
    """Labels, columns and cells of a table, of a part of it or of its transpose."""

    corner: str
    labels: Sequence[str]
    columns: Sequence[str]
    cells: Sequence[Sequence[CellText]]
    rules: Sequence[bool]
    narrow: bool = False
    """Whether labels may wrap, and the interval of a difference has a line of its own."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for part in (parts := self._fitting(options.max_width)):
            yield part._drawn()
        if not parts:
            yield from self._listed()

    def _fitting(self, width: int) -> list[_Grid]:
        """Return what to draw: the table, its transpose, or its columns in parts; nothing, if not even one fits."""
        narrow, count = replace(self, narrow=True), len(self.columns)
        for candidate in (self, narrow, self._transposed(), narrow._transposed()):
            if candidate._width() <= width:
                return [candidate]
        for number in range(2, count + 1):
            size = math.ceil(count / number)
            slices = [slice(start, start + size) for start in range(0, count, size)]
            parts = [replace(narrow, columns=self.columns[s], cells=[row[s] for row in self.cells]) for s in slices]
            if all(part._width() <= width for part in parts):
                return parts
        return []

    def _transposed(self) -> _Grid:
        cells, rules = list(zip(*self.cells, strict=True)), [False] * len(self.columns)
        return replace(self, corner="", labels=self.columns, columns=self.labels, cells=cells, rules=rules)

    def _column_widths(self) -> list[int]:
        """Return widths with which values stay in one line; headings wrap, short ones only where there is no room."""
        whole = 0 if self.narrow else SHORT_HEADING
        heads = [max(_longest_word(head), cell_len(head) if cell_len(head) <= whole else 0) for head in self.columns]
        values = [max(line.cell_len for row in self.cells for line in self._lines(row[j])) for j in range(len(heads))]
        return list(map(max, heads, values))

    def _label_width(self) -> int:
        texts = (self.corner, *self.labels)
        longest = max(map(cell_len, texts))
        return min(longest, max(NARROW_LABELS, *map(_longest_word, texts))) if self.narrow else longest

    def _width(self) -> int:
        """Return the width with a blank on both sides of a column and a line between columns."""
        inner = [self._label_width(), *self._column_widths()]
        return sum(inner) + 3 * len(inner) + 1

    def _lines(self, cell: CellText) -> list[Text]:
        """Return the lines of a cell: the paper's value is dim, the best are bold."""
        lines = [
            Text.assemble((cell.published, "bold dim" if cell.best else "dim"), raised(cell.published_marks)),
            Text.assemble((cell.measured, "bold" if cell.leading else ""), raised(cell.measured_marks)),
        ]
        lines += map(Text, cell.difference.split(" ", maxsplit=1) if self.narrow else [cell.difference])
        return [line for line in lines if line] or [Text()]

    def _drawn(self) -> rich.table.Table:
        table = rich.table.Table()
        widths = self._label_width(), *self._column_widths()
        for heading, width in zip((self.corner, *self.columns), widths, strict=True):
            table.add_column(Text(heading), width=width, overflow="fold")
        for label, cells, rule in zip(self.labels, self.cells, self.rules, strict=True):
            if rule:
                table.add_section()
            table.add_row(Text(label), *(Text("\n").join(self._lines(cell)) for cell in cells))
        return table

    def _listed(self) -> Iterator[Group]:
        """Return it cell by cell, for terminals narrower than one value and its label."""
        for label, cells in zip(self.labels, self.cells, strict=True):
            yield _wrapped(label, "bold")
            for column, cell in zip(self.columns, cells, strict=True):
                text = Text(f"{column}: ", no_wrap=False, overflow="fold") + Text("; ").join(self._lines(cell))
                yield Group(text)


def _longest_word(text: str) -> int:
    return max(map(cell_len, text.split()), default=0)
