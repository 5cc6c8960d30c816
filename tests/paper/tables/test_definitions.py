"""Every value of the paper has its counterpart in a study, or a reason why not."""

from __future__ import annotations

import pytest

from sfa.paper.plans import RUN_TIME
from sfa.paper.tables.definition import NUMBERS, Definition, Header, Point, column_keys, definition_of, load
from sfa.paper.tables.make import TableMaker, make_table
from sfa.paper.tables.selection import Selection
from sfa.registry import registered
from tests.paper.tables.conftest import variant_of

WITHOUT_STUDY = {11, 12, 13}
DEFINITIONS = {number: found for number in NUMBERS if (found := definition_of(number)) is not None}


def grid_of(definition: Definition) -> dict[Header, dict[Header, Point]]:
    """Of the paper's data sets alone."""
    return definition.grid(definition.datasets, definition.lines)


def test_every_table_is_there() -> None:
    assert set(DEFINITIONS) | WITHOUT_STUDY == set(NUMBERS)


@pytest.mark.parametrize("number", DEFINITIONS)
def test_rows_and_columns_are_the_papers_in_its_order(number: int) -> None:
    definition, paper = DEFINITIONS[number], load(number)
    grid = grid_of(definition)
    grid_rows, grid_columns = list(grid), list(next(iter(grid.values())))
    rows, columns = [row.key for row in grid_rows], [column.key for column in grid_columns]
    keys = column_keys(number)
    assert rows[: len(paper.rows)] == [row.key for row in paper.rows]
    assert columns[: len(keys)] == keys
    assert all(band.label is None for band in grid_rows[: len(paper.rows)]), "it is the paper's"
    assert all(band.label for band in grid_rows[len(paper.rows) :]), "ours have labels of their own"
    assert all(column.label for column in grid_columns[len(keys) :])
    assert len(set(rows)) == len(rows)


@pytest.mark.parametrize("number", DEFINITIONS)
def test_every_line_is_a_variant_of_its_study(number: int) -> None:
    definition = DEFINITIONS[number]
    assert definition.study in registered("study")
    assert definition.protocol == RUN_TIME or definition.protocol in registered("protocol")
    maker = TableMaker(definition, shipped=())
    refused = {}
    for band, points in grid_of(definition).items():
        for point in points.values():
            reason = maker.refusal(point)
            if reason is None:
                variant, baseline = maker.measurements.variants(point)
                assert variant.label == point.line.variant
                assert (baseline is None) == (variant.baseline is None)
            else:
                refused[band.key, point.metric] = reason
    assert refused.keys() == ({("paper", "accuracy")} if number == 1 else set())
    assert all(refused.values())


def test_numbers_of_the_paper_are_those_of_the_studies() -> None:
    """κ, k and ε are in the paper's keys, and must be in the recipes."""
    for key, line in DEFINITIONS[17].lines.items():
        if key.isdecimal():
            spectral = variant_of("kappa", line.variant).recipe.spectral
            assert (spectral["kappa"], spectral["noise"]) == (int(key), 0.0)
    for key, line in DEFINITIONS[8].lines.items():
        assert variant_of("iterations", line.variant).recipe.spectral["iterations"] == int(key.removeprefix("k"))
    for key, line in DEFINITIONS[9].lines.items():
        recipe = variant_of("noisy-features", line.variant).recipe
        assert recipe.feature_noise == float(key.removesuffix("-sfa"))
        assert (recipe.spectral["name"] == "sfa") == key.endswith("-sfa")
    sixteen = {key: variant_of("spectral-maps", line.variant) for key, line in DEFINITIONS[16].lines.items()}
    assert sixteen["grassmann-no-noise"].recipe.spectral["kappa"] == 15
    assert sixteen["grassmann-no-noise"].recipe.spectral["noise"] == 0
    assert sixteen["pca"].recipe.spectral["kappa"] == 20


def test_ablation_ticks() -> None:
    lines = DEFINITIONS[7].lines
    for key, edges, spectral in (
        ("none", False, "none"),
        ("graph", True, "none"),
        ("spectral", False, "sfa"),
        ("graph-spectral", True, "sfa"),
        ("graph-feature", True, "noise"),
        ("feature", False, "noise"),
        ("graph-feature-spectral", True, "noise + sfa"),
    ):
        recipe = variant_of("ablation", lines[key].variant).recipe
        assert (sum(recipe.augmentation["edge_drop"]) > 0, recipe.spectral_name) == (edges, spectral)


def test_the_papers_hyper_parameters_have_a_line() -> None:
    definition = DEFINITIONS[1]
    points = {row.key: list(points.values()) for row, points in grid_of(definition).items()}["paper"]
    maker = TableMaker(definition, shipped=())
    assert [point.dataset for point in points if maker.refusal(point)] == ["pubmed"], "it is not in the paper's table"
    found = {point.dataset: maker.measurements.variants(point)[0].recipe for point in points}
    for row in load(12).rows:
        recipe = found[row.key]
        values = {key: cell.published or "" for key, cell in zip(column_keys(12), row.cells, strict=True)}
        assert recipe.training.epochs == int(values["epochs"].replace(",", ""))
        assert recipe.spectral["iterations"] == int(values["k"])
    (elsewhere,) = definition.grid(["coauthor-cs"], {"paper": definition.lines["paper"]}).values()
    assert maker.refusal(next(iter(elsewhere.values()))) == "the paper gives none for this data set"


def test_every_published_method_with_and_without_sfa_is_in_the_main_table() -> None:
    from sfa.methods import available_methods

    variants = [line.variant for line in DEFINITIONS[1].lines.values() if line.recipe is None]
    of_nodes = [name for name, method in available_methods().items() if method.task == "node" and method.published]
    assert {f"{name}{suffix}" for name in of_nodes for suffix in ("", " + SFA")} <= set(variants)
    assert len(set(variants)) == len(variants)


def test_our_own_methods_are_in_the_main_table_where_they_were_measured() -> None:
    lines = DEFINITIONS[1].lines
    assert lines["neighbor-contrast"].optional
    assert lines["neighbor-contrast + SFA"].optional
    assert lines["propagate"].optional
    assert "propagate + SFA" not in lines, "it has no slot"
    selection = Selection(datasets=("cora",), methods=("neighbor-contrast",))
    assert [row.label for row in make_table(1, selection=selection).rows] == [
        "NeighborContrast",
        "NeighborContrast + SFA",
    ]
    assert "NeighborContrast" not in {row.label for row in make_table(1, shipped=[]).rows}
