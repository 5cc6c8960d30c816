"""Texts, marks and explanations that all formats share."""

from __future__ import annotations

import math

import pytest

from sfa.errors import InputError
from sfa.paper.tables.formats import FORMATS, render
from sfa.paper.tables.model import Cell, Interval, Measured, Row, text_of
from tests.paper.tables.random_tables import small_table, value


def test_one_way_of_measuring_needs_no_marks() -> None:
    parts = text_of(small_table(Row("GRACE", cells=(Cell("83.5", measured=value()),))))
    assert parts.cells[0][0].measured == "83.40 ± 0.50"
    assert "Ours: honest-10-10-80, seeds 0, 1, 2, 20 splits each." in parts.notes


def test_each_way_of_measuring_has_a_number() -> None:
    ways = [value(), value(seeds=(0,)), value(budget="20 of 200 epochs"), value(mine=True), value(81.0)]
    parts = text_of(small_table(*(Row(str(place), cells=(Cell(measured=way),)) for place, way in enumerate(ways))))
    assert [row[0].measured[-1] for row in parts.cells] == ["¹", "²", "³", "⁴", "¹"]
    assert parts.notes[-4:] == [
        "¹ honest-10-10-80, seeds 0, 1, 2, 20 splits each, the recipe's own budget, shipped with sfa.",
        "² honest-10-10-80, seed 0, 20 splits, the recipe's own budget, shipped with sfa.",
        "³ honest-10-10-80, seeds 0, 1, 2, 20 splits each, 20 of 200 epochs, shipped with sfa.",
        "⁴ honest-10-10-80, seeds 0, 1, 2, 20 splits each, the recipe's own budget, from your ledger.",
    ]


@pytest.mark.parametrize(
    ("measured", "text"),
    [
        (value(protocol="clustering", splits=10), "clustering, seeds 0, 1, 2, 10 runs each"),
        (value(protocol="run-time, 1 thread", seeds=(0,), splits=5), "run-time, 1 thread, seed 0, 5 turns"),
        (value(protocol="public", seeds=(0,), splits=1), "public, seed 0, 1 split"),
        (value(protocol="counted", seeds=(), splits=0), "counted"),
    ],
)
def test_how_it_was_measured_in_words(measured: Measured, text: str) -> None:
    assert measured.how == text


def test_what_is_not_measured_says_so() -> None:
    row = Row(
        "GRACE",
        cells=(
            Cell("83.5", command="sfa study a"),
            Cell("83.5", command="sfa study b", failure="The loss is no number"),
            Cell("83.5", missing="There is one slot."),
            Cell("Citation"),
            Cell(),
        ),
    )
    parts = text_of(small_table(row, columns=("a", "b", "c", "d", "e")))
    assert [shown.measured for shown in parts.cells[0]] == ["–", "failed¹", "–²", "", ""]
    assert [shown.published for shown in parts.cells[0]] == ["83.5", "83.5", "83.5", "Citation", ""]
    assert parts.notes[-2:] == ["¹ Failed: The loss is no number.", "² Cannot be measured: There is one slot."]
    assert "– not measured." in parts.notes
    assert parts.commands == ["sfa study a", "sfa study b"]


def test_the_tables_own_commands_go_before_those_of_its_cells() -> None:
    table = small_table(Row("GRACE", cells=(Cell("83.5", command="sfa study a"),)), commands=("sfa study all",))
    assert text_of(table).commands == ["sfa study all"]


def test_commands_of_measured_cells_are_not_told_again() -> None:
    table = small_table(Row("GRACE", cells=(Cell("83.5", measured=value(), command="sfa study a"),)))
    parts = text_of(table)
    assert parts.commands == []
    assert not any("not measured" in sentence for sentence in parts.notes)


def test_notes_are_numbered_once_and_stand_at_the_published_value() -> None:
    row = Row(
        "GRACE", cells=(Cell("83.5", note="A slip."), Cell(measured=value(), note="A slip."), Cell("1", note="B."))
    )
    parts = text_of(small_table(row, columns=("a", "b", "c")))
    assert [shown.published for shown in parts.cells[0]] == ["83.5¹", "·", "1²"]
    assert [shown.measured for shown in parts.cells[0]] == ["", "83.40 ± 0.50¹", ""]
    assert parts.notes[-2:] == ["¹ A slip.", "² B."]


def test_the_best_of_a_column_leads_it() -> None:
    rows = (
        Row("GRACE", cells=(Cell("83", measured=value(83.0)),)),
        Row("SFA", cells=(Cell("85", best=True, measured=value(82.0)),)),
        Row("GCN", ours=True, cells=(Cell(measured=value(90.0)),)),
    )
    assert [row[0].leading for row in text_of(small_table(*rows)).cells] == [True, False, False]


@pytest.mark.parametrize(
    "cells",
    [
        [Cell("83", measured=value(83.0)), Cell("85", measured=value(82.0))],
        [Cell("83", best=True, measured=value(83.0)), Cell("85", best=True, measured=value(82.0))],
        [Cell("83", measured=value(83.0)), Cell("85", best=True)],
        [Cell("83", measured=value(83.0)), Cell("85", best=True, measured=value(82.0, protocol="public"))],
        [Cell("83", measured=value(math.nan, text="ReLU")), Cell("85", best=True, measured=value(82.0))],
    ],
    ids=["no best in the paper", "two of them", "one measured", "measured in two ways", "a word"],
)
def test_elsewhere_none_leads(cells: list[Cell]) -> None:
    parts = text_of(small_table(*(Row(str(place), cells=(cell,)) for place, cell in enumerate(cells))))
    assert not any(row[0].leading for row in parts.cells)


def test_a_published_value_alone_is_compared_with_nothing() -> None:
    parts = text_of(small_table(Row("Cora", cells=(Cell("Citation"),))))
    assert not any("not measured" in sentence for sentence in parts.notes)


def test_what_the_paper_does_not_have_is_told() -> None:
    rows = (Row("GRACE", cells=(Cell(measured=value()),)), Row("DGI + SFA", ours=True, cells=(Cell(measured=value()),)))
    parts = text_of(small_table(*rows))
    assert parts.labels == ["GRACE", "DGI + SFA †"]
    assert [row[0].published for row in parts.cells] == ["·", ""]
    assert "· not in the paper." in parts.notes
    assert "† not in the paper: our addition." in parts.notes


def test_differences_say_what_they_are_from() -> None:
    difference = Interval(0.41, -0.1, 0.92)
    rows = (
        Row("SFA_BT", cells=(Cell(measured=value(difference=difference, difference_from="G-BT")),)),
        Row("SFA_InfoNCE", cells=(Cell(measured=value(difference=difference, difference_from="GRACE")),)),
    )
    one, both = text_of(small_table(rows[0])), text_of(small_table(*rows))
    assert one.cells[0][0].difference == "+0.41 [-0.10, +0.92]"
    assert "the paired difference, with its 95 % interval, from G-BT (SFA_BT)." in one.notes[0]
    assert "from G-BT (SFA_BT); GRACE (SFA_InfoNCE)." in both.notes[0]


def test_formats_are_known_by_name() -> None:
    assert list(FORMATS) == ["md", "csv", "latex", "html"]
    with pytest.raises(InputError, match=r"Unknown format 'markdwon'.*Allowed: csv, html, latex, md"):
        render(small_table(Row("GRACE", cells=(Cell(),))), "markdwon")
