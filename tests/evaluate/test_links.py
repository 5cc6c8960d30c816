"""Edges held out of a graph."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch_geometric.data import Data

from sfa.data import build_graph
from sfa.errors import InputError
from sfa.evaluate.protocols.link_prediction import LinkSplit, _unjoined, held_out_sizes, hold_out


def random_graph(nodes: int, probability: float, seed: int = 0, *, weighted: bool = False) -> Data:
    rng = np.random.default_rng(seed)
    edges = np.argwhere(np.triu(rng.random((nodes, nodes)) < probability, 1)).T
    weight = rng.uniform(1, 2, edges.shape[1]) if weighted else None
    return build_graph(rng.normal(size=(nodes, 3)), edges, edge_weight=weight, y=np.arange(nodes) % 2)


def pairs_of(edges: Tensor) -> set[tuple[int, int]]:
    return {(min(u, v), max(u, v)) for u, v in edges.T.tolist()}


def split_of(graph: Data, *, seed: int = 0, most: int = 10**6) -> LinkSplit:
    return hold_out(graph, validation=0.05, test=0.1, most=most, rng=np.random.default_rng(seed))


@settings(max_examples=25)
@given(nodes=st.integers(20, 60), probability=st.floats(0.25, 0.45), seed=st.integers(0, 999))
def test_every_edge_is_in_one_part_and_no_part_knows_more_than_it_may(
    nodes: int, probability: float, seed: int
) -> None:
    graph = random_graph(nodes, probability, seed)
    split, whole = split_of(graph, seed=seed), pairs_of(graph.edge_index)
    left = pairs_of(split.graph.edge_index)
    edges = [pairs_of(part.nodes[:, part.is_edge]) for part in (split.train, split.validation, split.test)]
    others = [pairs_of(part.nodes[:, ~part.is_edge]) for part in (split.train, split.validation, split.test)]
    assert left == edges[0]
    assert edges[0] | edges[1] | edges[2] == whole
    assert sum(map(len, edges)) == len(whole)
    assert (len(edges[1]), len(edges[2])) == (round(0.05 * len(whole)), round(0.1 * len(whole)))
    assert [len(part) for part in others] == [len(part) for part in edges], (
        "as many pairs without an edge, all different"
    )
    assert not others[0] & left
    assert not (others[1] | others[2]) & whole
    assert not others[1] & others[2]
    assert all(u != v for part in others for u, v in part)


def test_the_training_graph_keeps_both_directions_weights_nodes_and_features() -> None:
    graph = random_graph(40, 0.3, weighted=True)
    split = split_of(graph)
    row, col = split.graph.edge_index
    weight = {(u, v): w for u, v, w in zip(*graph.edge_index.tolist(), graph.edge_weight.tolist(), strict=True)}
    kept = {(u, v): w for u, v, w in zip(row.tolist(), col.tolist(), split.graph.edge_weight.tolist(), strict=True)}
    assert all(kept[v, u] == kept[u, v] == weight[u, v] for u, v in kept)
    assert torch.equal(split.graph.x, graph.x)
    assert split.graph.num_nodes == 40
    assert graph.num_edges == len(weight), "the graph itself is as it was"


def test_pairs_to_learn_from_do_not_know_of_the_edges_held_out() -> None:
    """Of a nearly complete graph most pairs that the training graph lacks are held out; they stand among the others."""
    graph = random_graph(30, 0.8)
    left, train = pairs_of(split_of(graph).graph.edge_index), split_of(graph).train
    held_out = pairs_of(graph.edge_index) - left
    assert pairs_of(train.nodes[:, ~train.is_edge]) >= held_out
    assert int(train.is_edge.sum()) == int((~train.is_edge).sum()) == 30 * 29 // 2 - len(left)


def test_few_pairs_to_learn_from_leave_the_graph_as_it_is() -> None:
    graph = random_graph(50, 0.3)
    few, all_ = split_of(graph, most=20), split_of(graph)
    assert few.train.nodes.shape == (2, 40)
    assert torch.equal(few.graph.edge_index, all_.graph.edge_index)
    assert torch.equal(few.test.nodes, all_.test.nodes)


@pytest.mark.parametrize(("nodes", "edges"), [(6, 3), (12, 3)])
def test_pairs_without_an_edge_are_drawn_uniformly(nodes: int, edges: int) -> None:
    """Both ways of drawing, by listing and by rejection: every pair comes as often as another."""
    graph = build_graph(np.zeros((nodes, 1)) + 1, np.array([[0, 1, 2], [1, 2, 3]])[:, :edges])
    upper = graph.edge_index[:, graph.edge_index[0] < graph.edge_index[1]]
    rng, total = np.random.default_rng(0), nodes * (nodes - 1) // 2 - edges
    drawn = torch.cat([_unjoined(upper, nodes, 4, rng) for _ in range(25 * total)], 1)
    assert bool((drawn[0] < drawn[1]).all())
    counts = np.unique((drawn[0] * nodes + drawn[1]).numpy(), return_counts=True)[1]
    assert len(counts) == total
    assert counts.min() > 60
    assert counts.max() < 145


def test_graphs_with_too_few_edges_or_too_few_gaps_are_named() -> None:
    path = build_graph(np.ones((15, 1)), np.stack([np.arange(14), np.arange(1, 15)]))
    with pytest.raises(InputError, match="14 edges are too few"):
        held_out_sizes(path, 0.05, 0.1)
    complete = random_graph(20, 1.1)
    with pytest.raises(InputError, match="0 pairs without an edge"):
        hold_out(complete, validation=0.05, test=0.1, most=100, rng=np.random.default_rng(0))
