"""Histograms of graphs against counting node by node."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from itertools import pairwise

import networkx as nx
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch_geometric.data import Batch, Data

from sfa.errors import InputError
from sfa.evaluate.baselines import BASELINES as ALL_UNTRAINED
from sfa.graph.histograms import degree_histogram, distinct_rows, label_counts, label_histogram, weisfeiler_lehman
from tests.graph.graph_batches import batches, mixed_batch, seeded, single_graphs, to_batch, to_data


def test_labels_are_counted() -> None:
    batch = mixed_batch()
    labels = torch.arange(batch.num_nodes) % 3
    batch.x = torch.nn.functional.one_hot(labels, 4).float()
    expected = [
        [labels[start:stop].tolist().count(label) for label in range(4)] for start, stop in pairwise(batch.ptr.tolist())
    ]
    assert label_histogram(batch).tolist() == expected


@given(batch=batches())
def test_degrees_are_counted(batch: Data) -> None:
    counts = [Counter(dict(graph.degree).values()) for graph in single_graphs(batch)]
    width = 1 + max((degree for count in counts for degree in count), default=-1)
    histogram = degree_histogram(batch)
    assert histogram.layout == torch.sparse_csr
    assert histogram.shape == (len(counts), width)
    assert histogram.to_dense().tolist() == [[count[degree] for degree in range(width)] for count in counts]


def test_a_hub_takes_no_memory_of_its_degree_for_every_graph() -> None:
    batch = to_batch([nx.star_graph(500), nx.path_graph(3), nx.path_graph(2)])
    histogram = degree_histogram(batch)
    assert histogram.shape == (3, 501)
    assert histogram.values().tolist() == [500, 1, 2, 1, 2]
    assert histogram.col_indices().tolist() == [1, 500, 1, 2, 1]


@given(sizes=st.lists(st.integers(0, 5), min_size=1, max_size=5), sets=st.integers(1, 3), data=st.data())
def test_several_labels_count_in_columns_of_their_own(sizes: list[int], sets: int, data: st.DataObject) -> None:
    n = sum(sizes)
    labels = torch.tensor(
        [data.draw(st.lists(st.integers(0, 4), min_size=n, max_size=n)) for _ in range(sets)], dtype=torch.int64
    )
    ptr = torch.tensor([0, *sizes]).cumsum(0)
    columns = [(k, label) for k in range(sets) for label in range(1 + max(labels[k].tolist(), default=-1))]
    expected = [
        [labels[k, start:stop].tolist().count(label) for k, label in columns] for start, stop in pairwise(ptr.tolist())
    ]
    assert label_counts(labels, ptr).to_dense().tolist() == expected


UNTRAINED = ALL_UNTRAINED["graph"]


@pytest.mark.parametrize("name", UNTRAINED)
def test_every_untrained_embedding_has_one_row_a_graph(name: str) -> None:
    batch = mixed_batch()
    embedding = UNTRAINED[name](batch)
    assert embedding.shape[0] == 6
    assert embedding.dtype == torch.float32
    assert not embedding.to_dense()[1].any()  # of the graph without nodes
    with pytest.raises(InputError, match="ptr"):
        UNTRAINED[name](to_data(nx.path_graph(3)))


def counted(batch: Data, rounds: int) -> list[Counter[Hashable]]:
    """Of each graph, how often it has each pair (round, label), where a label is a nested tuple, never compressed."""
    neighbours: list[list[int]] = [[] for _ in range(batch.num_nodes)]
    for i, j in batch.edge_index.T.tolist():
        neighbours[i].append(j)
    labels: list[Hashable] = [tuple(row) for row in batch.x.tolist()]
    seen = list(zip(batch.batch.tolist(), [0] * len(labels), labels, strict=True))
    for number in range(1, rounds + 1):
        labels = [(labels[i], tuple(sorted((labels[j] for j in js), key=repr))) for i, js in enumerate(neighbours)]
        seen += zip(batch.batch.tolist(), [number] * len(labels), labels, strict=True)
    return [Counter(entry[1:] for entry in seen if entry[0] == graph) for graph in range(len(batch.ptr) - 1)]


def labeled(batch: Data, kinds: int, seed: int = 0) -> Data:
    labels = torch.randint(kinds, (batch.num_nodes,), generator=seeded(seed))
    batch.x = torch.nn.functional.one_hot(labels, kinds).float()
    return batch


@settings(max_examples=60)
@given(batch=batches(), kinds=st.integers(1, 3), rounds=st.integers(0, 4), seed=st.integers(0, 999))
def test_counts_are_those_of_nested_tuples(batch: Data, kinds: int, rounds: int, seed: int) -> None:
    """Columns come in an order of our own, so they are compared as sorted columns: each is a label of the reference."""
    batch = labeled(batch, kinds, seed)
    reference = counted(batch, rounds)
    result = weisfeiler_lehman(batch, rounds=rounds)
    assert result.layout == torch.sparse_csr
    names = {name for count in reference for name in count}
    assert result.shape == (len(reference), len(names))
    columns = sorted(result.to_dense().long().T.tolist())
    assert columns == sorted([count[name] for count in reference] for name in names)
    of_round = sorted(result.to_dense()[:, : len({name for name in names if name[0] == 0})].T.tolist())
    assert of_round == sorted([count[name] for count in reference] for name in names if name[0] == 0)


@settings(max_examples=30)
@given(batch=batches(), seed=st.integers(0, 999))
def test_the_order_of_nodes_edges_and_graphs_makes_no_difference(batch: Data, seed: int) -> None:
    graphs = labeled(batch, 3).to_data_list()
    generator = seeded(seed)
    renumbered = []
    for graph in graphs:
        order = torch.randperm(graph.num_nodes, generator=generator)
        edges = order.argsort()[graph.edge_index]
        edges = edges[:, torch.randperm(edges.shape[1], generator=generator)]
        renumbered.append(Data(x=graph.x[order], edge_index=edges, num_nodes=graph.num_nodes))
    result = weisfeiler_lehman(Batch.from_data_list(renumbered[::-1])).to_dense().flip(0)
    assert torch.equal(result, weisfeiler_lehman(batch).to_dense())


def test_the_example_of_a_path_and_a_triangle() -> None:
    """Unlabeled. Round 1 tells degrees apart: the ends of the path, its middle, the same as the triangle's nodes."""
    batch = to_batch([nx.path_graph(3), nx.cycle_graph(3)])
    batch.x = torch.ones(6, 1)
    assert weisfeiler_lehman(batch, rounds=1).to_dense().tolist() == [[3, 2, 1], [3, 0, 3]]
    assert weisfeiler_lehman(batch, rounds=2).shape == (2, 1 + 2 + 3)


def test_what_one_dimension_cannot_tell_apart() -> None:
    batch = to_batch([nx.cycle_graph(6), nx.disjoint_union(nx.cycle_graph(3), nx.cycle_graph(3))])
    batch.x = torch.ones(12, 1)
    first, second = weisfeiler_lehman(batch, rounds=5).to_dense()
    assert torch.equal(first, second)


def test_lists_of_neighbours_that_begin_alike_stay_apart() -> None:
    """A node with neighbours a, and one with a and a; or with a and b, in either order."""
    edges = [(0, 1), (2, 3), (2, 4), (5, 6), (5, 7), (8, 9), (8, 10)]
    graph = nx.Graph(edges)
    batch = to_batch([graph])
    kind = [0, 1, 0, 1, 1, 0, 1, 2, 0, 2, 1]
    batch.x = torch.nn.functional.one_hot(torch.tensor(kind)).float()
    counts = weisfeiler_lehman(batch, rounds=1).to_dense()[0, 3:]
    assert sorted(counts.tolist()) == [1, 1, 2, 2, 5]  # a; aa; ab twice; and the leaves, b twice and a five times


def test_weights_do_not_count() -> None:
    plain, weighted = (weisfeiler_lehman(mixed_batch(weighted)).to_dense() for weighted in (False, True))
    assert torch.equal(plain, weighted)


@given(n=st.integers(0, 12), d=st.integers(1, 3), seed=st.integers(0, 999))
def test_distinct_rows(n: int, d: int, seed: int) -> None:
    x = np.random.default_rng(seed).integers(-1, 2, (n, d)) * np.float32(0.5)
    rows = sorted(map(tuple, set(map(tuple, x.tolist()))))
    assert distinct_rows(x).tolist() == [rows.index(tuple(row)) for row in x.tolist()]


def test_wrong_arguments_are_named() -> None:
    with pytest.raises(InputError, match="number, 0 or more"):
        weisfeiler_lehman(mixed_batch(), rounds=-1)
