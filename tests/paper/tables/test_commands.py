"""The commands below a table: few, and together they measure all that is missing and nothing that is not asked for."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import pytest

from sfa.paper.tables.definition import NUMBERS, Point, definition_of
from sfa.paper.tables.make import TableMaker
from sfa.paper.tables.selection import Selection
from tests.paper.tables.conftest import NewEntry, variant_of

DEFINITIONS = {number: found for number in NUMBERS if (found := definition_of(number)) is not None}


def pairs(points: Iterable[Point]) -> set[tuple[str | None, str, str]]:
    return {(point.line.recipe, point.dataset, point.line.method or "grace") for point in points}


@pytest.mark.parametrize("kept", [1, 2, 3, 5])
def test_they_cover_exactly_what_is_missing(kept: int) -> None:
    definition = DEFINITIONS[1]
    grid = definition.grid(definition.datasets, definition.lines)
    every = [point for points in grid.values() for point in points.values()]
    missing = [point for place, point in enumerate(every) if place % kept == 0]
    found = TableMaker(definition, Selection(), (), ()).calls(missing)
    asked = [
        (recipe, dataset, method)
        for (recipe, methods), points in found.items()
        for dataset in dict.fromkeys(point.dataset for point in points)
        for method in methods
    ]
    assert len(asked) == len(set(asked)), "nothing twice"
    assert set(asked) == pairs(missing)
    assert [point for points in found.values() for point in points if point not in missing] == []
    assert sum(map(len, found.values())) == len(missing)
    assert len(found) <= 1 + len(definition.datasets)


def test_one_command_for_a_table_of_one_method() -> None:
    table = TableMaker(DEFINITIONS[10], Selection(), (), ()).table()
    assert table.commands == ("sfa study spectral-maps --datasets computers cora citeseer",)


def test_data_sets_are_together_where_the_same_is_missing(new_entry: NewEntry) -> None:
    selection = Selection(methods=("gae", "vgae"))
    table = TableMaker(DEFINITIONS[15], selection, (), ()).table()
    assert table.commands == ("sfa study clustering --datasets computers cora citeseer --method gae vgae",)
    both = [new_entry(variant_of("clustering", f"gae{suffix}"), protocol="clustering") for suffix in ("", " + SFA")]
    table = TableMaker(DEFINITIONS[15], selection, both, ()).table()
    assert table.commands == (
        "sfa study clustering --datasets computers citeseer --method gae vgae",
        "sfa study clustering --datasets cora --method vgae",
    )


def test_what_a_command_says() -> None:
    changes = {"training.epochs": 5, "method.tau": 0.5, "sampler.name": "clusters", "training.cosine": True}
    selection = Selection(datasets=("cora",), methods=("grace",), seeds=(0, 2), changes=changes)
    selection = replace(selection, more_words=("--ledger", "my results.json"))
    table = TableMaker(DEFINITIONS[1], selection, (), ()).table()
    ending = (
        " --epochs 5 --set method.tau=0.5 sampler.name=clusters training.cosine=true --seeds 0 2 "
        "--ledger 'my results.json'"
    )
    assert set(table.commands) == {
        f"sfa study methods --datasets cora --method grace{ending}",
        f"sfa study methods --datasets cora --method grace --recipe paper{ending}",
    }
    arxiv = TableMaker(DEFINITIONS[4], Selection(methods=("dgi",)), (), ()).table()
    assert arxiv.commands == ("sfa study methods --datasets ogbn-arxiv --method dgi --protocol public",)


def test_every_cell_has_its_own_command() -> None:
    table = TableMaker(DEFINITIONS[6], Selection(), (), ()).table()
    assert {
        row.label: row.cells[1].command for row in table.rows if row.label in ("JOAO", "JOAO + SFA")
    } == dict.fromkeys(("JOAO", "JOAO + SFA"), "sfa study methods --datasets proteins --method joao")
    histogram = next(row for row in table.rows if row.label == "Histogram of degrees")
    assert histogram.cells[0].command == "sfa study methods --datasets nci1 --method graphcl"


def test_nothing_is_missing_of_seeds_that_are_there(new_entry: NewEntry) -> None:
    entries = [new_entry(variant_of("kappa", f"κ = {k}"), seed=0) for k in (2, 5, 10, 15, 20, 30, 50, 100, 250)]
    entries.append(new_entry(variant_of("kappa", "sfa")))
    assert TableMaker(DEFINITIONS[17], Selection(), entries, ()).table().commands == ()
    two = TableMaker(DEFINITIONS[17], Selection(seeds=(0, 1)), entries, ()).table()
    assert two.commands == ("sfa study kappa --datasets cora --seeds 0 1",)
    assert two.rows[0].cells[0].measured is not None, "what is there is shown"
