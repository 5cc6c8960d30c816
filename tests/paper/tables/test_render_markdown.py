"""Tables as Markdown, read by two parsers: one like GitHub's, and the documentation's."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from markdown_it import MarkdownIt

from sfa.paper.tables.formats import render
from sfa.paper.tables.model import Cell, Row, Table
from tests.paper.tables.random_tables import HOSTILE, remarks_of, small_table, tables, value, values_of
from tests.paper.tables.read_html import Page


def by_github(text: str) -> Page:
    return Page.of(MarkdownIt("commonmark").enable("table").enable("strikethrough").render(text))


def by_mkdocs(text: str) -> Page:
    markdown = pytest.importorskip("markdown")
    return Page.of(markdown.markdown(text, extensions=["tables", "fenced_code", "sane_lists"]))


readers = pytest.mark.parametrize("read", [by_github, by_mkdocs])


@pytest.mark.slow
@readers
@settings(max_examples=40)
@given(table=tables())
def test_nothing_is_lost(read: Callable[[str], Page], table: Table) -> None:
    page = read(render(table, "md"))
    assert [len(row) for row in page.rows] == [1 + len(table.columns)] * (1 + len(table.rows))
    assert page.rows[0] == [table.row_header, *table.columns]
    for row, cells in zip(table.rows, page.rows[1:], strict=True):
        assert cells[0] == row.label + " †" * row.ours
        for cell, text in zip(row.cells, cells[1:], strict=True):
            assert all(found in text for found in values_of(cell))
    assert all(remark in page.text for remark in remarks_of(table))
    assert all(command in page.text for command in table.commands)


@readers
def test_markup_in_labels_is_text(read: Callable[[str], Page]) -> None:
    table = small_table(
        Row(HOSTILE, cells=(Cell(HOSTILE, missing="So."),)), columns=(HOSTILE,), notes=(HOSTILE,), row_header=HOSTILE
    )
    page = read(render(table, "md"))
    assert page.rows == [[HOSTILE, HOSTILE], [HOSTILE, f"{HOSTILE}\n–¹"]]
    assert page.items[-2:] == ["¹ Cannot be measured: So.", HOSTILE]


@readers
def test_a_cell_has_its_values_below_one_another(read: Callable[[str], Page]) -> None:
    rows = (
        Row("GRACE", cells=(Cell("83.51 ± 0.25", measured=value(84.0), note="Odd."),)),
        Row("SFA", cells=(Cell("85.89 ± 0.01", best=True, measured=value(83.0, seeds=(0,))),)),
    )
    text = render(small_table(*rows), "md")
    assert read(text).rows[1:] == [["GRACE", "83.51 ± 0.25¹\n84.00 ± 0.50²"], ["SFA", "85.89 ± 0.01\n83.00 ± 0.50³"]]
    assert read(text).bold == ["84.00 ± 0.50²", "85.89 ± 0.01"]


@readers
def test_commands_are_as_they_are(read: Callable[[str], Page]) -> None:
    command = "sfa study methods --data './my & *graph*.npz'"
    page = read(render(small_table(Row("GRACE", cells=(Cell("1", command=command),)), command="sfa table `7`"), "md"))
    assert page.code == [f"{command}\n", "sfa table `7`\n"]


@readers
def test_code_in_notes_is_code(read: Callable[[str], Page]) -> None:
    page = read(render(small_table(notes=("By `sfa table _7_ --run`, as *said*.",)), "md"))
    assert page.code == ["sfa table _7_ --run"]
    assert page.items[1:] == ["By sfa table _7_ --run, as *said*."]
