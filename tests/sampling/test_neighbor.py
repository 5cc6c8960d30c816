"""Sampled neighborhoods against breadth-first search in plain Python."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare
from torch_geometric.data import Data

from sfa.errors import InputError
from sfa.nn import GCN
from sfa.sampling import Neighbors
from sfa.sampling.samplers import sample_entries

MakeGraph = Callable[..., Data]
ALL = 10**9
shapes = st.sampled_from(["sparse", "dense", "star", "path", "two"])


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def pairs(edge_index: torch.Tensor) -> set[tuple[int, int]]:
    return {(a, b) for a, b in edge_index.T.tolist()}


def distances(graph: Data, seeds: list[int]) -> dict[int, int]:
    """Hops from the nearest seed, of every node that can be reached."""
    found, hop = dict.fromkeys(seeds, 0), 0
    while True:
        hop += 1
        edges = graph.edge_index.T.tolist()
        new = {b for a, b in edges if found.get(a) == hop - 1 and b not in found}
        if not new:
            return found
        found |= dict.fromkeys(new, hop)


@given(
    shape=shapes,
    nodes=st.integers(2, 20),
    seed=st.integers(0, 2**31),
    roots=st.integers(1, 4),
    hops=st.integers(1, 4),
)
def test_all_neighbours_are_the_k_hop_neighbourhood(
    make_graph: MakeGraph, shape: str, nodes: int, seed: int, roots: int, hops: int
) -> None:
    """Its nodes lie within k hops, and its edges are those of the nodes within k - 1."""
    graph = make_graph(shape, nodes, seed)
    seeds = torch.randperm(nodes, generator=seeded(seed))[:roots]
    batch = Neighbors(graph, fanouts=(ALL,) * hops).batch(seeds, seeded(seed))
    distance = distances(graph, seeds.tolist())
    assert batch.roots == len(seeds)
    assert torch.equal(batch.nodes[: batch.roots], seeds)
    assert set(batch.nodes.tolist()) == {node for node, away in distance.items() if away <= hops}
    reached = [distance[node] for node in batch.nodes.tolist()]
    assert reached == sorted(reached)
    inner = {node for node, away in distance.items() if away < hops}
    expected = {(a, b) for a, b in pairs(graph.edge_index) if a in inner or b in inner}
    assert pairs(batch.nodes[batch.edge_index]) == expected


@given(
    shape=shapes, nodes=st.integers(2, 20), seed=st.integers(0, 2**31), layers=st.integers(1, 3), weighted=st.booleans()
)
def test_one_hop_more_than_layers_gives_roots_their_embeddings(
    make_graph: MakeGraph, shape: str, nodes: int, seed: int, layers: int, weighted: bool
) -> None:
    """l layers read nodes up to l hops away, each scaled by its degree: that takes the edges of hop l + 1."""
    graph = make_graph(shape, nodes, seed, weighted=weighted)
    seeds = torch.randperm(nodes, generator=seeded(seed))[:2]
    batch = Neighbors(graph, fanouts=(ALL,) * (layers + 1)).batch(seeds, seeded())
    encoder = GCN(4, 3, layers=layers, activation="elu").eval()
    torch.testing.assert_close(encoder(batch)[: batch.roots], encoder(graph)[seeds])


def test_as_many_hops_as_layers_do_not(make_graph: MakeGraph) -> None:
    """On a path, the node that the second layer reads last lacks the degree of its further edge."""
    graph = make_graph("path", 9, 1)
    encoder = GCN(4, 3, activation="elu").eval()
    expected = encoder(graph)[4]
    for fanouts, equal in (((2, 2), False), ((2, 2, 2), True)):
        batch = Neighbors(graph, fanouts=fanouts).batch(torch.tensor([4]), seeded())
        assert torch.allclose(encoder(batch)[0], expected, atol=1e-6) == equal


@given(
    nodes=st.integers(2, 30),
    seed=st.integers(0, 2**31),
    fanout=st.integers(1, 6),
    shape=st.sampled_from(["dense", "star"]),
)
def test_a_single_hop_has_exactly_the_fanout(
    make_graph: MakeGraph, nodes: int, seed: int, fanout: int, shape: str
) -> None:
    """Were neighbours drawn with repetition, some of the many here would have fewer."""
    graph = make_graph(shape, nodes, seed)
    degree = torch.bincount(graph.edge_index[0], minlength=nodes)
    sampler, generator = Neighbors(graph, fanouts=(fanout,)), seeded(seed)
    for root in range(nodes):
        batch = sampler.batch(torch.tensor([root]), generator)
        expected = min(fanout, int(degree[root]))
        assert batch.num_nodes == 1 + expected
        assert batch.edge_index.shape[1] == 2 * expected


def test_each_neighbour_of_a_root_is_as_likely(make_graph: MakeGraph, generator: torch.Generator) -> None:
    sampler = Neighbors(make_graph("star", 9), fanouts=(3,))
    hub = torch.tensor([0])
    leaves = torch.cat([sampler.batch(hub, generator).nodes[1:] for _ in range(800)])
    counts = leaves.bincount(minlength=9)[1:]
    assert counts.sum() == 2400
    assert chisquare(counts).pvalue > 0.001


def test_rows_of_different_degrees_are_each_sampled_uniformly(generator: torch.Generator) -> None:
    """Rows of 2, 0, 5 and 4 entries, many times over, at most 3 of each."""
    rowptr = torch.tensor([0, 2, 2, 7, 11])
    repeats = 6000
    rows = torch.arange(4).repeat(repeats)
    source, entries = sample_entries(rowptr, rows, 3, generator)
    assert bool((rowptr[source] <= entries).all() & (entries < rowptr[source + 1]).all())
    assert source.bincount(minlength=4).tolist() == [2 * repeats, 0, 3 * repeats, 3 * repeats]
    counts = entries.bincount(minlength=11)
    assert counts[:2].tolist() == [repeats, repeats]
    assert chisquare(counts[2:7]).pvalue > 0.001
    assert chisquare(counts[7:]).pvalue > 0.001


def test_each_hop_has_its_own_fanout() -> None:
    """From the root of a tree in which every inner node has five neighbours."""
    parents = torch.tensor([0] * 5 + [1 + i // 4 for i in range(20)])
    edges = torch.stack([parents, torch.arange(1, 26)])
    order = torch.cat([edges, edges.flip(0)], dim=1)
    graph = Data(x=torch.zeros(26, 1), edge_index=order[:, (order[0] * 26 + order[1]).argsort()])
    for seed in range(20):
        batch = Neighbors(graph, fanouts=(2, 3)).batch(torch.tensor([0]), seeded(seed))
        degree = torch.bincount(batch.edge_index[0], minlength=batch.num_nodes)
        assert degree[0] == 2
        children = batch.nodes <= 5
        children[0] = False
        assert set(degree[children].tolist()) <= {3, 4}  # three drawn, and the root's edge, drawn or not
        assert set(degree[batch.nodes > 5].tolist()) == {1}


def test_a_node_is_asked_once(make_graph: MakeGraph) -> None:
    """The hub has one neighbour in the batch, though it is the neighbour of that one in turn."""
    sampler = Neighbors(make_graph("star", 12), fanouts=(1, 1, 1))
    batch = sampler.batch(torch.tensor([0]), seeded())
    assert batch.num_nodes == 2
    assert pairs(batch.edge_index) == {(0, 1), (1, 0)}


def test_weights_follow_directions_even_where_they_differ(make_graph: MakeGraph) -> None:
    graph = make_graph("dense", 12)
    graph.edge_weight = (graph.edge_index[0] * 100 + graph.edge_index[1]).float()
    shuffled = torch.randperm(graph.edge_index.shape[1], generator=seeded())
    graph.edge_index, graph.edge_weight = graph.edge_index[:, shuffled], graph.edge_weight[shuffled]
    batch = Neighbors(graph, fanouts=(2, 2)).batch(torch.tensor([5, 0]), seeded())
    row, col = batch.nodes[batch.edge_index]
    assert torch.equal(batch.edge_weight, (row * 100 + col).float())


@pytest.mark.parametrize("wrong", [(), [], 10, "10", None])
def test_fanouts_are_a_number_a_hop(make_graph: MakeGraph, wrong: tuple[int, ...]) -> None:
    with pytest.raises(InputError, match="one hop or more, not"):
        Neighbors(make_graph("path", 5), fanouts=wrong)


@pytest.mark.parametrize("wrong", [0, -1, 2.5, "3"])
def test_a_fanout_below_one_is_refused(make_graph: MakeGraph, wrong: int) -> None:
    with pytest.raises(InputError, match="number, 1 or more"):
        Neighbors(make_graph("path", 5), fanouts=(10, wrong))


def test_edges_given_twice_are_refused() -> None:
    with pytest.raises(InputError, match="duplicate"):
        Neighbors(Data(x=torch.zeros(2, 1), edge_index=torch.tensor([[0, 0, 1, 1], [1, 1, 0, 0]])))
