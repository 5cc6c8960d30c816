"""Which cells a study has, from which recipes, under which keys: of nodes, of graphs, of methods of one's own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sfa.data import load
from sfa.errors import InputError
from sfa.methods import available_methods
from sfa.paper.plans import Dataset, Plan, Variant, make_plan, protocols_of
from sfa.paper.results import Ledger
from sfa.paper.runner import Runner
from sfa.paper.studies import without_graph_augmentation
from sfa.registry import resolve
from sfa.run import Recipe, load_recipe

NewPlan = Callable[..., Plan]


def test_by_data_set_then_seed_then_variant(dataset: Dataset) -> None:
    other = replace(dataset, name="other", fingerprint="f")
    plan = make_plan(resolve("study", "kappa"), [dataset, other], [2, 1, 2])
    described = [(cell.dataset.name, cell.variant.seed, cell.variant.label) for cell in plan.cells]
    labels = ["sfa", *(f"κ = {kappa}" for kappa in (2, 5, 10, 15, 20, 30, 50, 100, 250))]
    assert described == [(name, seed, label) for name in ("planted", "other") for seed in (2, 1) for label in labels]
    assert len({cell.key for cell in plan.cells}) == 40
    assert plan.protocols == ("honest-10-10-80",)


def test_what_depends_on_no_seed_is_run_once(plan: NewPlan) -> None:
    cells = plan("methods", methods=["grace"], seeds=(3, 4, 5)).cells
    counts = {cell.variant.label: 0 for cell in cells}
    for cell in cells:
        counts[cell.variant.label] += 1
    assert counts == {
        "raw features": 1,
        "propagated features": 1,
        "untrained encoder": 3,
        "supervised MLP": 3,
        "supervised GCN": 3,
        "grace": 3,
        "grace + SFA": 3,
    }


def test_a_method_starts_from_its_own_recipe_for_the_data(dataset: Dataset) -> None:
    """Where one is shipped; else from its defaults."""
    cora = replace(dataset, name="cora")
    plan = make_plan(resolve("study", "iterations"), [cora], [0], recipe="paper", changes={"training.epochs": 9})
    recipe = plan.cells[1].variant.recipe
    shipped = load_recipe("paper/cora").updated({"training.epochs": 9, "training.diagnose_every": 0})
    assert recipe == shipped
    assert (
        make_plan(resolve("study", "iterations"), [cora], [0], recipe="paper", methods=["g-bt"])
        .cells[0]
        .variant.recipe.method["name"]
        == "g-bt"
    )


def test_all_published_methods_unless_some_are_named(dataset: Dataset) -> None:
    trained = [cell for cell in make_plan(resolve("study", "clustering"), [dataset], [0]).cells if cell.epochs]
    of_nodes = [name for name, method in available_methods().items() if method.task == "node" and method.published]
    assert [cell.variant.label for cell in trained] == [label for name in of_nodes for label in (name, f"{name} + SFA")]


def test_timed_cells_are_one_job_and_belong_together(dataset: Dataset) -> None:
    (job,) = make_plan(resolve("study", "run-time"), [dataset], [0]).jobs
    assert [cell.variant.label for cell in job] == ["without SFA", "with SFA"]
    assert {cell.epochs for cell in job} == {50}
    (other,) = make_plan(
        resolve("study", "run-time"), [dataset], [0], changes={"spectral.name": "sfa", "spectral.iterations": 2}
    ).jobs
    assert job[0].variant == other[0].variant
    assert job[0].key != other[0].key, "measured beside something else it is another measurement"


@pytest.mark.parametrize(
    ("study", "options", "says"),
    [
        ("ablation", {"methods": ["grace", "g-bt"]}, "is of one method"),
        ("ablation", {"methods": ["grcae"]}, "did you mean 'grace'"),
        ("ablation", {"recipe": "papre"}, "Unknown recipe"),
        ("ablation", {"changes": {"training.epoch": 1}}, "did you mean 'epochs'"),
        ("methods", {"recipe": "paper"}, "each method's own recipe"),
        ("ablation", {"protocols": ["clusters"]}, "did you mean 'clustering'"),
        ("ablation", {"protocols": ["link-prediction"]}, "trains anew on every split"),
        ("run-time", {"protocols": ["clustering"]}, "measures time"),
        ("ablation", {"seeds": []}, "at least one data set and one seed"),
    ],
)
def test_refused(dataset: Dataset, study: str, options: dict[str, Any], says: str) -> None:
    with pytest.raises(InputError, match=says):
        make_plan(resolve("study", study), [dataset], options.pop("seeds", [0]), **options)


def test_one_of_many_methods_may_have_another_recipe(dataset: Dataset) -> None:
    cora = replace(dataset, name="cora")
    plan = make_plan(resolve("study", "methods"), [cora], [0], methods=["grace"], recipe="paper")
    trained = {cell.variant.label: cell.variant.recipe for cell in plan.cells if cell.variant.kind == "trained"}
    assert {label: recipe.training.epochs for label, recipe in trained.items()} == {"grace": 1000, "grace + SFA": 1000}
    with pytest.raises(InputError, match="or name one --method"):
        make_plan(resolve("study", "methods"), [cora], [0], methods=["grace", "g-bt"], recipe="paper")


def test_two_data_sets_of_one_name(dataset: Dataset) -> None:
    with pytest.raises(InputError, match="the same name: planted, planted"):
        make_plan(resolve("study", "kappa"), [dataset, replace(dataset, fingerprint="f")], [0])


def test_yardsticks_that_choose_on_validation_need_one(dataset: Dataset) -> None:
    for protocols, there in ((["honest-10-10-80"], True), (["grace-10-90"], False), (["clustering"], False)):
        plan = make_plan(resolve("study", "methods"), [dataset], [0], methods=["grace"], protocols=protocols)
        assert ("supervised GCN" in {cell.variant.label for cell in plan.cells}) == there


def test_a_data_set_that_does_not_allow_a_protocol_is_refused_at_once(planted_file: Path) -> None:
    assert protocols_of(resolve("study", "methods"), "node", ["public"]) == ("public",)
    with pytest.raises(InputError):
        Dataset.of(lambda: load(planted_file), {}, lambda task: ["public"])


@pytest.fixture(scope="session")
def molecules_set(molecules_file: Path) -> Dataset:
    return Dataset.of(lambda: load(molecules_file), {"data": str(molecules_file)})


def test_methods_and_yardsticks_are_those_of_graphs(molecules_set: Dataset) -> None:
    assert molecules_set.task == "graph"
    plan = make_plan(resolve("study", "methods"), [molecules_set], [0, 1])
    assert plan.protocols == ("tu-svm-10fold",)
    of_graphs = [name for name, method in available_methods().items() if method.task == "graph"]
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


NAME = "tests.recipes.my_parts:Mine"
SMALL = {"encoder.hidden": 4, "method.projection": 4, "training.epochs": 2}


def test_a_method_by_its_path(dataset: Dataset, tmp_path: Path) -> None:
    plan = make_plan(resolve("study", "ablation"), [dataset], [0], methods=[NAME], changes=SMALL)
    assert {cell.variant.recipe.method["name"] for cell in plan.cells} == {NAME}
    wanted = [cell for cell in plan.cells if cell.variant.label in ("A_G", "A_G + A_F + A_F*")]
    with Ledger(tmp_path / "ledger.sqlite", create=True) as ledger:
        runner = Runner(ledger, device="cpu", strict=True)
        runner.run(Plan(plan.study, plan.protocols, tuple((cell,) for cell in wanted)))
        entries = ledger.select()
    assert runner.failures == {}
    assert {(entry.method, entry.spectral) for entry in entries} == {(NAME, "none"), (NAME, "noise + sfa")}
    assert all(entry.scores and entry.epochs == 2 for entry in entries)


def test_many_methods_with_one_of_ones_own(dataset: Dataset) -> None:
    plan = make_plan(resolve("study", "methods"), [dataset], [0], methods=["grace", NAME])
    labels = [cell.variant.label for cell in plan.cells if cell.variant.kind == "trained"]
    assert labels == ["grace", "grace + SFA", NAME, f"{NAME} + SFA"]
    with pytest.raises(InputError, match="did you mean 'Mine'"):
        make_plan(resolve("study", "methods"), [dataset], [0], methods=["tests.recipes.my_parts:Mien"])


def test_on_the_command_line(planted_file: Path, run_sfa: Callable[..., Any], tmp_path: Path) -> None:
    words = [f"{path}={value}" for path, value in SMALL.items()]
    result = run_sfa(
        "study", "iterations", "--datasets", planted_file, "--method", NAME, "--ledger", tmp_path / "ledger.sqlite",
        "--set", *words, "--quiet",
    )  # fmt: skip
    assert result.code == 0, result.err
    with Ledger(tmp_path / "ledger.sqlite") as ledger:
        entries = ledger.select()
    assert {entry.method for entry in entries} == {NAME}
    assert len(entries) == 5
