"""What holds for every sampler: an epoch covers the graph, and a batch is a true piece of it."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from torch_geometric.data import Data

from sfa.augment import UniformDrop
from sfa.errors import InputError
from sfa.graph.structure import csr_structure
from sfa.nn import GCN
from sfa.registry import registered, resolve
from sfa.sampling import Clusters, Neighbors, RandomWalks, Sampler, Starts, WholeGraph

MakeGraph = Callable[..., Data]
MakeSampler = Callable[[Data], Sampler]

SMALL: dict[str, MakeSampler] = {
    "whole": WholeGraph,
    "neighbours": lambda graph: Neighbors(graph, batch_size=4, fanouts=(2, 1)),
    "random-walks": lambda graph: RandomWalks(graph, batch_size=3, length=2),
    "clusters": lambda graph: Clusters(graph, batch_size=6, clusters=5),
}
every_batching_one = pytest.mark.parametrize("make_sampler", list(SMALL.values())[1:], ids=list(SMALL)[1:])
SMALL["starts"] = lambda graph: Starts(graph, batch_size=4)  # of the whole graph too, in several steps
every_sampler = pytest.mark.parametrize("make_sampler", SMALL.values(), ids=SMALL)

shapes = st.sampled_from(["sparse", "dense", "star", "path", "two"])
sizes = st.integers(2, 20)
seeds_of_graphs = st.integers(0, 2**31)


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def edges_with_weights(graph: Data, nodes: Tensor) -> dict[tuple[int, int], float]:
    weights = torch.ones(graph.edge_index.shape[1]) if graph.edge_weight is None else graph.edge_weight
    return dict(zip(map(tuple, nodes[graph.edge_index].T.tolist()), weights.tolist(), strict=True))


def check_piece(batch: Data, graph: Data) -> None:
    """The batch is a piece of the graph, in the form that the encoder takes without sorting."""
    nodes, everyone = batch.nodes, torch.arange(graph.num_nodes)
    assert nodes.dtype == batch.edge_index.dtype == torch.int64
    assert len(set(nodes.tolist())) == len(nodes) == batch.num_nodes == len(batch.x)
    assert torch.equal(batch.x.to_dense(), graph.x.to_dense()[nodes])
    assert batch.x.layout == graph.x.layout
    assert 1 <= batch.roots <= batch.num_nodes

    pairs = list(map(tuple, batch.edge_index.T.tolist()))
    assert pairs == sorted(set(pairs))
    assert set(pairs) == {(b, a) for a, b in pairs}
    assert all(a != b for a, b in pairs)
    assert edges_with_weights(batch, nodes).items() <= edges_with_weights(graph, everyone).items()
    assert ("edge_weight" in batch) == ("edge_weight" in graph)
    assert csr_structure(batch.edge_index, batch.num_nodes).order is None


@pytest.mark.slow
@every_batching_one
@given(shape=shapes, nodes=sizes, seed=seeds_of_graphs, weighted=st.booleans(), csr=st.booleans(), data=st.data())
def test_an_epoch_of_pieces_covers_the_graph(
    make_sampler: MakeSampler,
    make_graph: MakeGraph,
    shape: str,
    nodes: int,
    seed: int,
    weighted: bool,
    csr: bool,
    data: st.DataObject,
) -> None:
    graph = make_graph(shape, nodes, seed, weighted=weighted, csr=csr)
    sampler, generator = make_sampler(graph), seeded(seed)
    plan = sampler.plan(generator)
    assert sorted(torch.cat(plan).tolist()) == list(range(sampler.num_seeds))
    roots: list[int] = []
    for step in plan:
        parts = step.tensor_split(data.draw(st.integers(1, len(step))))
        for part in parts:
            batch = sampler.batch(part, generator)
            check_piece(batch, graph)
            roots += batch.nodes[: batch.roots].tolist()
    assert set(roots) == set(range(nodes))
    if not isinstance(sampler, RandomWalks):
        assert len(roots) == nodes


@every_sampler
def test_same_generator_same_bits(make_sampler: MakeSampler, make_graph: MakeGraph) -> None:
    """Of two samplers, the second of which has made batches before: nothing of those is left."""
    graph = make_graph("dense", 20, weighted=True)
    fresh, used = make_sampler(graph), make_sampler(graph)
    for step in used.plan(seeded(5)):
        used.batch(step, seeded(5))
    generators = seeded(7), seeded(7)
    plans = [sampler.plan(generator) for sampler, generator in zip((fresh, used), generators, strict=True)]
    assert len(plans[0]) == len(plans[1])
    for one, other in zip(*plans, strict=True):
        assert torch.equal(one, other)
        first, second = fresh.batch(one, generators[0]), used.batch(other, generators[1])
        for key in ("x", "edge_index", "edge_weight"):
            assert torch.equal(first[key], second[key])
        assert first.get("nodes") is second.get("nodes") or torch.equal(first.nodes, second.nodes)
        assert first.get("roots") == second.get("roots")
        assert first.get("seeds") is second.get("seeds") or torch.equal(first.seeds, second.seeds)


@every_sampler
def test_other_generator_other_plan(make_sampler: MakeSampler, make_graph: MakeGraph) -> None:
    sampler = make_sampler(make_graph("dense", 20))
    assert not torch.equal(torch.cat(sampler.plan(seeded(0))), torch.cat(sampler.plan(seeded(1))))


@pytest.mark.parametrize("make_sampler", [SMALL["neighbours"], SMALL["random-walks"]], ids=["neighbours", "walks"])
def test_batches_of_the_same_seeds_differ(make_sampler: MakeSampler, make_graph: MakeGraph) -> None:
    sampler, generator = make_sampler(make_graph("dense", 20)), seeded()
    batches = {tuple(sampler.batch(torch.tensor([0]), generator).nodes.tolist()) for _ in range(10)}
    assert len(batches) > 1


@every_sampler
def test_the_graph_stays_as_it_was(make_sampler: MakeSampler, make_graph: MakeGraph) -> None:
    graph, before = make_graph("dense", 20, weighted=True), make_graph("dense", 20, weighted=True)
    sampler = make_sampler(graph)
    for step in sampler.plan(seeded()):
        sampler.batch(step[:1], seeded())
    assert graph.keys() == before.keys()
    assert all(torch.equal(graph[key], before[key]) for key in ("x", "edge_index", "edge_weight"))


@pytest.mark.parametrize("make_sampler", [SMALL["neighbours"], SMALL["random-walks"]], ids=["neighbours", "walks"])
@given(nodes=st.integers(2, 40))
def test_steps_are_as_equal_as_can_be(make_sampler: MakeSampler, make_graph: MakeGraph, nodes: int) -> None:
    """So that no step is left with a node or two, on which no statistic can be had."""
    sampler = make_sampler(make_graph("star", nodes))
    lengths = [len(step) for step in sampler.plan(seeded())]
    assert max(lengths) <= sampler.batch_size
    assert max(lengths) - min(lengths) <= 1
    assert len(lengths) == -(-nodes // sampler.batch_size)


@every_batching_one
def test_views_of_a_batch_have_its_nodes_and_the_encoder_takes_them(
    make_sampler: MakeSampler, make_graph: MakeGraph
) -> None:
    sampler = make_sampler(make_graph("dense", 20, csr=True))
    batch = sampler.batch(sampler.plan(seeded())[0], seeded())
    for view in UniformDrop((0.3, 0.5), (0.2, 0.2))(batch, seeded()):
        assert view.x is batch.x
        assert GCN(4, 3)(view).shape == (batch.num_nodes, 3)


@every_sampler
@pytest.mark.parametrize(
    ("seeds", "message"),
    [
        (torch.tensor([0, 20]), "from 0 to .*, not 20"),
        (torch.tensor([-1]), "from 0 to .*, not -1"),
        (torch.tensor([0, 1, 0]), "distinct"),
        (torch.tensor([], dtype=torch.int64), "one or more"),
        (torch.tensor([0.0]), "float32"),
        (torch.tensor(0), "int64"),
    ],
)
def test_seeds_that_are_none_are_named(
    make_sampler: MakeSampler, make_graph: MakeGraph, seeds: Tensor, message: str
) -> None:
    sampler = make_sampler(make_graph("path", 20))
    with pytest.raises(InputError, match=message):
        sampler.batch(seeds, seeded())
    sampler.batch(torch.tensor([0]), seeded())  # and it works on


@pytest.mark.parametrize("sampler", [Neighbors, RandomWalks, Clusters, Starts])
@pytest.mark.parametrize("wrong", [0, -3, 1.5, True])
def test_a_batch_size_below_one_is_refused(sampler: type[Sampler], wrong: int, make_graph: MakeGraph) -> None:
    with pytest.raises(InputError, match=f"batch_size must be a whole number, 1 or more, not {wrong}"):
        sampler(make_graph("path", 5), batch_size=wrong)


def test_names() -> None:
    names = ["whole", "neighbours", "random-walks", "clusters", "starts", "random-nodes", "graphs", "images"]
    assert list(registered("sampler")) == names
    assert resolve("sampler", "random-walks") is RandomWalks
    with pytest.raises(InputError, match="did you mean 'neighbours'"):
        resolve("sampler", "neighbors")
