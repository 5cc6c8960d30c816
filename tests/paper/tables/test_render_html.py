"""Tables as a page of HTML."""

from __future__ import annotations

from hypothesis import given, settings

from sfa.paper.tables.formats import render
from sfa.paper.tables.model import Cell, Row, Table
from tests.paper.tables.random_tables import HOSTILE, remarks_of, small_table, tables, value, values_of
from tests.paper.tables.read_html import Page


@settings(max_examples=40)
@given(tables())
def test_nothing_is_lost(table: Table) -> None:
    page = Page.of(render(table, "html"))
    assert [len(row) for row in page.rows] == [1 + len(table.columns)] * (1 + len(table.rows))
    assert page.rows[0] == [table.row_header, *table.columns]
    for row, cells in zip(table.rows, page.rows[1:], strict=True):
        assert cells[0] == row.label + " †" * row.ours
        for cell, text in zip(row.cells, cells[1:], strict=True):
            told = [one for one in (cell.command, cell.failure, cell.missing, cell.note) if one]
            assert all(found in text for found in (*values_of(cell), *told))
    assert all(remark in page.text for remark in remarks_of(table))
    assert all(command in page.text for command in table.commands)


def test_markup_in_labels_is_text() -> None:
    table = small_table(Row(HOSTILE, cells=(Cell(HOSTILE, command=HOSTILE),)), columns=(HOSTILE,), row_header=HOSTILE)
    page = Page.of(render(table, "html"))
    assert page.rows[0] == [HOSTILE, HOSTILE]
    assert page.rows[1][0] == HOSTILE
    assert page.titles == [f"command: {HOSTILE}"]
    assert page.code == [HOSTILE]


def test_a_cell_opens_to_what_is_known_of_it() -> None:
    measured = value(budget="20 of 200 epochs", mine=True)
    page = Page.of(
        render(small_table(Row("GRACE", cells=(Cell("83.5", measured=measured, command="sfa study a"),))), "html")
    )
    assert page.titles == [
        "protocol: honest-10-10-80, seeds 0, 1, 2, 20 splits each; metric: accuracy; budget: 20 of 200 epochs; "
        "source: your ledger; command: sfa study a"
    ]
    assert page.tags.count("details") == page.tags.count("summary") == 1


def test_an_empty_cell_does_not_open() -> None:
    page = Page.of(render(small_table(Row("GRACE", cells=(Cell(),))), "html"))
    assert page.rows[1] == ["GRACE", ""]
    assert "details" not in page.tags


def test_lines_look_as_in_the_paper() -> None:
    rows = (Row("GRACE", cells=(Cell("83.5"),)), Row("SFA_BT", False, True, True, (Cell("85.9", best=True),)))
    text = render(small_table(*rows), "html")
    page = Page.of(text)
    assert page.classes == ["rule", "highlighted"]
    assert page.bold == ["85.9"]
    assert page.rows[2][0] == "SFA_BT"


def test_the_page_needs_nothing_else() -> None:
    text = render(
        small_table(Row("GRACE", cells=(Cell("83.5", command="sfa study a"),)), command="sfa table 1"), "html"
    )
    page = Page.of(text)
    assert page.addresses == []
    assert not {"script", "link", "img", "iframe"} & set(page.tags)
    assert "url(" not in text
    assert "@import" not in text
    assert "prefers-color-scheme: dark" in text
    assert text.startswith("<!DOCTYPE html>")
