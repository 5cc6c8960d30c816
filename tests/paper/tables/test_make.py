"""Tables put together from entries whose values are known."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from sfa.errors import InputError
from sfa.paper.results_files import Entry
from sfa.paper.tables.definition import load
from sfa.paper.tables.make import make_table
from sfa.paper.tables.model import Cell, Table
from sfa.paper.tables.selection import Selection
from tests.paper.tables.conftest import NewEntry, variant_of


def cells(table: Table) -> dict[tuple[str, str], Cell]:
    return {
        (row.label, column): cell for row in table.rows for column, cell in zip(table.columns, row.cells, strict=True)
    }


def made(number: int, entries: list[Entry], **options: Any) -> Table:
    return make_table(number, entries, shipped=(), selection=Selection(**options))


@pytest.mark.slow
@pytest.mark.parametrize("number", range(1, 18))
def test_all_of_the_papers_values_are_there(number: int) -> None:
    table, paper = make_table(number, shipped=()), load(number)
    found = cells(table)
    for row in paper.rows:
        for column, printed in zip(paper.columns, row.cells, strict=True):
            cell = found[row.label, column]
            assert (cell.published, cell.best) == (printed.published, printed.best)
            assert cell.note == printed.note
    rows = {row.label: row for row in table.rows}
    assert [row.label for row in table.rows if not row.ours] == [row.label for row in paper.rows]
    assert all(rows[row.label].highlighted == row.highlighted for row in paper.rows)
    assert set(paper.notes) <= set(table.notes)
    assert table.command == f"sfa table {number}"


@pytest.mark.slow
def test_a_cell_with_its_seeds_and_its_difference(new_entry: NewEntry) -> None:
    plain, sfa = variant_of("methods", "grace"), variant_of("methods", "grace + SFA")
    entries = [
        *(new_entry(plain, seed=seed, values=(80.0 + seed, 82.0 + seed)) for seed in (0, 1, 2)),
        *(new_entry(sfa, seed=seed, values=(82.0 + seed * 2, 84.0 + seed * 2)) for seed in (0, 1, 2)),
    ]
    found = cells(made(1, entries))
    measured = found["SFA_InfoNCE", "Cora"].measured
    assert measured is not None
    assert (measured.mean, measured.std, measured.seeds, measured.splits) == (85.0, 2.0, (0, 1, 2), 2)
    assert (measured.protocol, measured.metric, measured.mine, measured.budget) == (
        "honest-10-10-80",
        "accuracy",
        True,
        None,
    )
    assert measured.difference is not None
    assert (measured.difference.mean, measured.difference_from) == (3.0, "GRACE")
    grace = found["GRACE", "Cora"].measured
    assert grace is not None
    assert grace.difference is None
    assert found["GRACE", "CiteSeer"].measured is None
    assert found["SFA_InfoNCE, the paper's hyper-parameters", "Cora"].measured is None
    ablation = cells(made(7, entries))["A_G + A_F*", "Cora"].measured
    assert ablation is not None
    assert (ablation.difference, ablation.difference_from) == (measured.difference, "A_G")


@pytest.mark.slow
def test_the_same_run_fills_several_tables(new_entry: NewEntry) -> None:
    entry = new_entry(variant_of("methods", "grace + SFA"), values=(70.0, 71.0))
    for number, row, column in (
        (1, "SFA_InfoNCE", "Cora"),
        (7, "A_G + A_F*", "Cora"),
        (8, "k = 1", "Cora"),
        (10, "SFA (ours)", "Cora"),
        (16, "SFA_InfoNCE", "Cora"),
        (17, "Cora", "SFA_InfoNCE"),
    ):
        measured = cells(made(number, [entry]))[row, column].measured
        assert measured is not None
        assert (measured.mean, measured.seeds) == (70.5, (0,))


@pytest.mark.slow
def test_clusters_by_their_metrics(new_entry: NewEntry) -> None:
    entries = [
        new_entry(variant_of("clustering", "gae"), protocol="clustering", metric=metric, values=(value, value))
        for metric, value in (("nmi", 1.0), ("accuracy", 3.0))
    ]
    fourteen, fifteen = cells(made(14, entries)), cells(made(15, entries))
    columns = load(14).columns
    measured = {column: fourteen["GAE", column].measured for column in columns}
    assert [column for column, value in measured.items() if value is not None] == [columns[2]]
    assert measured[columns[2]].mean == 1.0  # type: ignore[union-attr]
    assert fifteen["GAE", "Cora"].measured.mean == 3.0  # type: ignore[union-attr]
    assert made(1, entries).rows[0].cells[3].measured is None, "it is another protocol"


def test_times_are_seconds_with_their_ratio(new_entry: NewEntry) -> None:
    options: dict[str, Any] = {
        "protocol": "run-time",
        "metric": "seconds per epoch",
        "splits": "",
        "more": {"beside": ["a", "b"], "device": "cpu", "threads": 2},
    }
    entries = [
        new_entry(variant_of("run-time", "without SFA"), values=(0.5, 0.5), **options),
        new_entry(variant_of("run-time", "with SFA"), values=(0.52, 0.54), **options),
    ]
    found = cells(made(2, entries))
    without, with_ = (found["Cora", column].measured for column in load(2).columns)
    assert without is not None
    assert with_ is not None
    assert without.text == "0.5 s"
    assert with_.text is not None
    assert with_.text.startswith("0.53 s, × 1.060 [")
    assert with_.protocol == "run-time, cpu, 2 threads"
    assert with_.difference is None


@pytest.mark.slow
def test_validation_scores_are_shown_where_they_were_kept(new_entry: NewEntry) -> None:
    places = [("GRACE", "Validation"), ("GRACE", "Test")]
    validation, test = (cells(made(4, []))[place] for place in places)
    assert validation.command == test.command is not None
    grace = variant_of("methods", "grace", "ogbn-arxiv")
    old = new_entry(grace, dataset="ogbn-arxiv", protocol="public", values=(70.0,))
    validation, test = (cells(made(4, [old]))[place] for place in places)
    assert (validation.measured, validation.command) == (None, None)
    assert "older versions" in (validation.missing or "")
    assert test.measured is not None
    kept: Any = {"accuracy": (72.5,)}
    new = replace(old, scores=(replace(old.scores[0], validation=kept),))
    validation, test = (cells(made(4, [new]))[place] for place in places)
    assert validation.measured is not None
    assert test.measured is not None
    assert (validation.measured.mean, test.measured.mean) == (72.5, 70.0)


def test_a_failure_is_shown_with_the_command_that_tries_again(new_entry: NewEntry) -> None:
    table = made(8, [new_entry(variant_of("iterations", "k = 4"), failure="The loss is nan.")])
    cell = cells(table)["k = 4", "Cora"]
    assert (cell.measured, cell.failure) == (None, "The loss is nan.")
    assert cell.command == "sfa study iterations --datasets cora --retry-failed"


def test_data_sets_and_methods_that_are_asked_for() -> None:
    table = made(1, [], datasets=("coauthor-cs", "cora"), methods=("dgi",))
    assert table.columns == ("coauthor-cs", "Cora")
    assert [row.label for row in table.rows] == ["DGI", "DGI + SFA"]
    assert table.command == "sfa table 1 --datasets coauthor-cs cora --method dgi"
    assert table.commands == ("sfa study methods --datasets coauthor-cs cora --method dgi",)
    table = made(8, [], datasets=("cora",), methods=("g-bt",), changes={"method.hidden": 8})
    assert table.commands == ("sfa study iterations --datasets cora --method g-bt --set method.hidden=8",)
    assert {"Of G-BT, in place of GRACE.", "In every recipe: method.hidden = 8."} <= set(table.notes)


def test_our_data_sets_are_shown_where_half_of_them_is_measured(new_entry: NewEntry) -> None:
    photo = [new_entry(variant_of("iterations", f"k = {k}", "photo"), dataset="photo") for k in (0, 1, 2)]
    assert "Am-Photo" not in made(8, photo[:2]).columns
    assert made(8, photo).columns[3:] == ("Am-Photo",)
    assert made(8, [], datasets=("photo",)).columns == ("Am-Photo",)
    noisy = [
        new_entry(variant_of("noisy-features", f"ε = {noise}", "photo"), dataset="photo") for noise in (0.0001, 0.001)
    ]
    assert [row.label for row in made(9, noisy).rows][4:] == ["Am-Photo w/o SFA"]


def test_optional_lines_are_shown_where_something_is_measured(new_entry: NewEntry) -> None:
    assert "DGI" not in [row.label for row in made(14, []).rows]
    dgi = new_entry(variant_of("clustering", "dgi"), protocol="clustering", metric="nmi")
    row = made(14, [dgi]).rows[-1]
    assert (row.label, row.ours, row.rule_above) == ("DGI", True, True)
    assert "DGI + SFA" in [row.label for row in made(14, [], methods=("dgi",)).rows]


def test_other_settings_are_another_table(new_entry: NewEntry) -> None:
    """A run with other widths fills no cell, unless it is asked for."""
    changes = {"method.hidden": 8}
    entry = new_entry(variant_of("iterations", "k = 1", changes=changes))
    assert cells(made(8, [entry]))["k = 1", "Cora"].measured is None
    assert cells(made(8, [entry], changes=changes))["k = 1", "Cora"].measured is not None


def test_epochs_that_are_asked_for(new_entry: NewEntry) -> None:
    short = variant_of("iterations", "k = 1", changes={"training.epochs": 10})
    entries = [new_entry(variant_of("iterations", "k = 1")), new_entry(short, values=(1.0, 3.0))]
    assert cells(made(8, entries))["k = 1", "Cora"].measured.mean == 81.0  # type: ignore[union-attr]
    cell = cells(made(8, entries, changes={"training.epochs": 10}))["k = 1", "Cora"]
    assert cell.measured is not None
    assert (cell.measured.mean, cell.measured.budget) == (2.0, "10 of 200 epochs")
    assert cell.command == "sfa study iterations --datasets cora --epochs 10 --seeds 0"
    assert cells(made(8, entries, changes={"training.epochs": 11}))["k = 1", "Cora"].measured is None


@pytest.mark.parametrize(
    ("number", "options", "says"),
    [
        (1, {"datasets": ("nci1",)}, "Table 1 is of one graph, and nci1 is a set of graphs"),
        (1, {"datasets": ("coar",)}, "did you mean 'cora'"),
        (5, {"methods": ("grace",)}, "grace is no method for table 5"),
        (8, {"methods": ("grace", "g-bt")}, "Table 8 is of one method"),
        (8, {"changes": {"method.hiden": 8}}, "did you mean 'encoder.hidden'"),
        (11, {"methods": ("grace",)}, "leave out --method"),
        (13, {"datasets": ("cora",)}, "leave out --datasets"),
        (18, {}, "no table 18"),
    ],
)
def test_refused(number: int, options: dict[str, Any], says: str) -> None:
    with pytest.raises(InputError, match=says):
        made(number, [], **options)
