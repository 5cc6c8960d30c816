"""Edges that go and come: how many, which, and every one as likely."""

from __future__ import annotations

from itertools import combinations

import networkx as nx
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare
from torch_geometric.data import Data

from sfa.errors import InputError
from sfa.graph.batches import rewire, undirected_edges
from tests.graph.graph_batches import assert_sound, batches, copies_of, mixed_batch, seeded, single_graphs, to_batch


def edges_of(graph: nx.Graph) -> set[frozenset[int]]:
    return {frozenset(edge) for edge in graph.edges}


@given(batch=batches(), seed=st.integers(0, 2**31), data=st.data())
def test_so_many_edges_go_and_so_many_come(batch: Data, seed: int, data: st.DataObject) -> None:
    edges = undirected_edges(batch).tolist()
    drop, add = ([data.draw(st.integers(0, count)) for count in edges] for _ in range(2))
    view = rewire(batch, torch.tensor(drop), torch.tensor(add), seeded(seed))
    assert_sound(view, batch)
    assert view.x is batch.x
    for number, (before, after) in enumerate(zip(single_graphs(batch), single_graphs(view), strict=True)):
        old, new = edges_of(before), edges_of(after)
        n = before.number_of_nodes()
        assert len(old - new) == drop[number]
        assert len(new - old) == min(add[number], n * (n - 1) // 2 - edges[number])
        weights = {weight for *_, weight in before.edges(data="weight")}
        for *edge, weight in after.edges(data="weight"):
            assert weight == before.edges[edge]["weight"] if frozenset(edge) in old else weight in weights


def test_every_set_of_edges_is_as_likely_to_go() -> None:
    graph, copies = nx.cycle_graph(5), 6000
    counts = torch.full((copies,), 2)
    view = rewire(copies_of(graph, copies), counts, torch.zeros_like(counts), seeded())
    sets = {frozenset(map(frozenset, pair)): i for i, pair in enumerate(combinations(sorted(graph.edges), 3))}
    pairs = (view.edge_index % 5).T.view(copies, 6, 2).tolist()
    drawn = torch.tensor([sets[frozenset(map(frozenset, left))] for left in pairs])
    assert chisquare(torch.bincount(drawn, minlength=10)).pvalue > 1e-4


# Of a wheel of 6 nodes 5 pairs are free, fewer than are drawn in spare; of a path of 9 nodes 28, which are more.
@pytest.mark.slow
@pytest.mark.parametrize(("graph", "add"), [(nx.wheel_graph(6), 2), (nx.path_graph(9), 1), (nx.path_graph(8), 2)])
def test_every_set_of_free_pairs_is_as_likely_to_come(graph: nx.Graph, add: int) -> None:
    copies, n = 9000, graph.number_of_nodes()
    counts = torch.full((copies,), add)
    batch = copies_of(graph, copies)
    view = rewire(batch, torch.zeros_like(counts), counts, seeded())
    assert_sound(view, batch)
    free = sorted(nx.non_edges(graph))
    sets = {frozenset(map(frozenset, pairs)): number for number, pairs in enumerate(combinations(free, add))}
    joined = (view.edge_index % n).T.view(copies, -1, 2).tolist()
    old = edges_of(graph)
    drawn = torch.tensor([sets[frozenset(map(frozenset, pairs)) - old] for pairs in joined])
    assert chisquare(torch.bincount(drawn, minlength=len(sets))).pvalue > 1e-4


def test_weights_of_new_edges_are_of_their_own_graph() -> None:
    batch = to_batch([nx.path_graph(6), nx.star_graph(5)], weighted=True)
    batch.edge_weight = 1 + batch.batch[batch.edge_index[0]].float()
    view = rewire(batch, torch.tensor([1, 2]), torch.tensor([5, 5]), seeded())
    assert torch.equal(view.edge_weight, 1 + view.batch[view.edge_index[0]].float())


def test_edges_in_any_order_come_out_sorted() -> None:
    batch = mixed_batch(weighted=True)
    shuffled = batch.clone()
    order = torch.randperm(batch.num_edges, generator=seeded())
    shuffled.edge_index, shuffled.edge_weight = batch.edge_index[:, order], batch.edge_weight[order]
    drop, add = undirected_edges(batch) // 3, undirected_edges(batch) // 2
    for coming in (torch.zeros_like(add), add):
        expected, view = (rewire(one, drop, coming, seeded(1)) for one in (batch, shuffled))
        assert_sound(view, batch)
        assert torch.equal(view.edge_index, expected.edge_index)
        assert torch.equal(view.edge_weight, expected.edge_weight)


def test_one_direction_only_is_refused() -> None:
    batch = to_batch([nx.path_graph(3)])
    batch.edge_index = batch.edge_index[:, batch.edge_index[0] < batch.edge_index[1]]
    with pytest.raises(InputError, match="one direction only"):
        rewire(batch, torch.tensor([1]), torch.tensor([0]), seeded())
