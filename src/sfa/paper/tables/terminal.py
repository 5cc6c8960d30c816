"""A table for the terminal, laid out to its width without cutting anything off."""

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

SHORT_HEADING = 16  # width up to which a heading does not wrap, if there is room
NARROW_LABELS = 18  # width that labels are wrapped to, where a table is too wide
_WORD = re.compile(r"""(?:[^\s'"]|'[^']*'|"[^"]*"|['"])+""")  # A word of a command, with its quotes


def to_rich(table: Table) -> list[RenderableType]:
    """Return heading, table, explanations, notes and commands, to be printed one after another."""
    text = text_of(table)
    columns, rules = [one_line(column) for column in table.columns], [row.rule_above for row in table.rows]
    shown: list[RenderableType] = [_wrapped(f"Table {table.number}: {one_line(table.title)}", "bold")]
    shown += [_wrapped(table.caption), _Grid(one_line(table.row_header), text.labels, columns, text.cells, rules)]
    shown += map(_wrapped, text.legend)
    shown += [_wrapped(f"{raised((mark,))} {meaning}") for mark, meaning in text.marks.items()]
    if table.notes:
        shown += [Text(), *(_wrapped(f"- {one_line(note)}") for note in table.notes)]
    if text.commands:
        shown += [Text(), _wrapped("Not measured yet; these commands fill it:"), *map(_Command, text.commands)]
    return shown


def _wrapped(text: str, style: str = "") -> Group:
    """Return text that wraps, whatever the console does with long lines."""
    return Group(Text(one_line(text), style=style, no_wrap=False, overflow="fold"))


@dataclass(frozen=True)
class _Command:
    """A command whose line breaks end in a backslash, so that it can be copied."""

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
    """The table, a part of it or its transpose; a narrow one wraps its labels and the intervals of differences."""

    corner: str
    labels: Sequence[str]
    columns: Sequence[str]
    cells: Sequence[Sequence[CellText]]
    rules: Sequence[bool]
    narrow: bool = False

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        parts = self._fitting(options.max_width)
        yield from (part._drawn() for part in parts) if parts else self._listed()

    def _fitting(self, width: int) -> list[_Grid]:
        """Return the table, its transpose or its columns in parts; nothing, if not even one column fits."""
        narrow, count = replace(self, narrow=True), len(self.columns)
        for candidate in (self, narrow, self._transposed(), narrow._transposed()):
            if candidate._fits(width):
                return [candidate]
        for number in range(2, count + 1):
            size = math.ceil(count / number)
            slices = [slice(start, start + size) for start in range(0, count, size)]
            parts = [replace(narrow, columns=self.columns[s], cells=[row[s] for row in self.cells]) for s in slices]
            if all(part._fits(width) for part in parts):
                return parts
        return []

    def _transposed(self) -> _Grid:
        cells, rules = list(zip(*self.cells, strict=True)), [False] * len(self.columns)
        return replace(self, corner="", labels=self.columns, columns=self.labels, cells=cells, rules=rules)

    def _widths(self) -> list[int]:
        """Return the widths of labels and columns with which values stay in one line; long headings wrap."""
        texts = self.corner, *self.labels
        label = max(map(cell_len, texts))
        widths = [min(label, max(NARROW_LABELS, *map(_longest_word, texts))) if self.narrow else label]
        for j, head in enumerate(self.columns):
            unwrapped = not self.narrow and cell_len(head) <= SHORT_HEADING
            values = (line.cell_len for row in self.cells for line in self._lines(row[j]))
            widths.append(max(cell_len(head) if unwrapped else _longest_word(head), *values))
        return widths

    def _fits(self, width: int) -> bool:
        widths = self._widths()
        return sum(widths) + 3 * len(widths) + 1 <= width  # a blank on both sides of a column, a line between columns

    def _lines(self, cell: CellText) -> list[Text]:
        """Return the lines of a cell; the paper's value is dim, the best are bold."""
        lines = [
            Text.assemble((cell.published, "bold dim" if cell.best else "dim"), raised(cell.published_marks)),
            Text.assemble((cell.measured, "bold" if cell.leading else ""), raised(cell.measured_marks)),
        ]
        lines += map(Text, cell.difference.split(" ", maxsplit=1) if self.narrow else [cell.difference])
        return [line for line in lines if line] or [Text()]

    def _drawn(self) -> rich.table.Table:
        table = rich.table.Table()
        for heading, width in zip((self.corner, *self.columns), self._widths(), strict=True):
            table.add_column(Text(heading), width=width, overflow="fold")
        for label, cells, rule in zip(self.labels, self.cells, self.rules, strict=True):
            if rule:
                table.add_section()
            table.add_row(Text(label), *(Text("\n").join(self._lines(cell)) for cell in cells))
        return table

    def _listed(self) -> Iterator[Group]:
        """Return it cell by cell, for terminals that are narrower than a value and its label."""
        for label, cells in zip(self.labels, self.cells, strict=True):
            yield _wrapped(label, "bold")
            for column, cell in zip(self.columns, cells, strict=True):
                text = Text(f"{column}: ", no_wrap=False, overflow="fold") + Text("; ").join(self._lines(cell))
                yield Group(text)


def _longest_word(text: str) -> int:
    return max(map(cell_len, text.split()), default=0)
