"""Tables that are counted or read."""

from __future__ import annotations

import numpy as np
import pytest

from sfa.data import build_graph, load
from sfa.methods import available_methods
from sfa.paper.tables.facts import augmentation, count, facts_table, loss, shipped_counts
from sfa.paper.tables.make import make_table
from sfa.paper.tables.selection import Selection


def test_shipped_counts_are_those_of_the_data() -> None:
    assert count(load("cora")) == shipped_counts()["cora"]
    assert shipped_counts()["cora"] == {"edges": 5278, "nodes": 2708, "attributes": 1433, "classes": 7}


def test_an_edge_counts_once() -> None:
    edges = np.array([[0, 1, 1, 2, 3, 3], [1, 0, 2, 1, 3, 0]])
    y = np.array([0, 1, -1, 1])
    graph = build_graph(np.ones((4, 5), dtype=np.float32), edges, y=y, name="small")
    assert count(graph) == {"edges": 3, "nodes": 4, "attributes": 5, "classes": 2}


def test_statistics() -> None:
    table = make_table(11)
    cora = next(row for row in table.rows if row.label == "Cora")
    assert [cell.measured and cell.measured.text for cell in cora.cells] == [None, "5,278", "2,708", "1,433", "7"]
    assert all("swapped" in (cell.note or "") for cell in cora.cells[1:])
    assert all(cell.measured is None or cell.measured.seeds == () for row in table.rows for cell in row.cells)
    assert "PubMed" in [row.label for row in table.rows if row.ours]
    assert table.commands == ("sfa table 11 --datasets wikics --run",)
    less = facts_table(11, Selection(datasets=("wikics", "cora"), more_words=("--data-root", "d")))
    assert less.commands == ("sfa table 11 --datasets wikics --run --data-root d",)
    assert [row.label for row in less.rows] == ["WikiCS", "Cora"]


def test_hyper_parameters_agree_with_the_paper() -> None:
    """All but for the activation that it misspells."""
    table = make_table(12)
    different = [
        (cell.published, cell.measured.text)
        for row in table.rows
        for cell in row.cells
        if cell.measured and cell.published not in (None, cell.measured.text)
    ]
    assert different == [("ReELU", "RReLU")]
    assert [row.label for row in table.rows if row.ours] == ["PubMed"]
    (row,) = make_table(12, selection=Selection(datasets=("coauthor-cs",))).rows
    assert {cell.missing for cell in row.cells} == {"there is no recipe paper/coauthor-cs"}


def test_settings_agree_with_the_paper() -> None:
    table = make_table(13)
    different = [
        (row.label, cell.published, cell.measured.text)
        for row in table.rows
        for cell in row.cells
        if cell.measured and cell.published not in (None, cell.measured.text)
    ]
    assert different == [
        ("MVGRL", "PPR", "PPR+NS"),
        ("SFA_InfoNCE", "ER+MF", "ER+FM"),
        ("SFA_BT", "ER+MF", "ER+FM"),
    ]
    assert [row.label for row in make_table(13, selection=Selection(methods=("grace", "merit"))).rows] == [
        "GRACE",
        "SFA_InfoNCE",
        "MERIT",
    ]


@pytest.mark.parametrize("name", ["dgi", "mvgrl", "grace", "gca", "bgrl", "g-bt", "sugrl", "merit", "costa", "cca-ssg"])
def test_every_contrastive_method_has_a_loss(name: str) -> None:
    assert available_methods()[name].task == "node"
    assert loss(name) != "/"
    assert (augmentation(name) == "/") == (name == "sugrl")
