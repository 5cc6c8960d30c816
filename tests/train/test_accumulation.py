"""Steps that are taken in parts: the gradient is the whole batch's where a loss is a mean over rows."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from sfa import processes
from sfa.run import Recipe
from sfa.sampling import Clusters, Neighbours, WholeGraph
from sfa.train import BatchPlan, train
from tests.callbacks import on_step
from tests.processes import run_in_processes
from tests.train.test_batches import EXACT, SETTLED, assert_about_equal, weights_and_losses

SmallRecipe = Callable[..., Recipe]


class Regression(nn.Module):
    """A loss that is a mean over the roots of a batch, and what it was called with."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.linspace(-1, 1, 8, dtype=torch.float64))
        self.drawn: list[float] = []
        self.sizes: list[int] = []

    def forward(self, batch: Data, generator: torch.Generator) -> Tensor:
        rows = batch.x[: batch.get("roots", batch.num_nodes)].double()
        self.sizes.append(len(rows))
        self.drawn.append(float(torch.rand((), generator=generator)))
        return (rows @ self.weight - 1).square().mean()


def fit(graph: Data, accumulate: int, sampler: Any) -> tuple[Regression, list[float]]:
    method, losses = Regression(), []
    options = {"optimizer": "sgd", "lr": 0.1, "sampler": sampler, "patience": None}
    noted = on_step(lambda e, s, of, loss: losses.append(loss))
    train(method, graph, epochs=3, accumulate=accumulate, callbacks=[noted], **options)
    return method, losses


@pytest.mark.parametrize("batch_size", [60, 23, 7])
@pytest.mark.parametrize("accumulate", [2, 3, 5])
def test_a_mean_over_rows_has_the_gradient_of_the_whole_batch(planted: Data, batch_size: int, accumulate: int) -> None:
    """Steps of 60, 20, and 6 or 7 nodes, whose parts are of uneven sizes."""
    sampler = partial(Neighbours, batch_size=batch_size, fanouts=(2,))
    (whole, losses), (parts, parts_losses) = (fit(planted, number, sampler) for number in (1, accumulate))
    torch.testing.assert_close(parts.weight, whole.weight, rtol=1e-10, atol=1e-12)
    assert parts_losses == pytest.approx(losses, rel=1e-10)
    assert not torch.equal(whole.weight, Regression().weight)
    assert len(parts.sizes) > len(whole.sizes)
    assert sum(parts.sizes) == sum(whole.sizes)
    assert max(parts.sizes) < max(whole.sizes)


def test_the_whole_graph_can_be_taken_in_parts(planted: Data) -> None:
    """Each part has the whole graph, and its own nodes as roots."""
    (whole, losses), (parts, parts_losses) = (fit(planted, number, WholeGraph) for number in (1, 7))
    torch.testing.assert_close(parts.weight, whole.weight, rtol=1e-10, atol=1e-12)
    assert parts_losses == pytest.approx(losses, rel=1e-10)
    assert (whole.sizes, sorted(parts.sizes)) == ([60] * 3, [8] * 9 + [9] * 12)


def test_the_parts_of_a_step_draw_one_after_another(planted: Data) -> None:
    sampler = partial(Neighbours, batch_size=30, fanouts=(2,))
    whole, parts = (fit(planted, number, sampler)[0] for number in (1, 3))
    assert len(set(parts.drawn)) == len(parts.drawn) == 18
    assert parts.drawn[::3] == whole.drawn


@pytest.mark.parametrize("count", [1, 2, 3])
@pytest.mark.parametrize("accumulate", [1, 2, 3, 8, 100])
@pytest.mark.parametrize("num_seeds", [6, 7, 20, 59])
def test_parts_have_two_seeds_and_each_process_one(
    planted: Data, monkeypatch: pytest.MonkeyPatch, num_seeds: int, accumulate: int, count: int
) -> None:
    monkeypatch.setattr(processes, "count", lambda: count)
    steps = BatchPlan(planted, partial(Neighbours, fanouts=(2,)), seed=0, accumulate=accumulate)
    seeds = torch.randperm(60, generator=torch.Generator().manual_seed(0))[:num_seeds]
    by_rank = []
    for rank in range(count):
        steps.rank = rank
        by_rank.append(list(steps.parts(0, 0, seeds)))
    together = list(zip(*by_rank, strict=True))
    assert len(together) == min(accumulate, num_seeds // max(2, count))
    for number, parts in enumerate(together, start=1):
        assert {part.is_last for part in parts} == {number == len(together)}
        assert {part.share for part in parts} == {sum(part.batch.roots for part in parts) / num_seeds}
        assert all(part.batch.roots >= 1 for part in parts)
        assert sum(part.batch.roots for part in parts) >= 2
    assert sum(parts[0].share for parts in together) == pytest.approx(1)
    roots = [part.batch.nodes[: part.batch.roots] for parts in together for part in parts]
    assert torch.equal(torch.cat(roots), seeds)


def test_a_part_can_be_one_cluster(planted: Data) -> None:
    steps = BatchPlan(planted, partial(Clusters, clusters=4, batch_size=60), seed=0, accumulate=4)
    (seeds,) = steps.plan(0)
    assert len(seeds) == 4
    assert len(list(steps.parts(0, 0, seeds))) == 4


def test_an_epoch_is_seen_again_in_the_same_parts(planted: Data) -> None:
    steps = BatchPlan(planted, partial(Neighbours, batch_size=30, fanouts=(2,)), seed=0, accumulate=3)
    plan = steps.plan(1)
    first = [part.batch for step, seeds in enumerate(plan) for part in steps.parts(1, step, seeds)]
    again = list(steps.again(1, plan))
    assert len(first) == len(again) == 6
    for one, (other, _) in zip(first, again, strict=True):
        assert torch.equal(one.nodes, other.nodes)
        assert torch.equal(one.edge_index, other.edge_index)
    draws = [float(torch.rand((), generator=generator)) for _, generator in steps.again(1, plan)]
    assert len(set(draws)) == 6, "the parts of a step share a generator that goes on"


def test_parts_are_sampled_with_one_generator(planted: Data) -> None:
    """Neighbours of the same node in two parts would otherwise be drawn alike."""
    steps = BatchPlan(planted, partial(Neighbours, batch_size=60, fanouts=(2,)), seed=0, accumulate=2)
    states: list[Tensor] = []
    batch = steps.sampler.batch

    def note(seeds: Tensor, generator: torch.Generator) -> Data:
        states.append(generator.get_state())
        return batch(seeds, generator)

    steps.sampler.batch = note  # type: ignore[method-assign]
    list(steps.parts(0, 0, steps.plan(0)[0]))
    assert not torch.equal(*states)


@pytest.mark.parametrize("method", ["grace", "g-bt"])
def test_several_processes_take_the_same_parts(planted: Data, small_recipe: SmallRecipe, method: str) -> None:
    """Gradients of all but the last part wait for it: what crosses processes is their sum."""
    recipe = small_recipe(method, **EXACT, **SETTLED, training__accumulate=3)
    expected, losses = weights_and_losses(recipe, planted, None)
    for weights, found in run_in_processes(weights_and_losses, 2, recipe, planted, None):
        assert found == pytest.approx(losses, rel=1e-5)
        assert_about_equal(weights, expected)
