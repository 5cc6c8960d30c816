"""Diagnostics during training: at the right epochs, of the step's own maps, and without a trace in the result."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import pytest
import torch
from torch_geometric.data import Data

from sfa.errors import TrainingError
from sfa.evaluate import diagnose
from sfa.methods.base import FeatureMaps
from sfa.run import Recipe
from sfa.seeding import step_generator
from sfa.train import RunFolder, load_tensors, train
from tests.callbacks import on_epoch

SmallRecipe = Callable[..., Recipe]
NewFolder = Callable[..., RunFolder]

METHODS = [
    ("grace", {}),
    ("grace", {"spectral": "none"}),
    ("grace", {"method__activation": "rrelu", "method__batch_norm": True}),
    ("g-bt", {}),
]


def fit(recipe: Recipe, graph: Data, **options: Any) -> tuple[dict[str, torch.Tensor], list[dict[str, Any]]]:
    method, history = recipe.build(graph.num_features), []
    train(method, graph, **recipe.training.arguments, callbacks=[on_epoch(history.append)], **options)
    return method.state_dict(), history


def diagnosed(history: list[dict[str, Any]]) -> list[int]:
    return [row["epoch"] for row in history if "diagnostics" in row]


@pytest.mark.parametrize(("method", "changes"), METHODS)
def test_training_is_the_same_to_the_bit(
    planted: Data, small_recipe: SmallRecipe, method: str, changes: dict[str, Any]
) -> None:
    """Batch norm's running statistics among it: no step is taken twice."""
    (plain, plain_history), (watched, history) = (
        fit(small_recipe(method, training__diagnose_every=every, **changes), planted) for every in (0, 1)
    )
    assert plain.keys() == watched.keys()
    assert all(torch.equal(plain[name], watched[name]) for name in plain)
    assert [row["loss"] for row in plain_history] == [row["loss"] for row in history]
    assert (diagnosed(plain_history), diagnosed(history)) == ([], list(range(1, 11)))


def test_the_numbers_are_those_of_the_steps_own_maps(planted: Data, small_recipe: SmallRecipe) -> None:
    recipe = small_recipe(training__diagnose_every=1)
    _, history = fit(recipe, planted)
    seen: list[FeatureMaps] = []
    recipe.build(planted.num_features)(planted, step_generator(recipe.training.seed, 0), observe=seen.append)
    expected = diagnose(*seen[0])
    assert expected is not None
    assert history[0]["diagnostics"] == asdict(expected)


@pytest.mark.parametrize(("every", "epochs"), [(0, []), (1, list(range(1, 11))), (4, [1, 4, 8, 10]), (99, [1, 10])])
def test_the_first_epoch_every_multiple_and_the_last(
    planted: Data, small_recipe: SmallRecipe, every: int, epochs: list[int]
) -> None:
    assert diagnosed(fit(small_recipe(training__diagnose_every=every), planted)[1]) == epochs


class Crash(Exception):
    """Something breaks in the middle of a run."""


@pytest.mark.slow
@pytest.mark.parametrize(("method", "changes"), METHODS)
@pytest.mark.parametrize("crash", [2, 5, 9])
def test_a_resumed_run_logs_the_same(
    planted: Data,
    small_recipe: SmallRecipe,
    new_folder: NewFolder,
    method: str,
    changes: dict[str, Any],
    crash: int,
) -> None:
    """Checkpoints are made at 3, 6 and 9, diagnostics at 1, 2, 4, 6, 8 and 10."""
    recipe = small_recipe(method, training__diagnose_every=2, **changes)
    whole, broken = new_folder("whole"), new_folder("broken")
    fit(recipe, planted, folder=whole)

    def break_off(metrics: dict[str, Any]) -> None:
        if metrics["epoch"] == crash:
            raise Crash

    arguments = {**recipe.training.arguments, "folder": broken}
    with pytest.raises(Crash):
        train(recipe.build(planted.num_features), planted, **arguments, callbacks=[on_epoch(break_off)])
    train(recipe.build(planted.num_features), planted, **arguments, resume=True)
    rows, expected = ([{**row, "seconds": 0} for row in folder.read_metrics()] for folder in (broken, whole))
    assert rows == expected
    assert diagnosed(rows) == [1, 2, 4, 6, 8, 10]
    tensors, whole_tensors = (load_tensors(folder.checkpoint)[0] for folder in (broken, whole))
    assert all(torch.equal(tensors[name], whole_tensors[name]) for name in whole_tensors)


def test_plain_modules_are_not_asked_for_their_maps(planted: Data, scripted: Any) -> None:
    assert train(scripted([1.0] * 3), planted, epochs=3).epoch == 3


class Poisoned(torch.nn.Module):
    """Its feature maps hold NaN; so does its loss, if asked."""

    def __init__(self, loss_too: bool) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(()))
        self.loss_too = loss_too

    def forward(self, graph: Data, generator: Any = None, observe: Any = None) -> torch.Tensor:
        h = torch.full((4, 3), torch.nan)
        if observe is not None:
            observe(FeatureMaps(h, h, h, h))
        return self.weight * (torch.nan if self.loss_too else 1)


def test_maps_that_are_no_numbers_are_left_to_trainings_own_error(planted: Data) -> None:
    with pytest.raises(TrainingError, match="The loss is nan"):
        train(Poisoned(loss_too=True), planted, epochs=2, diagnose_every=1)
    history: list[dict[str, Any]] = []
    train(Poisoned(loss_too=False), planted, epochs=2, diagnose_every=1, callbacks=[on_epoch(history.append)])
    assert diagnosed(history) == []
    assert len(history) == 2


def test_recipes_look_now_and_then(planted: Data, small_recipe: SmallRecipe) -> None:
    assert Recipe.parse({}).training.diagnose_every == 10
    assert diagnosed(fit(small_recipe(), planted)[1]) == [1, 10]
