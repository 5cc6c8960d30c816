"""Neighbor contrast: its positives, its loss and its embeddings written out by hand, and what it says about graphs."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch_geometric.data import Data

import sfa
from sfa import distributed
from sfa.data import build_graph
from sfa.matrices import csr_matrix
from sfa.methods import NeighborContrast
from sfa.methods.propagate import Propagate
from sfa.nn import MLP
from sfa.nn.sparse import normalized_adjacency
from sfa.run import Recipe, open_run, train_run
from sfa.sampling import RandomNodes
from sfa.train import train
from tests.losses.test_jensen_shannon import slow_normalized_jensen_shannon
from tests.methods.whole_steps import gradients
from tests.processes import run_in_processes

SMALL: dict[str, Any] = {"encoder.hidden": 8, "encoder.inner": 16, "method.projection": 8, "method.hidden": 12}
CLASSES = 4


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def make(in_features: int = 8, *, dropout: float = 0.3, **options: Any) -> NeighborContrast:
    torch.manual_seed(0)
    encoder = MLP(in_features, 6, inner=16, dropout=dropout, activation="prelu", layer_norm=True, activate_last=True)
    return NeighborContrast(encoder, in_features, projection=4, hidden=10, precision="full", **options)


def graph_of(link: str, *, n: int = 400, seed: int = 0) -> Data:
    """Four classes with noisy features; an edge joins a class to itself, to the next one, or to any."""
    generator = seeded(seed)
    y = torch.randint(CLASSES, (n,), generator=generator)
    x = nn.functional.one_hot(y, CLASSES).repeat(1, 4) + torch.randn(n, 4 * CLASSES, generator=generator)
    source = torch.randint(n, (6 * n,), generator=generator)
    target = torch.randint(n, (6 * n,), generator=generator)
    kept = {"same": y[source] == y[target], "next": (y[source] + 1) % CLASSES == y[target], "any": source != target}
    graph = build_graph(x, torch.stack([source, target])[:, kept[link]])
    graph.y = y
    return graph


class TestPositives:
    @pytest.mark.parametrize("mask", [0.0, 0.4])
    def test_follow_the_probabilities_of_the_walk(self, planted: Data, mask: float) -> None:
        adjacent = torch.zeros(60, 60)
        adjacent[tuple(planted.edge_index)] = 1
        lone = adjacent.sum(1) == 0
        step = adjacent / adjacent.sum(1, keepdim=True).clamp_min(1) + torch.diag(lone.float())
        onward = (step + torch.eye(60)) / 2
        expected = mask * torch.eye(60) + (1 - mask) * step @ onward @ onward
        method, generator, draws, counts = make(mask=mask, walk=3), seeded(1), 4000, torch.zeros(60, 60)
        for _ in range(draws):
            counts[torch.arange(60), method.positives(planted, torch.arange(60), generator)] += 1
        assert not counts[expected == 0].any()
        torch.testing.assert_close(counts / draws, expected, rtol=0, atol=0.05)

    @pytest.mark.parametrize(("link", "reach"), [("same", 1), ("next", 2), ("any", 0)])
    def test_reach_as_far_as_nodes_are_alike(self, link: str, reach: int) -> None:
        graph, method = graph_of(link), make(16, mask=0.0)
        method.before_training(graph)
        assert int(method.reach) == reach
        ends = method.positives(graph, torch.arange(400), seeded())
        if reach == 0:
            assert torch.equal(ends, torch.arange(400))
        if reach == 2:
            two = torch.zeros(400, 400)
            two[tuple(graph.edge_index)] = 1
            joined = two.sum(1) > 0
            assert bool((two @ two)[torch.arange(400), ends][joined].all())
        words = {0: ["no more alike"], 1: [], 2: ["two steps apart"]}[reach]
        assert all(word in remark for word, remark in zip(words, method.remarks(), strict=True))

    def test_of_a_graph_without_edges_are_the_nodes_themselves(self, planted: Data) -> None:
        graph, method = Data(x=planted.x, edge_index=planted.edge_index[:, :0]), make()
        method.before_training(graph)
        assert torch.equal(method.positives(graph, torch.arange(60), seeded()), torch.arange(60))
        method(graph, seeded()).backward()
        method.after_training(graph)
        assert method.embed(graph).isfinite().all()


@pytest.mark.parametrize("sparse", [False, True])
def test_the_loss_is_put_together_from_its_parts(planted: Data, sparse: bool) -> None:
    graph, method = planted.clone(), make(weight=0.0).double()  # as rows may coincide, of which the logarithm is steep
    graph.x = graph.x.relu().round().double()  # counts, mostly zeros
    method.before_training(graph)
    seeds = torch.tensor([3, 14, 15, 9, 2, 6])
    x = graph.x * method.closed_form.scale
    x = 8**0.5 * nn.functional.normalize(x)
    if sparse:
        graph.x = graph.x.to_sparse_csr()
    graph.seeds = seeds
    generator = seeded(3)
    rows = torch.cat([seeds, method.positives(graph, seeds, generator)])
    h = method.encoder(x[rows].to_sparse_csr() if sparse else x[rows], generator)
    expected = slow_normalized_jensen_shannon(method.head(h[:6]), method.head(h[6:]))
    torch.testing.assert_close(method(graph, seeded(3)), expected)


def loss_and_gradients(graph: Data) -> tuple[float, dict[str, Tensor]]:
    """Of a step on 41 seeds, of which each process has some; every node has one neighbor, so that nothing is drawn."""
    method = make(mask=0.0, walk=1, dropout=0.0).double()
    if distributed.world_size() > 1:
        distributed.enable_cross_rank(method)
    method.before_training(graph)
    assert int(method.reach) == 1
    seeds = torch.randperm(60, generator=seeded())[:41].tensor_split(distributed.world_size())[distributed.rank()]
    loss = method(copy.copy(graph).update({"seeds": seeds}))
    return loss.item(), gradients(method, loss)


@pytest.mark.multiprocess
@pytest.mark.parametrize("world", [2, 3])
def test_several_processes_share_the_seeds_of_a_step(world: int) -> None:
    pairs = torch.randn(30, 8, generator=seeded()).repeat_interleave(2, 0)
    x = pairs + 0.1 * torch.randn(60, 8, generator=seeded(1))
    graph = build_graph(x, torch.arange(60).view(30, 2).T)
    graph.x = graph.x.double()
    loss, expected = loss_and_gradients(graph)
    parts = run_in_processes(loss_and_gradients, world, graph)
    assert [found for found, _ in parts] == pytest.approx([loss] * world, rel=1e-10)
    for key, gradient in expected.items():
        mean = sum(found[key] for _, found in parts) / world
        torch.testing.assert_close(mean, gradient, rtol=1e-8, atol=1e-11, msg=key)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_the_precision_of_an_autocast_region_is_kept(planted: Data, dtype: torch.dtype) -> None:
    method, seen = make(), []
    method.encoder.register_forward_hook(lambda *_: seen.append(torch.get_autocast_dtype("cpu")))
    with torch.autocast("cpu", dtype):
        method(planted, seeded())
    assert seen == [dtype]


class TestEmbeddings:
    def test_are_the_leading_directions_of_all_blocks(self, planted: Data) -> None:
        method = make(weight=0.7, hops=2, alpha=0.2)
        method.before_training(planted)
        method.after_training(planted)
        closed = Propagate(8, hidden=10, alpha=0.2)
        closed.before_training(planted)
        z = method.encoder.eval()(closed.weigh(planted.x)).detach()
        a = normalized_adjacency(planted).matrix.to_dense()
        rank = z
        for _ in range(10):
            rank = 0.8 * a @ rank + 0.2 * z
        blocks = [nn.functional.normalize(block) for block in (z, a @ z, a @ a @ z, rank, closed.embeddings(planted))]
        table = torch.cat([*blocks[:4], 0.7 * blocks[4]], dim=1)
        u, sigma, _ = torch.linalg.svd(table, full_matrices=False)
        best = u[:, :10] * sigma[:10]
        torch.testing.assert_close(gram(method.embed(planted)), gram(best), rtol=1e-3, atol=1e-4)

    def test_of_another_graph_use_what_training_has_seen(self, planted: Data) -> None:
        """A row does not depend on the other rows where there are no edges."""
        method = make()
        method.before_training(planted)
        method.after_training(planted)
        alone = Data(x=planted.x, edge_index=planted.edge_index[:, :0])
        some = Data(x=planted.x[:7], edge_index=planted.edge_index[:, :0])
        torch.testing.assert_close(method.embed(some), method.embed(alone)[:7])

    def test_of_an_untrained_method_are_finite_and_as_wide(self, planted: Data) -> None:
        assert make().embed(planted).shape == (60, 10)
        assert make().embed(planted).isfinite().all()


@pytest.mark.parametrize("layout", ["dense", "csr"])
def test_weighing_scales_rows_to_one_length_unless_columns_are_standardized(layout: str) -> None:
    x = torch.tensor([[1.0, 0, 2], [0, 0, 0], [0, 3, 0]])
    method = Propagate(3)
    method.scale.copy_(torch.tensor([1.0, 2.0, 0.5]))
    given = x if layout == "dense" else csr_matrix(*csr_parts(x))
    expected = 3**0.5 * nn.functional.normalize(x * method.scale)
    torch.testing.assert_close(method.weigh(given).to_dense(), expected)
    method.shift.copy_(torch.tensor([1.0, 0.0, 0.0]))
    torch.testing.assert_close(method.weigh(given), (x - method.shift) * method.scale)


def test_an_epoch_of_random_nodes_is_limited(planted: Data) -> None:
    plan = RandomNodes(planted, batch_size=8, steps=3).plan(seeded())
    assert len(plan) == 3
    assert len(torch.cat(plan).unique()) == sum(map(len, plan))
    everyone = RandomNodes(planted, batch_size=16, steps=30).plan(seeded())
    assert torch.equal(torch.cat(everyone).sort().values, torch.arange(60))


def test_training_draws_classes_together() -> None:
    """That is what it is for: here without the help of propagation and of the part that needs no training."""
    graph = graph_of("same")
    changes = {"method.weight": 0, "method.hops": 0, "method.alpha": 0, "training.epochs": 50, "training.lr": 5e-3}
    changes |= {"encoder.hidden": 32, "encoder.inner": 64}
    recipe = Recipe.parse({"method": "neighbor-contrast"}).updated(changes)
    method = recipe.build_for(graph)
    before = spread_of_classes(method.embed(graph), graph.y)
    train(method, graph, **recipe.training.arguments, sampler=recipe.make_sampler(), device="cpu")
    assert spread_of_classes(method.embed(graph), graph.y) < 0.9 * before


def test_it_is_the_default_for_the_nodes_of_a_graph(tmp_path: Path) -> None:
    graph = graph_of("any")
    run = train_run(graph, out=tmp_path / "run", epochs=2, set=SMALL)
    assert run.recipe.method["name"] == "neighbor-contrast"
    assert run.recipe.spectral == {"name": "none"}
    assert torch.equal(run.method.embed(run.data), open_run(tmp_path / "run", data=graph).method.embed(run.data))
    embedder = sfa.NodeEmbedder(epochs=2, random_state=0, options=SMALL).fit(graph)
    assert embedder.recipe_.method["name"] == "neighbor-contrast"
    embedder.save(tmp_path / "embedder.safetensors")
    again = sfa.NodeEmbedder.load(tmp_path / "embedder.safetensors").transform(graph)
    assert torch.equal(torch.from_numpy(again), torch.from_numpy(embedder.embedding_))


def gram(z: Tensor) -> Tensor:
    return z @ z.mT


def csr_parts(x: Tensor) -> tuple[Tensor, Tensor, Tensor, tuple[int, int]]:
    csr = x.to_sparse_csr()
    return csr.crow_indices(), csr.col_indices(), csr.values(), (3, 3)


def spread_of_classes(z: Tensor, y: Tensor) -> float:
    """Return the mean squared distance to the mean of the class, relative to that to the mean of all."""
    z = nn.functional.normalize(z)
    within = sum(float((z[y == c] - z[y == c].mean(0)).square().sum()) for c in range(CLASSES))
    return within / float((z - z.mean(0)).square().sum())
