"""What studies make of a set of graphs."""

from __future__ import annotations

from pathlib import Path

import pytest

from sfa.data import load
from sfa.errors import InputError
from sfa.methods import available_methods
from sfa.registry import resolve
from sfa.run import Recipe
from sfa.studies import Dataset, make_plan, protocols_of
from sfa.studies.definitions import without_graph_augmentation
from sfa.studies.variants import Variant


@pytest.fixture(scope="session")
def molecules_set(molecules_file: Path) -> Dataset:
    return Dataset.of(lambda: load(molecules_file), {"data": str(molecules_file)})


def test_methods_and_yardsticks_are_those_of_graphs(molecules_set: Dataset) -> None:
    assert molecules_set.level == "graph"
    plan = make_plan(resolve("study", "methods"), [molecules_set], [0, 1])
    assert plan.protocols == ("tu-svm-10fold",)
    of_graphs = [name for name, method in available_methods().items() if method.level == "graph"]
    labels = list(dict.fromkeys(cell.variant.label for cell in plan.cells))
    yardsticks = ["label histogram", "degree histogram", "WL subtree counts", "untrained encoder"]
    assert labels == yardsticks + [label for name in of_graphs for label in (name, f"{name} + SFA")]
    seeds = {label: [c.variant.seed for c in plan.cells if c.variant.label == label] for label in labels}
    assert seeds["WL subtree counts"] == [0], "of the data alone: once, whatever the seeds"
    assert seeds["untrained encoder"] == seeds["graphcl + SFA"] == [0, 1]


def test_studies_of_one_method_start_from_graphcl(molecules_set: Dataset) -> None:
    plan = make_plan(resolve("study", "iterations"), [molecules_set], [0])
    assert {cell.variant.recipe.method["name"] for cell in plan.cells} == {"graphcl"}


def test_protocols_depend_on_the_level_unless_asked_for() -> None:
    study = resolve("study", "methods")
    assert protocols_of(study, "node") == ("honest-10-10-80",)
    assert protocols_of(study, "graph") == ("tu-svm-10fold",)
    assert protocols_of(study, "graph", ["tu-linear-10fold"]) == ("tu-linear-10fold",)
    assert protocols_of(resolve("study", "clustering"), "graph") == ("clustering",)


@pytest.mark.parametrize("method", ["graphcl", "graph-bt", "graph-bgrl"])
def test_without_its_augmentation_a_view_is_the_graph_itself(method: str) -> None:
    bare = without_graph_augmentation(Recipe.parse({"method": method}))
    assert bare.augmentation["kinds"] == "identity"


def test_a_kind_that_is_none_is_named() -> None:
    with pytest.raises(InputError, match="Unknown kind of variant 'raw feature': did you mean 'raw features'"):
        Variant("raw", Recipe.parse({}), kind="raw feature")
