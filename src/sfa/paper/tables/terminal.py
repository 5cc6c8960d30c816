"""A table for the terminal: columns that do not fit beside one another are printed in several tables."""

import math

import rich.table
from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from sfa.paper.tables.model import Table
from sfa.paper.tables.text import CellText, TableText, text_of


def print_table(table: Table, console: Console) -> None:
    """Print heading, table, explanations and commands; commands are not wrapped, so that they can be copied."""
    text = text_of(table)

    def say(line: str, style: str = "") -> None:
        console.print(Text(line, style=style), soft_wrap=False, no_wrap=False, overflow="fold")

    say(text.title, "bold")
    say(table.caption)
    for part in _parts(table, text, console.width):
        console.print(part, soft_wrap=False)
    for note in text.notes:
        say(note)
    if text.commands:
        say("\nNot measured yet; these commands fill it:")
        for command in text.commands:
            console.print(Text(command), soft_wrap=True)


def _parts(table: Table, text: TableText, width: int) -> list[rich.table.Table]:
    """Return tables of equally many columns, as few as have every value in one line, or one for each column."""
    count, label_room = len(table.columns), width // 4
    room = width - label_room - 7  # without the lines and blanks around two columns
    labels, cells = [Text(label) for label in text.labels], [[_cell(cell) for cell in row] for row in text.cells]
    label_width = _width(table.row_header, labels, label_room)
    widths = [_width(head, [row[j] for row in cells], room) for j, head in enumerate(table.columns)]
    parts: list[range] = []
    for number in range(1, 1 + count):
        size = math.ceil(count / number)
        parts = [range(j, min(j + size, count)) for j in range(0, count, size)]
        if all(label_width + 4 + sum(widths[j] + 3 for j in part) <= width for part in parts):
            break
    drawn = []
    for part in parts:
        drawn.append(rich.table.Table(rich.table.Column(Text(table.row_header), width=label_width, overflow="fold")))
        for j in part:
            drawn[-1].add_column(Text(table.columns[j]), width=widths[j], overflow="fold")
        for row, label, texts in zip(table.rows, labels, cells, strict=True):
            if row.rule_above:
                drawn[-1].add_section()
            drawn[-1].add_row(label, *texts[part.start : part.stop])
    return drawn


def _width(heading: str, texts: list[Text], room: int) -> int:
    """Return the width of a column whose texts are not wrapped, if there is room; its heading may be."""
    lines = [line for text in texts for line in text.split()]
    return min(max([line.cell_len for line in lines] + [cell_len(word) for word in heading.split()]), room)


def _cell(cell: CellText) -> Text:
    """Return the lines of a cell; the paper's value is dim, the best are bold."""
    published = Text(cell.published, "bold dim" if cell.best else "dim")
    lines = published, Text(cell.measured, "bold" if cell.leading else ""), Text(cell.difference)
    return Text("\n").join(line for line in lines if line)
