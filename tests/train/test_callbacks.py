"""Callbacks of one's own, and the built-in one that ends with the best weights."""

from __future__ import annotations

import json
import math
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from torch_geometric.data import Data

from sfa import distributed
from sfa.errors import InputError
from sfa.run import Recipe
from sfa.run.train_recipe import train_recipe
from sfa.train import (
    Callback,
    Interrupted,
    LambdaCallback,
    RunFolder,
    TrainingState,
    load_checkpoint,
    load_tensors,
    train,
)
from tests.callbacks import on_epoch
from tests.processes import run_in_processes

SmallRecipe = Callable[..., Recipe]
NewFolder = Callable[..., RunFolder]


class Notes(Callback):
    """Write down which hook is called when."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, int, int]] = []

    def __getattribute__(self, name: str) -> Any:
        if name in ("setup", "teardown") or name.startswith("on_"):
            return lambda state, *_: self.calls.append((name, state.epoch, state.step))
        return super().__getattribute__(name)


def test_hooks_come_in_their_order(planted: Data, scripted: Any) -> None:
    notes = Notes()
    train(scripted([1.0] * 2), planted, epochs=2, callbacks=[notes])
    steps = [[("on_step_start", e, 0), ("on_step_end", e, 1), ("on_epoch_end", e + 1, 0)] for e in range(2)]
    begun, ended = [("setup", 0, 0), ("on_train_start", 0, 0)], [("on_train_end", 2, 0), ("teardown", 2, 0)]
    assert notes.calls == [*begun, *steps[0], *steps[1], *ended]


def test_a_run_that_fails_is_torn_down_but_did_not_end(planted: Data, scripted: Any) -> None:
    notes = Notes()
    with pytest.raises(IndexError):
        train(scripted([1.0]), planted, epochs=2, callbacks=[notes])
    assert [name for name, *_ in notes.calls][-2:] == ["on_step_start", "teardown"]


def test_a_callback_stops_training(planted: Data, scripted: Any, new_folder: NewFolder) -> None:
    class StopBelow(Callback):
        def on_epoch_end(self, state: TrainingState) -> None:
            if state.metrics["loss"] < 2.5:
                state.stop()

    folder, method = new_folder(), scripted([4.0, 3.0, 2.0, 1.0])
    progress = train(method, planted, epochs=4, folder=folder, callbacks=[StopBelow()])
    assert (progress.epoch, progress.finished, method.step) == (3, True, 3)
    assert load_checkpoint(folder.checkpoint, scripted([])) == progress
    assert train(scripted([]), planted, epochs=4, folder=folder, resume=True) == progress, "it is done"


def test_a_stop_asked_for_within_an_epoch_ends_it(planted: Data, scripted: Any) -> None:
    method = scripted([1.0] * 4)
    assert train(method, planted, epochs=4, callbacks=[LambdaCallback(on_step_start=TrainingState.stop)]).epoch == 1


def stop_one_process(recipe: Recipe, graph: Data, path: Path) -> int:
    """Train in several processes, of which the second alone asks to stop, after two epochs."""
    asks = LambdaCallback(
        on_epoch_end=lambda state: state.stop() if (state.epoch, distributed.rank()) == (2, 1) else None
    )
    method, options = recipe.build(graph.num_features), recipe.training.arguments
    return train(method, graph, **options, device="cpu", folder=RunFolder(path), callbacks=[asks]).epoch


@pytest.mark.multiprocess
def test_all_processes_stop_when_one_asks(planted: Data, small_recipe: SmallRecipe, new_folder: NewFolder) -> None:
    recipe, folder = small_recipe(), new_folder()
    assert run_in_processes(stop_one_process, 2, recipe, planted, folder.path) == [2, 2]
    assert load_checkpoint(folder.checkpoint, recipe.build(planted.num_features)).finished


def test_a_callback_adds_a_metric(planted: Data, scripted: Any, new_folder: NewFolder) -> None:
    class WeightNorm(Callback):
        def on_epoch_end(self, state: TrainingState) -> None:
            state.metrics["norm"] = sum(w.norm().item() for w in state.method.parameters())

    folder, history = new_folder(), []
    method = scripted([1.0] * 2, gradients=[1.0] * 2)
    train(method, planted, epochs=2, lr=0.25, folder=folder, callbacks=[WeightNorm(), on_epoch(history.append)])
    rows = [json.loads(line) for line in folder.metrics.read_text().splitlines()]
    assert rows == history
    assert [list(row) for row in rows] == [["epoch", "loss", "lr", "seconds", "norm"]] * 2
    assert [row["norm"] for row in rows] == pytest.approx([0.75, 0.5], abs=1e-3)


class Counter(Callback):
    """Count epochs, across interruptions."""

    def __init__(self) -> None:
        self.count = 0

    def on_epoch_end(self, state: TrainingState) -> None:
        self.count += 1

    def state_dict(self) -> dict[str, Tensor]:
        return {"count": torch.tensor(self.count)}

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        self.count = int(state["count"])


def interrupt_at(epoch: int) -> Callback:
    return on_epoch(lambda metrics: os.kill(os.getpid(), signal.SIGTERM) if metrics["epoch"] == epoch else None)


def test_the_state_of_a_callback_is_kept_in_the_checkpoint(planted: Data, scripted: Any, new_folder: NewFolder) -> None:
    folder = new_folder()
    with pytest.raises(Interrupted):
        train(scripted([1.0] * 5), planted, epochs=5, folder=folder, callbacks=[Counter(), interrupt_at(3)])
    counter, seen = Counter(), []
    noted = LambdaCallback(on_train_start=lambda state: seen.append((state.epoch, counter.count)))
    train(scripted([1.0] * 2), planted, epochs=5, folder=folder, resume=True, callbacks=[counter, noted])
    assert seen == [(3, 3)], "restored before training starts"
    assert counter.count == 5


def test_two_states_under_one_key_are_refused(planted: Data, scripted: Any, new_folder: NewFolder) -> None:
    handlers = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    with pytest.raises(InputError, match=r"state_key each.*Counter, Counter"):
        train(scripted([]), planted, folder=new_folder(), callbacks=[Counter(), Counter()])
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == handlers


def test_an_unknown_hook_is_named() -> None:
    with pytest.raises(InputError, match="on_epoch_end"):
        LambdaCallback(on_epoch_ends=print)


LOSSES = [5.0, 2.0, 3.0, 1.5, 4.0, 1.75]
"""The lowest is that of epoch 4."""


def test_the_weights_of_the_lowest_loss_are_restored(planted: Data, scripted: Any, new_folder: NewFolder) -> None:
    folder, weights = new_folder(), []
    noted = LambdaCallback(on_epoch_end=lambda state: weights.append(state.method.weight.item()))
    method = scripted(LOSSES, gradients=[1.0] * 6)
    progress = train(method, planted, epochs=6, lr=0.1, restore_best=True, folder=folder, callbacks=[noted])
    assert len(set(weights)) == progress.epoch == 6
    assert method.weight.item() == weights[3]
    kept = scripted([])
    assert load_checkpoint(folder.checkpoint, kept) == progress
    assert kept.weight.item() == weights[3], "the final checkpoint has them"
    assert not any(name.startswith("best.") for name in load_tensors(folder.checkpoint)[0]), "and has them once"


def test_without_it_the_last_weights_stay(planted: Data, scripted: Any) -> None:
    weights: list[float] = []
    noted = LambdaCallback(on_epoch_end=lambda state: weights.append(state.method.weight.item()))
    method = scripted(LOSSES, gradients=[1.0] * 6)
    train(method, planted, epochs=6, lr=0.1, callbacks=[noted])
    assert method.weight.item() == weights[-1]


@pytest.mark.parametrize("stop", [1, 3, 4, 5])
def test_the_best_weights_survive_an_interruption(
    planted: Data, scripted: Any, new_folder: NewFolder, stop: int
) -> None:
    whole, broken = new_folder("whole"), new_folder("broken")
    options = {"epochs": 6, "lr": 0.1, "restore_best": True}
    train(scripted(LOSSES, [1.0] * 6), planted, folder=whole, **options)
    with pytest.raises(Interrupted):
        train(scripted(LOSSES, [1.0] * 6), planted, folder=broken, callbacks=[interrupt_at(stop)], **options)
    kept = load_tensors(broken.checkpoint)[0]
    assert kept["best.loss"].item() == min(LOSSES[:stop])
    resumed = scripted(LOSSES[stop:], [1.0] * (6 - stop))
    train(resumed, planted, folder=broken, resume=True, **options)
    (tensors, meta), (expected, expected_meta) = load_tensors(broken.checkpoint), load_tensors(whole.checkpoint)
    assert meta == expected_meta
    assert tensors.keys() == expected.keys()
    assert all(torch.equal(tensors[name], expected[name]) for name in expected)
    assert resumed.weight.item() == expected["model.weight"].item()


def test_a_recipe_asks_for_the_best_weights(planted: Data, small_recipe: SmallRecipe, new_folder: NewFolder) -> None:
    recipe = small_recipe(training__restore_best=True, training__lr=0.5, method__batch_norm=True)
    assert not Recipe.parse({}).training.restore_best
    states: list[tuple[float, dict[str, Tensor]]] = []

    def note(state: TrainingState) -> None:
        states.append((state.metrics["loss"], {key: value.clone() for key, value in state.method.state_dict().items()}))

    folder = new_folder()
    noted = LambdaCallback(on_epoch_end=note)
    run = train_recipe(recipe, planted, folder, device="cpu", resume=False, callbacks=[noted])
    best = min(states, key=lambda pair: pair[0])[1]
    assert best is not states[-1][1], "or this shows nothing"
    assert math.isfinite(run.progress.loss)
    opened = recipe.build_for(planted)
    load_checkpoint(folder.checkpoint, opened)
    for weights in (run.method.state_dict(), opened.state_dict()):
        assert all(torch.equal(weights[key], best[key]) for key in best), "batch norm's statistics among it"
