"""The loop learns, repeats itself to the bit, and stops when it should."""

from __future__ import annotations

import math
import os
import random
import shlex
import signal
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from sfa.errors import TrainingError
from sfa.methods import Method
from sfa.run import Recipe
from sfa.sampling.samplers import Neighbors
from sfa.train import Interrupted, Progress, RunFolder, load_checkpoint, train
from sfa.train.optim import learning_rate
from tests.callbacks import on_epoch

SmallRecipe = Callable[..., Recipe]
NewFolder = Callable[..., RunFolder]


def fit(recipe: Recipe, graph: Data, **options: Any) -> tuple[dict[str, torch.Tensor], list[dict[str, Any]]]:
    method, history = recipe.build(graph.num_features), []
    train(method, graph, **recipe.training.arguments, callbacks=[on_epoch(history.append)], **options)
    return method.state_dict(), history


def losses(history: Sequence[dict[str, Any]]) -> list[float]:
    return [row["loss"] for row in history]


def equal(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> bool:
    return one.keys() == other.keys() and all(torch.equal(one[key], other[key]) for key in one)


@pytest.mark.parametrize("method", ["grace", "g-bt"])
@pytest.mark.parametrize("spectral", ["none", "sfa"])
def test_the_loss_falls(planted: Data, small_recipe: SmallRecipe, method: str, spectral: str) -> None:
    recipe = small_recipe(method, spectral=spectral, training__epochs=60, training__patience=None)
    _, history = fit(recipe, planted)
    assert len(history) == 60
    assert np.mean(losses(history)[-10:]) < np.mean(losses(history)[:10]) - 0.05


@pytest.mark.slow
@pytest.mark.parametrize("changes", [{}, {"method__activation": "rrelu", "method__batch_norm": True}])
def test_the_seed_decides_every_bit(planted: Data, small_recipe: SmallRecipe, changes: dict[str, Any]) -> None:
    weights, history = fit(small_recipe(**changes), planted)
    torch.manual_seed(123)  # nothing global may matter
    torch.rand(7)
    again, history_again = fit(small_recipe(**changes), planted)
    assert equal(weights, again)
    assert losses(history) == losses(history_again)
    other, other_history = fit(small_recipe(training__seed=1, **changes), planted)
    assert not equal(weights, other)
    assert losses(history)[0] != losses(other_history)[0]


def test_the_seed_decides_the_steps_apart_from_the_initial_weights(planted: Data, small_recipe: SmallRecipe) -> None:
    recipe = small_recipe()
    runs = []
    for seed in (0, 1):
        method, history = recipe.build(planted.num_features), []
        train(method, planted, **{**recipe.training.arguments, "seed": seed}, callbacks=[on_epoch(history.append)])
        runs.append(losses(history))
    assert runs[0][0] != runs[1][0]


def test_global_randomness_is_left_alone(planted: Data, small_recipe: SmallRecipe) -> None:
    before = torch.get_rng_state(), np.random.get_state()[1].tolist(), random.getstate()  # noqa: NPY002
    fit(small_recipe(method__activation="rrelu", method__batch_norm=True), planted)
    assert torch.equal(torch.get_rng_state(), before[0])
    assert np.random.get_state()[1].tolist() == before[1]  # noqa: NPY002
    assert random.getstate() == before[2]


def test_the_graph_is_left_alone(planted: Data, small_recipe: SmallRecipe) -> None:
    before = planted.clone()
    fit(small_recipe(), planted)
    assert torch.equal(planted.x, before.x)
    assert torch.equal(planted.edge_index, before.edge_index)


def test_metrics(planted: Data, small_recipe: SmallRecipe, new_folder: NewFolder) -> None:
    recipe = small_recipe(training__warmup=3, training__cosine=True)
    folder = new_folder()
    _, history = fit(recipe, planted, folder=folder)
    assert folder.read_metrics() == history
    assert [row["epoch"] for row in history] == list(range(1, 11))
    expected = [learning_rate(e, peak=0.01, epochs=10, warmup=3, cosine=True) for e in range(10)]
    assert [row["lr"] for row in history] == expected
    seconds = [row["seconds"] for row in history]
    assert seconds == sorted(seconds)


def test_the_rate_reaches_the_optimiser(planted: Data, scripted: Any) -> None:
    """Adam under a constant gradient moves a weight by the learning rate at each step."""
    method = scripted([1.0] * 6, gradients=[5.0] * 6)
    train(method, planted, epochs=6, lr=0.1, weight_decay=0, warmup=2, cosine=True, patience=None)
    travelled = sum(learning_rate(e, peak=0.1, epochs=6, warmup=2, cosine=True) for e in range(6))
    assert 1 - method.weight.item() == pytest.approx(travelled, rel=1e-5)


def expected_stop(script: Sequence[float], patience: int) -> int:
    """Epochs until the average, counted from epoch 10 on, has failed to reach a new low ``patience`` times in a row."""
    average, averages = math.nan, []
    for epoch, loss in enumerate(script, start=1):
        average = sum(script[:epoch]) / epoch if epoch <= 10 else 0.9 * average + 0.1 * loss
        averages.append(average)
        if epoch >= 10 + patience and min(averages[-patience:]) >= min(averages[9:-patience]):
            return epoch
    return len(script)


FALLS_THEN_FLAT = [10.0 - i for i in range(10)] + [50.0] * 30
NOISY = [5 - 0.05 * i + (-1 if i % 2 else 1) for i in range(40)]
CONSTANT = [3.0] * 40


@pytest.mark.parametrize("script", [FALLS_THEN_FLAT, NOISY, CONSTANT], ids=["falls then jumps", "noisy", "constant"])
@pytest.mark.parametrize("patience", [1, 2, 7, 20, None])
def test_early_stop(planted: Data, scripted: Any, script: list[float], patience: int | None) -> None:
    method = scripted(script)
    progress = train(method, planted, epochs=40, patience=patience)
    assert progress.epoch == method.step == (40 if patience is None else expected_stop(script, patience))
    assert progress.finished


def test_early_stop_examples(planted: Data, scripted: Any) -> None:
    """The reference above, checked on cases that can be counted on the fingers."""
    assert train(scripted(CONSTANT), planted, epochs=40, patience=7).epoch == 17
    assert train(scripted(FALLS_THEN_FLAT), planted, epochs=40, patience=20).epoch == 30
    assert train(scripted(NOISY), planted, epochs=40, patience=20).epoch == 40
    lucky_start = [0.0, *NOISY[1:]]
    assert train(scripted(lucky_start), planted, epochs=40, patience=20).epoch == 40


def test_progress_counts() -> None:
    progress = Progress(epoch=20, loss=4.0, best_loss=4.0).after(2.0).after(9.0)
    assert (progress.epoch, progress.stale) == (22, 1)
    assert progress.best_loss == pytest.approx(3.8)
    assert progress.loss == pytest.approx(0.9 * 3.8 + 0.9)


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_a_loss_that_is_no_number_stops_the_run(
    planted: Data, scripted: Any, new_folder: NewFolder, bad: float
) -> None:
    folder = new_folder()
    method = scripted([3.0, 2.0, bad, 1.0])
    with pytest.raises(TrainingError, match=r"epoch 3\b.*learning rate") as raised:
        train(method, planted, epochs=4, checkpoint_every=1, folder=folder)
    assert str(folder.path) in str(raised.value)
    assert load_checkpoint(folder.checkpoint, scripted([])).epoch == 2
    assert [row["epoch"] for row in folder.read_metrics()] == [1, 2]


def test_without_a_checkpoint_none_is_promised(planted: Data, scripted: Any, new_folder: NewFolder) -> None:
    with pytest.raises(TrainingError, match=r"epoch 1\b") as raised:
        train(scripted([math.nan]), planted, epochs=4, folder=new_folder())
    assert "kept" not in str(raised.value)


@pytest.mark.parametrize("epochs", [3, 6])
@pytest.mark.parametrize(("checkpoint_every", "noticed"), [(1, r"epoch 3\b"), (2, r"epoch [34]\b")])
def test_weights_that_are_no_numbers_never_replace_a_good_checkpoint(
    planted: Data, scripted: Any, new_folder: NewFolder, epochs: int, checkpoint_every: int, noticed: str
) -> None:
    """The loss stays finite throughout; the gradient of epoch 3 does not, and spoils the weights."""
    folder, before_step = new_folder(), []
    method = scripted([2.5] * 6, gradients=[1.0, 1.0, math.nan, 1.0, 1.0, 1.0])
    saved = folder.checkpoint
    method.register_forward_pre_hook(lambda *_: before_step.append(saved.exists() and saved.read_bytes()))
    with pytest.raises(TrainingError, match=noticed):
        train(method, planted, epochs=epochs, checkpoint_every=checkpoint_every, folder=folder)
    assert saved.read_bytes() == before_step[2]
    assert load_checkpoint(folder.checkpoint, scripted([])).epoch == 2


def test_weights_that_are_no_numbers_are_noticed_without_a_folder_too(planted: Data, scripted: Any) -> None:
    method = scripted([2.0] * 3, gradients=[1.0, 1.0, math.nan])
    with pytest.raises(TrainingError, match=r"epoch 3\b"):
        train(method, planted, epochs=3)


def interrupt_at(epoch: int) -> Callable[[dict[str, Any]], None]:
    return lambda metrics: os.kill(os.getpid(), signal.SIGINT) if metrics["epoch"] == epoch else None


def test_ctrl_c_saves_and_says_how_to_resume(
    planted: Data, scripted: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a run's folder"
    folder = RunFolder.create(path, {}, {})
    handlers = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    with pytest.raises(Interrupted, match="epoch 4 of 10") as raised:
        train(scripted([1.0] * 10), planted, epochs=10, folder=folder, callbacks=[on_epoch(interrupt_at(4))])
    command = str(raised.value).split("go on with: ")[1]
    assert shlex.split(command) == ["sfa", "train", "--resume", "--out", str(path)]
    assert load_checkpoint(folder.checkpoint, scripted([])).epoch == 4
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == handlers


def test_ctrl_c_in_the_last_epoch_lets_the_run_finish(planted: Data, scripted: Any, new_folder: NewFolder) -> None:
    folder = new_folder()
    progress = train(scripted([1.0] * 4), planted, epochs=4, folder=folder, callbacks=[on_epoch(interrupt_at(4))])
    assert progress.finished
    assert load_checkpoint(folder.checkpoint, scripted([])) == progress


def test_a_second_ctrl_c_acts_at_once(planted: Data, scripted: Any, new_folder: NewFolder) -> None:
    epochs = []

    def twice(metrics: dict[str, Any]) -> None:
        epochs.append(metrics["epoch"])
        os.kill(os.getpid(), signal.SIGINT)
        epochs.append("still here")
        os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        train(scripted([1.0] * 4), planted, epochs=4, folder=new_folder(), callbacks=[on_epoch(twice)])
    assert epochs == [1, "still here"]


def test_without_a_folder_ctrl_c_acts_at_once(planted: Data, scripted: Any) -> None:
    with pytest.raises(KeyboardInterrupt):
        train(scripted([1.0] * 4), planted, epochs=4, callbacks=[on_epoch(interrupt_at(2))])


class Momentum(Method):
    """A weight that is trained, one that is not, and what it was told after each step."""

    def __init__(self) -> None:
        super().__init__(None, width=1)
        self.weight = nn.Parameter(torch.ones(2))
        self.frozen = nn.Parameter(torch.ones(2), requires_grad=False)
        self.told: list[float] = []

    def forward(self, graph: Data, generator: Any = None, observe: Any = None) -> Tensor:
        return self.weight.square().sum()

    def embeddings(self, graph: Data) -> Tensor:
        raise AssertionError("not asked for")

    def after_step(self, done: float) -> None:
        self.told.append(done)


def test_a_method_is_told_after_each_step_how_much_is_done(planted: Data) -> None:
    method = Momentum()
    train(method, planted, epochs=4, patience=None)
    assert method.told == [0.25, 0.5, 0.75, 1.0]
    method = Momentum()
    train(method, planted, epochs=2, patience=None, sampler=partial(Neighbors, batch_size=30))
    assert method.told == [0.25, 0.5, 0.75, 1.0]


@pytest.mark.parametrize("accumulate", [1, 3])
def test_a_method_is_told_before_each_step_how_many_epochs_are_done(planted: Data, accumulate: int) -> None:
    """Once a step, whatever the parts that it is taken in, and before its forward pass."""

    class LooksAtTheTime(Momentum):
        def before_step(self, epochs: float) -> None:
            self.told.append(epochs)

        def after_step(self, done: float) -> None:
            pass

        def forward(self, graph: Data, generator: Any = None, observe: Any = None) -> Tensor:
            self.told.append(math.nan)
            return super().forward(graph)

    method = LooksAtTheTime()
    sampler = partial(Neighbors, batch_size=30)
    train(method, planted, epochs=2, patience=None, sampler=sampler, accumulate=accumulate)
    assert method.told[:: accumulate + 1] == [0.0, 0.5, 1.0, 1.5]
    assert len(method.told) == 4 * (accumulate + 1)


def test_a_method_sees_the_batches_of_an_epoch_once_more_at_its_end(planted: Data) -> None:
    class LooksBack(Momentum):
        def __init__(self) -> None:
            super().__init__()
            self.seen: list[tuple[list[int], float]] = []
            self.epochs: list[list[tuple[list[int], float]]] = []

        def forward(self, graph: Data, generator: Any = None, observe: Any = None) -> Tensor:
            self.seen.append((graph.nodes.tolist(), float(torch.rand((), generator=generator))))
            return super().forward(graph)

        def after_epoch(self, batches: Iterable[tuple[Data, torch.Generator]]) -> None:
            again = [(batch.nodes.tolist(), float(torch.rand((), generator=own))) for batch, own in batches]
            assert [nodes for nodes, _ in again] == [nodes for nodes, _ in self.seen], "the same batches"
            assert not {number for _, number in again} & {number for _, number in self.seen}, "with other chance"
            self.epochs.append(again)
            self.seen.clear()

    first, second = LooksBack(), LooksBack()
    for method in (first, second):
        train(method, planted, epochs=2, patience=None, sampler=partial(Neighbors, batch_size=30))
        assert [len(again) for again in method.epochs] == [2, 2]
    assert first.epochs == second.epochs
    assert first.epochs[0] != first.epochs[1]


def test_weights_that_are_not_trained_do_not_decay(planted: Data) -> None:
    method = Momentum()
    train(method, planted, epochs=3, patience=None, optimizer="adamw", weight_decay=0.5)
    assert torch.equal(method.frozen, torch.ones(2))
    assert bool((method.weight < 1).all())


@pytest.mark.parametrize(("optimizer", "expected"), [("adam", 1 - 0.1), ("adamw", (1 - 0.1 * 0.5) - 0.1)])
def test_adamw_decays_the_weights_themselves(planted: Data, optimizer: Any, expected: float) -> None:
    """The first step of Adam has the size of the learning rate whatever the gradient, decay included."""
    method = Momentum()
    train(method, planted, epochs=1, optimizer=optimizer, lr=0.1, weight_decay=0.5)
    torch.testing.assert_close(method.weight.data, torch.full((2,), expected))
