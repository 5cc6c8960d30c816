"""Pieces grown by exponential clocks against pieces grown node by node."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare
from torch import Tensor
from torch_geometric.data import Data

from sfa.augment.graph import grow
from tests.graph.graph_batches import (
    batches,
    copies_of,
    mixed_batch,
    seeded,
    single_graphs,
    sizes_of,
    subset_number,
    to_batch,
)

# A triangle with a path, a leaf and a hub: frontiers of many sizes, and nodes that can be reached in two ways.
GRAPH = nx.Graph([(0, 1), (1, 2), (2, 0), (2, 3), (3, 4), (4, 5), (1, 5), (3, 6), (3, 7)])


def grow_node_by_node(graph: nx.Graph, count: int, rng: np.random.Generator) -> set[int]:
    """As the paper's text says: a random node, then again and again a random neighbour of what is there."""
    piece = {int(rng.integers(graph.number_of_nodes()))}
    while len(piece) < count:
        frontier = sorted({u for v in piece for u in graph[v]} - piece)
        if not frontier:
            break
        piece.add(int(rng.choice(frontier)))
    return piece


def exact_probabilities(graph: nx.Graph, count: int) -> Tensor:
    """The probability of every set of nodes, from those of all sets with one node less."""
    nodes = graph.number_of_nodes()
    now = {frozenset({v}): 1 / nodes for v in graph}
    for _ in range(count - 1):
        after: dict[frozenset[int], float] = {}
        for piece, probability in now.items():
            frontier = {u for v in piece for u in graph[v]} - piece
            for node in frontier:
                after[piece | {node}] = after.get(piece | {node}, 0) + probability / len(frontier)
        now = after
    probabilities = torch.zeros(2**nodes, dtype=torch.float64)
    for piece, probability in now.items():
        probabilities[subset_number(list(piece))] = probability
    return probabilities


def assert_frequencies(drawn: Tensor, probabilities: Tensor) -> None:
    counts = torch.bincount(drawn, minlength=len(probabilities))
    possible = probabilities > 0
    assert counts[~possible].sum() == 0
    assert chisquare(counts[possible], probabilities[possible] * len(drawn)).pvalue > 1e-4


@pytest.mark.parametrize("count", [1, 2, 3, 5, 7])
def test_pieces_have_the_probabilities_of_growing_node_by_node(count: int) -> None:
    """In thousands of copies of one graph, the first of which asks for more rounds than the others need."""
    copies = 8001
    inside = grow(copies_of(GRAPH, copies), torch.tensor([8] + [count] * (copies - 1)), seeded(count))
    drawn = (inside.view(copies, 8) * 2 ** torch.arange(8)).sum(1)
    assert_frequencies(drawn[1:], exact_probabilities(GRAPH, count))


def test_the_exact_probabilities_are_those_of_the_loop() -> None:
    rng = np.random.default_rng(0)
    drawn = torch.tensor([subset_number(list(grow_node_by_node(GRAPH, 4, rng))) for _ in range(4000)])
    assert_frequencies(drawn, exact_probabilities(GRAPH, 4))


@given(batch=batches(), seed=st.integers(0, 2**31), data=st.data())
def test_pieces_are_connected_and_as_large_as_asked_or_as_can_be(batch: Data, seed: int, data: st.DataObject) -> None:
    counts = [data.draw(st.integers(0, n)) for n in sizes_of(batch)]
    inside = grow(batch, torch.tensor(counts), seeded(seed)).split(sizes_of(batch))
    for graph, mask, count in zip(single_graphs(batch), inside, counts, strict=True):
        piece = graph.subgraph(mask.nonzero().squeeze(1).tolist())
        if count == 0:
            assert len(piece) == 0
            continue
        assert nx.is_connected(piece)
        component = nx.node_connected_component(graph, next(iter(piece)))
        assert len(piece) == min(count, len(component))


def test_edge_cases() -> None:
    batch = mixed_batch()
    starts = set()
    for seed in range(60):
        inside = grow(batch, batch.ptr.diff(), seeded(seed)).split(sizes_of(batch))
        assert [int(mask.sum()) for mask in inside[:4]] == [15, 0, 1, 1]
        assert int(inside[4].sum()) in (4, 7)
        assert inside[5].all()
        starts.add((int(inside[3].nonzero()), int(inside[4].sum())))
    assert starts == {(start, size) for start in range(5) for size in (4, 7)}


def test_graphs_without_nodes_alone() -> None:
    empty = to_batch([nx.empty_graph(0), nx.empty_graph(0)])
    assert grow(empty, torch.tensor([0, 0]), seeded()).shape == (0,)


def test_the_same_generator_gives_the_same_pieces() -> None:
    batch = mixed_batch()
    counts = (batch.ptr.diff() + 1) // 2
    first, again, other = (grow(batch, counts, seeded(seed)) for seed in (1, 1, 2))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)
