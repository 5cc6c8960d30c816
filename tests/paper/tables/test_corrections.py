"""Methods that were corrected: what was measured before is shown as such until it is measured again."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from sfa.paper.plans import Variant
from sfa.paper.results_files import Entry
from sfa.paper.tables.definition import definition_of
from sfa.paper.tables.formats import render
from sfa.paper.tables.make import TableMaker, make_table, shipped_entries
from sfa.paper.tables.model import Cell
from sfa.paper.tables.selection import Selection, essence
from sfa.run.legacy import CORRECTED, uncorrected
from tests.paper.tables.conftest import NewEntry, variant_of

TITLES = {"g-bt": "G-BT", "gca": "GCA", "dgi": "DGI", "mvgrl": "MVGRL"}


def before(label: str, **options: Any) -> Variant:
    """A variant of the main table as it was before its method was corrected."""
    variant = variant_of("methods", label, **options)
    old = replace(variant, recipe=uncorrected(variant.recipe))
    assert essence(old.decisive) != essence(variant.decisive)
    return old


def cell_of(entries: list[Entry], row: str, column: str = "Cora", **options: Any) -> Cell:
    table = make_table(1, entries, shipped=(), selection=Selection(datasets=("cora",), **options))
    found = next(line for line in table.rows if line.label == row)
    return found.cells[table.columns.index(column)]


def missing(entries: list[Entry], method: str) -> set[str]:
    """Variants that ``--run`` would measure."""
    selection = Selection(datasets=("cora",), methods=(method,))
    definition = definition_of(1)
    assert definition is not None
    return {point.line.variant for point in TableMaker(definition, selection, entries, ()).missing()}


def test_each_has_a_title() -> None:
    assert TITLES.keys() == CORRECTED.keys()


@pytest.mark.slow
@pytest.mark.parametrize("method", TITLES)
def test_what_was_measured_before_is_shown_and_is_missing(method: str, new_entry: NewEntry) -> None:
    old = [new_entry(before(method), values=(70.0, 72.0)), new_entry(before(f"{method} + SFA"), values=(73.0, 75.0))]
    measured = cell_of(old, TITLES[method]).measured
    assert measured is not None
    assert (measured.mean, measured.budget) == (71.0, "before its correction")
    assert missing(old, method) >= {method, f"{method} + SFA"}
    row = "SFA_BT" if method == "g-bt" else f"{TITLES[method]} + SFA"
    with_sfa = cell_of(old, row, methods=() if method == "g-bt" else (method,)).measured
    assert with_sfa is not None
    assert with_sfa.difference is not None, "it is compared with its twin of then"
    assert (with_sfa.mean, with_sfa.difference.mean) == (74.0, 3.0)


@pytest.mark.parametrize("method", TITLES)
def test_a_run_of_the_corrected_method_takes_its_place(method: str, new_entry: NewEntry) -> None:
    old = [new_entry(before(method)), new_entry(before(f"{method} + SFA"))]
    new = new_entry(variant_of("methods", method), values=(60.0, 62.0))
    measured = cell_of([*old, new], TITLES[method]).measured
    assert measured is not None
    assert (measured.mean, measured.budget, measured.seeds) == (61.0, None, (0,))
    assert missing([*old, new], method) & {method, f"{method} + SFA"} == {f"{method} + SFA"}
    row = "SFA_BT" if method == "g-bt" else f"{TITLES[method]} + SFA"
    with_sfa = cell_of([*old, new], row, methods=() if method == "g-bt" else (method,)).measured
    assert with_sfa is not None
    assert with_sfa.budget == "before its correction"
    assert with_sfa.difference is not None
    assert with_sfa.difference.mean == 0.0, "old with old, never with the corrected one"


def test_a_short_run_from_before_says_both(new_entry: NewEntry) -> None:
    short = before("g-bt", changes={"training.epochs": 10})
    measured = cell_of([new_entry(short)], "G-BT").measured
    assert measured is not None
    assert measured.budget == "before its correction, 10 of 200 epochs"
    page = render(
        make_table(1, [new_entry(short)], shipped=(), selection=Selection(datasets=("cora",), methods=("g-bt",))), "md"
    )
    assert "before its correction, 10 of 200 epochs" in page


def test_methods_that_were_not_corrected_are_shown_as_they_are(new_entry: NewEntry) -> None:
    measured = cell_of([new_entry(variant_of("methods", "grace"))], "GRACE").measured
    assert measured is not None
    assert measured.budget is None
    assert missing([new_entry(variant_of("methods", "grace"))], "grace") & {"grace", "grace + SFA"} == {"grace + SFA"}


def test_shipped_runs_of_corrected_methods_are_from_before() -> None:
    table = make_table(1, (), selection=Selection(datasets=("cora",)))
    found = {row.label: row.cells[0].measured for row in table.rows}
    for title in TITLES.values():
        measured = found[title]
        assert measured is not None
        assert (measured.budget or "").startswith("before its correction")
    for title in ("GRACE", "BGRL", "SUGRL", "MERIT", "COSTA"):
        measured = found[title]
        assert measured is not None
        assert "correction" not in (measured.budget or "")
    assert shipped_entries()


def test_both_maps_at_once_fill_their_line_of_the_ablation(new_entry: NewEntry) -> None:
    both, graph = variant_of("ablation", "A_G + A_F + A_F*"), variant_of("ablation", "A_G")
    entries = [new_entry(both, values=(85.0, 87.0)), new_entry(graph, values=(80.0, 82.0))]
    table = make_table(7, entries, shipped=())
    cells = {row.label: row.cells[table.columns.index("Cora")] for row in table.rows}
    measured = cells["A_G + A_F + A_F*"].measured
    assert measured is not None
    assert measured.difference is not None
    assert (measured.mean, measured.difference.mean, measured.difference_from) == (86.0, 5.0, "A_G")
    assert cells["A_G + A_F*"].measured is None, "it is another"
    assert cells["A_G + A_F + A_F*"].published is not None
    assert entries[0].spectral == "noise + sfa"
    empty = make_table(7, [], shipped=())
    last = next(row for row in empty.rows if row.label == "A_G + A_F + A_F*")
    assert all(cell.missing is None and cell.command is not None for cell in last.cells)
