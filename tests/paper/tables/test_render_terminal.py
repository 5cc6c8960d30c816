"""Tables in terminals of several widths."""

from __future__ import annotations

import io
from typing import Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console

from sfa.paper.tables.definition import NUMBERS
from sfa.paper.tables.formats import print_table
from sfa.paper.tables.model import Cell, Row, Table
from tests.paper.tables.random_tables import HOSTILE, printed_table, remarks_of, small_table, tables, value, values_of

BORDERS = str.maketrans(dict.fromkeys("┏┳┓┃┡╇┩━│├┼┤─└┴┘", " "))


def shown(table: Table, width: int, *, soft_wrap: bool = True, styles: bool = False) -> str:
    """What is printed; ``soft_wrap`` as the command line has it."""
    colors: Literal["standard"] | None = "standard" if styles else None
    console = Console(
        file=io.StringIO(),
        width=width,
        soft_wrap=soft_wrap,
        highlight=False,
        force_terminal=styles,
        color_system=colors,
    )
    print_table(table, console)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def without_blanks(text: str) -> str:
    return "".join(text.split())


@settings(max_examples=40)
@given(tables(), st.integers(60, 200), st.booleans())
def test_nothing_is_lost_and_no_line_is_too_long(table: Table, width: int, soft_wrap: bool) -> None:
    text = shown(table, width, soft_wrap=soft_wrap)
    assert max(map(cell_len, text.splitlines())) <= width
    assert "…" not in text
    in_one_piece = without_blanks(text)
    for row in table.rows:
        assert all(word in text for word in row.label.split())
        assert all(found in text for cell in row.cells for found in values_of(cell))
    assert all(word in text for column in table.columns for word in column.split())
    assert all(without_blanks(remark) in in_one_piece for remark in remarks_of(table))
    assert all(command in text for command in table.commands)


@settings(max_examples=40)
@given(tables(), st.integers(24, 60))
def test_a_terminal_narrower_than_a_value_wraps_it(table: Table, width: int) -> None:
    text = shown(table, width)
    assert max(cell_len(line) for line in text.splitlines() if not line.startswith("sfa")) <= width
    assert "…" not in text


@pytest.mark.parametrize("width", [80, 160])
@pytest.mark.parametrize("number", NUMBERS)
def test_the_papers_tables_fit_with_every_value_in_one_line(number: int, width: int) -> None:
    table = printed_table(number)
    lines = [line.translate(BORDERS) for line in shown(table, width).splitlines()]
    assert max(map(cell_len, lines)) <= width
    for row in table.rows:
        for cell in row.cells:
            assert any(f"  {cell.published}" in line for line in lines)


WIDE = small_table(
    *(
        Row(label, cells=(Cell("83.51 ± 0.25", measured=value()),) * 6)
        for label in ("GRACE", "GCA", "DGI", "BGRL", "G-BT")
    ),
    columns=("WikiCS", "Am-Comput.", "Am-Photo", "Cora", "CiteSeer", "PubMed"),
    row_header="Method",
)


def headings(table: Table, width: int) -> list[list[str]]:
    """Of every table that is drawn."""
    lines = shown(table, width).splitlines()
    return [line.strip("┃ ").split() for line in lines if line.startswith("┃")]


def test_a_table_that_fits_is_drawn_as_it_is() -> None:
    assert headings(WIDE, 160) == [["Method", "┃", *" ┃ ".join(WIDE.columns).split()]]


def test_a_wide_table_is_drawn_in_parts_of_equal_size() -> None:
    assert headings(WIDE, 80) == [
        ["Method", "┃", "WikiCS", "┃", "Am-Comput.", "┃", "Am-Photo"],
        ["Method", "┃", "Cora", "┃", "CiteSeer", "┃", "PubMed"],
    ]


def test_markup_in_labels_is_text() -> None:
    label = f"[bold]{HOSTILE}[/bold]"
    text = shown(small_table(Row(label, cells=(Cell(label, command=f"sfa {label}"),)), columns=(label,)), 200)
    assert sum(label in line for line in text.splitlines()) == 3


def test_the_papers_value_is_dim_and_the_best_are_bold() -> None:
    rows = (Row("GRACE", cells=(Cell("83", measured=value(84.0)),)), Row("SFA", cells=(Cell("85", True, value(83.0)),)))
    text = shown(small_table(*rows), 80, styles=True)
    assert "\x1b[2m83\x1b[0m" in text
    assert "\x1b[1;2m85\x1b[0m" in text
    assert "\x1b[1m84.00 ± 0.50\x1b[0m" in text
    assert "\x1b[1m83.00" not in text


def test_a_long_command_is_one_line() -> None:
    command = "sfa study methods --datasets cora citeseer --method grace g-bt --data-root './my data/sets of graphs'"
    assert command in shown(small_table(Row("GRACE", cells=(Cell("83", command=command),))), 60).splitlines()
