"""Epochs that are cut into batches: what they cover, how they resume, what several processes make of them."""

from __future__ import annotations

import os
import signal
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn.parallel import DistributedDataParallel
from torch_geometric.data import Data

from sfa import distributed
from sfa.errors import InputError, TrainingError
from sfa.methods import Method, available_methods
from sfa.run import Recipe
from sfa.sampling import Clusters, Neighbors, RandomWalks, WholeGraph
from sfa.train import BatchPlan, Callback, Interrupted, RunFolder, checkpoint, load_checkpoint, load_tensors, train
from sfa.train.optim import learning_rate
from tests.callbacks import on_epoch, on_step
from tests.processes import run_in_processes

SmallRecipe = Callable[..., Recipe]
NewFolder = Callable[..., RunFolder]
BATCHES = {"sampler__batch_size": 16}


def go(recipe: Recipe, graph: Data, callbacks: Sequence[Callback] = (), **options: Any) -> list[dict[str, Any]]:
    history: list[dict[str, Any]] = []
    method = recipe.build(graph.num_features)
    sampler = recipe.make_sampler()
    callbacks = [on_epoch(history.append), *callbacks]
    train(method, graph, **recipe.training.arguments, sampler=sampler, callbacks=callbacks, **options)
    return history


def test_an_epoch_has_every_node_once_as_a_root(planted: Data) -> None:
    seen: Counter[int] = Counter()

    class Looks(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = torch.nn.Parameter(torch.ones(()))

        def forward(self, batch: Data, generator: torch.Generator) -> Tensor:
            seen.update(batch.nodes[: batch.roots].tolist())
            return self.weight.square()

    train(Looks(), planted, epochs=3, sampler=partial(Neighbors, batch_size=16, fanouts=(2,)))
    assert set(seen.values()) == {3}
    assert len(seen) == planted.num_nodes


def test_metrics_are_means_over_the_steps_and_the_rate_moves_within_an_epoch(planted: Data, scripted: Any) -> None:
    script = [float(i) for i in range(8)]
    method, steps, rates = scripted(script, gradients=[1.0] * 8), [], []
    history: list[dict[str, Any]] = []

    def note(epoch: int, step: int, of: int, loss: float) -> None:
        steps.append((epoch, step, of, loss))
        rates.append(1 - method.weight.item())

    sampler = partial(RandomWalks, batch_size=16)
    train(
        method, planted, epochs=2, lr=0.1, weight_decay=0, cosine=True, sampler=sampler,
        callbacks=[on_step(note), on_epoch(history.append)],
    )  # fmt: skip
    assert steps == [(i // 4, i % 4 + 1, 4, float(i)) for i in range(8)]
    assert [row["loss"] for row in history] == [1.5, 5.5]
    moved = torch.tensor([0.0, *rates]).diff()
    expected = [learning_rate(i / 4, peak=0.1, epochs=2, cosine=True) for i in range(8)]
    torch.testing.assert_close(moved, torch.tensor(expected), rtol=1e-3, atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["neighbours", "random-walks"])
@pytest.mark.parametrize("method", ["grace", "g-bt"])
def test_the_loss_falls_in_batches(planted: Data, small_recipe: SmallRecipe, method: str, name: str) -> None:
    gentle = {"method__hidden": 16, "method__edge_drop": (0.1, 0.1), "method__feature_drop": (0.1, 0.1)}
    long = {"training__epochs": 40, "training__patience": None}
    recipe = small_recipe(method, sampler__name=name, **BATCHES, **gentle, **long)
    losses = [row["loss"] for row in go(recipe, planted)]
    assert sum(losses[-5:]) / 5 < sum(losses[:5]) / 5 - 0.05


def interrupt_at(epoch: int, step: int) -> Callable[[int, int, int, float], None]:
    return lambda e, s, of, loss: os.kill(os.getpid(), signal.SIGINT) if (e, s) == (epoch, step) else None


@pytest.mark.slow
@pytest.mark.parametrize(
    ("step", "changes"),
    [
        (1, {}),
        (3, {}),
        (4, {}),
        (2, {"training__optimizer": "sgd"}),
        (2, {"training__optimizer": "lars", "training__warmup": 2, "training__warmup_from": 1e-3}),
        (2, {"training__precision": "bf16-mixed"}),
        (2, {"training__accumulate": 3}),
        (3, {"training__optimizer": "lars", "training__precision": "bf16-mixed", "training__accumulate": 2}),
    ],
)
def test_a_stop_within_an_epoch_and_a_resume(
    planted: Data, small_recipe: SmallRecipe, new_folder: NewFolder, step: int, changes: dict[str, Any]
) -> None:
    short = {"training__epochs": 5, "training__diagnose_every": 2}
    recipe = small_recipe(**BATCHES, method__batch_norm=True, **short, **changes)
    whole, broken = new_folder("whole"), new_folder("broken")
    go(recipe, planted, folder=whole)
    when = "within epoch 3" if step < 4 else "after epoch 3"
    with pytest.raises(Interrupted, match=when):
        go(recipe, planted, folder=broken, callbacks=[on_step(interrupt_at(2, step))])
    progress = load_checkpoint(broken.checkpoint, recipe.build(planted.num_features))
    assert (progress.epoch, progress.step) == ((2, step) if step < 4 else (3, 0))
    go(recipe, planted, folder=broken, resume=True)
    (tensors, meta), (expected, expected_meta) = load_tensors(broken.checkpoint), load_tensors(whole.checkpoint)
    assert meta == expected_meta
    assert tensors.keys() == expected.keys()
    assert any(name.startswith("optimizer.") for name in expected)
    assert all(torch.equal(tensors[name], expected[name]) for name in expected)
    rows = [[{**row, "seconds": 0} for row in folder.read_metrics()] for folder in (broken, whole)]
    assert rows[0] == rows[1]


def test_a_long_epoch_is_saved_on_the_way(
    planted: Data, small_recipe: SmallRecipe, new_folder: NewFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkpoint, "SECONDS", 0.0)
    recipe, folder, found = small_recipe(**BATCHES, training__epochs=1), new_folder(), []

    def look(epoch: int, step: int, of: int, loss: float) -> None:
        if folder.checkpoint.exists():
            found.append(load_checkpoint(folder.checkpoint, recipe.build(planted.num_features)).step)

    go(recipe, planted, folder=folder, callbacks=[on_step(look)])
    assert found == [1, 2, 3]


def roots_of_parts(steps: BatchPlan, epoch: int) -> list[list[list[int]]]:
    """The seeds of this process in each part of each step."""
    plan = steps.plan(epoch)
    parts = [[part.batch for part in steps.parts(epoch, step, seeds)] for step, seeds in enumerate(plan)]
    return [[batch.nodes[: batch.roots].tolist() for batch in batches] for batches in parts]


@pytest.mark.parametrize("count", [1, 2, 3])
@pytest.mark.parametrize("accumulate", [1, 4])
def test_steps_of_too_few_seeds_are_joined_and_none_is_lost(
    planted: Data, monkeypatch: pytest.MonkeyPatch, count: int, accumulate: int
) -> None:
    monkeypatch.setattr(distributed, "world_size", lambda: count)
    steps = BatchPlan(planted, partial(Neighbors, batch_size=1, fanouts=(2,)), seed=0, accumulate=accumulate)
    plans = []
    for rank in range(count):
        steps.rank = rank
        plans.append(roots_of_parts(steps, 3))
    assert len({len(plan) for plan in plans}) == 1
    assert all(len(parts) == 1 for plan in plans for parts in plan), "too few to be taken in parts"
    assert all(len(parts[0]) >= 1 for plan in plans for parts in plan)
    assert all(sum(len(parts[0]) for parts in together) >= 2 for together in zip(*plans, strict=True))
    assert sorted(seed for plan in plans for parts in plan for seed in parts[0]) == list(range(60))
    assert len(plans[0]) == {1: 30, 2: 30, 3: 20}[count], "no more than need be"


def test_a_last_step_of_too_few_seeds_is_joined_to_the_one_before(
    planted: Data, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = [torch.tensor([3, 1]), torch.tensor([0]), torch.tensor([2]), torch.tensor([4])]
    steps = BatchPlan(planted, partial(RandomWalks, batch_size=2), seed=0)
    monkeypatch.setattr(steps.sampler, "plan", lambda generator: plan)
    assert [seeds.tolist() for seeds in steps.plan(0)] == [[3, 1], [0, 2, 4]]


def test_fewer_clusters_than_processes_are_refused(planted: Data, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(distributed, "world_size", lambda: 3)
    with pytest.raises(InputError, match="shared by 3 processes"):
        BatchPlan(planted, partial(Clusters, clusters=2), seed=0)


# What follows runs in real processes. Without random views, a step of several on the whole graph is that of one.

EXACT = {"augmentation__edge_drop": (0.0, 0.0), "augmentation__feature_drop": (0.0, 0.0), "training__epochs": 4}
SETTLED = {"encoder__activate_last": True}
"""After a last convolution that is linear, as G-BT's, Barlow Twins' loss cancels the bias: rounding alone moves that,
and the next step's SFA with it."""


def weights_and_losses(recipe: Recipe, graph: Data, folder: Path | None) -> tuple[dict[str, Tensor], list[float]]:
    """Of a training, in one process or in the process group of several."""
    method, losses = recipe.build(graph.num_features), []
    train(
        method,
        graph,
        **recipe.training.arguments,
        sampler=recipe.make_sampler(),
        device="cpu",
        folder=None if folder is None else RunFolder(folder),
        callbacks=[on_epoch(lambda metrics: losses.append(metrics["loss"]))],
    )
    return {key: value.detach() for key, value in method.state_dict().items()}, losses


def assert_about_equal(weights: dict[str, Tensor], expected: dict[str, Tensor]) -> None:
    """A bias that normalization cancels is moved by rounding alone, and the running statistics follow it."""
    for key, value in expected.items():
        if not ("running" in key or ("convolutions" in key and "bias" in key)):
            torch.testing.assert_close(weights[key], value, rtol=1e-3, atol=1e-4, msg=key)


@pytest.mark.multiprocess
@pytest.mark.parametrize("method", ["grace", "g-bt"])
@pytest.mark.parametrize("world", [2, 3])
def test_several_processes_train_as_one(
    planted: Data, small_recipe: SmallRecipe, new_folder: NewFolder, method: str, world: int
) -> None:
    """Batch normalization, SFA and loss span the processes, whose parts of 59 nodes are uneven."""
    inside = (planted.edge_index < 59).all(0)
    planted = Data(x=planted.x[:59], edge_index=planted.edge_index[:, inside])
    recipe = small_recipe(method, **EXACT, encoder__batch_norm=True, encoder__activation="elu", **SETTLED)
    expected, losses = weights_and_losses(recipe, planted, None)
    folder = new_folder(f"{method}-{world}").path
    parts = run_in_processes(weights_and_losses, world, recipe, planted, folder)
    for weights, found in parts:
        assert found == pytest.approx(losses, rel=1e-5)
        assert_about_equal(weights, expected)
    assert [row["epoch"] for row in RunFolder(folder).read_metrics()] == [1, 2, 3, 4]
    assert RunFolder(folder).checkpoint.exists()


def gradients(recipe: Recipe, graph: Data) -> tuple[float, dict[str, Tensor]]:
    """Of one step on the part of the nodes that each process has, averaged as DistributedDataParallel does."""
    method = recipe.build(graph.num_features).double()
    model: torch.nn.Module = method
    if distributed.world_size() > 1:
        distributed.enable_cross_rank(method)
        model = DistributedDataParallel(method)
    seeds = torch.arange(graph.num_nodes).tensor_split(distributed.world_size())[distributed.rank()]
    batch = WholeGraph(graph).batch(seeds, torch.Generator())
    loss = model(batch, torch.Generator().manual_seed(0))
    loss.backward()
    return loss.item(), {key: one.grad for key, one in method.named_parameters() if one.grad is not None}


METHODS = available_methods().items()
SPANNING = [name for name, one in METHODS if one.spans_processes and one.task == "node" and one.takes_augmentation]
"""Of the others, positives are drawn from the generator that SFA then draws from: ``tests/methods`` has their tests."""


@pytest.mark.multiprocess
@pytest.mark.parametrize("method", SPANNING)
@pytest.mark.parametrize("detach", [True, False])
def test_every_gradient_is_that_of_one_process(
    planted: Data, small_recipe: SmallRecipe, method: str, detach: bool
) -> None:
    """61 and 62 of 123 nodes, or 41 each: a graph of two copies and three nodes with no edge."""
    graph = Data(
        x=torch.cat([planted.x, planted.x.flip(1), planted.x[:3]]).double(),
        edge_index=torch.cat([planted.edge_index, planted.edge_index + 60], dim=1),
    )
    recipe = small_recipe(method, **EXACT, encoder__batch_norm=True, spectral__detach=detach, spectral__iterations=2)
    loss, expected = gradients(recipe, graph)
    for world in (2, 3):
        for found, grads in run_in_processes(gradients, world, recipe, graph):
            assert found == pytest.approx(loss, rel=1e-10)
            assert grads.keys() == expected.keys()
            for key, gradient in expected.items():
                torch.testing.assert_close(grads[key], gradient, rtol=1e-8, atol=1e-11, msg=key)


@pytest.mark.multiprocess
def test_several_processes_share_the_roots_of_sampled_batches(planted: Data, small_recipe: SmallRecipe) -> None:
    recipe = small_recipe(**BATCHES)
    parts = run_in_processes(weights_and_losses, 2, recipe, planted, None)
    assert parts[0][1] == parts[1][1]
    assert len(parts[0][1]) == 10
    for key, value in parts[0][0].items():
        assert torch.equal(value, parts[1][0][key])


class RestsAtFirst(Method):
    """Some of its weights are not trained in the first epoch, though the loss depends on them."""

    spans_processes = True

    def __init__(self) -> None:
        super().__init__(None, width=1)
        self.moved, self.resting = (torch.nn.Parameter(torch.ones(3, 2)) for _ in range(2))
        self.rests = True

    def before_step(self, epochs: float) -> None:
        self.rests = epochs < 1

    def forward(self, graph: Data, generator: Any = None, observe: Any = None) -> Tensor:
        return (self.moved.square() + self.resting.square()).sum()

    def after_backward(self) -> None:
        assert self.resting.grad is not None
        if self.rests:
            self.resting.grad = None

    def embeddings(self, graph: Data) -> Tensor:
        raise AssertionError("not asked for")


def resting_weights(graph: Data, optimizer: Any) -> list[Tensor]:
    """After one epoch, and after two."""
    after = []
    for epochs in (1, 2):
        method = RestsAtFirst()
        options = {"optimizer": optimizer, "lr": 0.1, "weight_decay": 0.5, "accumulate": 2, "device": "cpu"}
        train(method, graph, epochs=epochs, sampler=partial(Neighbors, batch_size=30), **options)
        assert bool((method.moved < 1).all())
        after.append(method.resting.detach())
    return after


@pytest.mark.multiprocess
@pytest.mark.parametrize("optimizer", ["adamw", "sgd", "lars"])
def test_weights_whose_gradient_a_method_takes_away_rest(planted: Data, optimizer: str) -> None:
    """They do not decay either, and other processes do not wait for them."""
    first, second = resting_weights(planted, optimizer)
    assert torch.equal(first, torch.ones(3, 2))
    assert bool((second < 1).all())
    if optimizer == "lars":
        for found in run_in_processes(resting_weights, 2, planted, optimizer):
            assert torch.equal(found[0], first)
            torch.testing.assert_close(found[1], second)


def whole_map_refused(recipe: Recipe, graph: Data) -> str:
    try:
        weights_and_losses(recipe, graph, None)
    except Exception as error:
        return str(error)
    return "trained"


@pytest.mark.multiprocess
@pytest.mark.parametrize(("method", "spectral", "named"), [("grace", "whiten", "Whiten"), ("dgi", "sfa", "DGI")])
def test_a_map_or_method_that_cannot_span_processes_is_refused(
    planted: Data, small_recipe: SmallRecipe, method: str, spectral: str, named: str
) -> None:
    recipe = small_recipe(method, spectral__name=spectral)
    for said in run_in_processes(whole_map_refused, 2, recipe, planted):
        assert said.startswith(f"{named} needs all rows of a feature map in one process")


def test_a_lost_process_is_explained(planted: Data, scripted: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    class Lonely(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = torch.nn.Parameter(torch.ones(()))

        def forward(self, batch: Data, generator: torch.Generator) -> Tensor:
            monkeypatch.setattr(distributed, "world_size", lambda: 2)
            raise RuntimeError("[pair.cc:534] Connection closed by peer [127.0.0.1]:41562")

    with pytest.raises(TrainingError, match="Another process of this"):
        train(Lonely(), planted, epochs=1)
