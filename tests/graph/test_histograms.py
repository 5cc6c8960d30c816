"""Histograms of graphs against counting node by node."""

from collections import Counter
from itertools import pairwise

import networkx as nx
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch_geometric.data import Data

from sfa.errors import InputError
from sfa.evaluate.baselines import BASELINES
from sfa.graph.histograms import degree_histogram, label_counts, label_histogram
from tests.graph.graph_batches import batches, mixed_batch, single_graphs, to_batch, to_data


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


OF_GRAPHS = BASELINES["graph"]


@pytest.mark.parametrize("name", OF_GRAPHS)
def test_every_untrained_embedding_has_one_row_a_graph(name: str) -> None:
    batch = mixed_batch()
    embedding = OF_GRAPHS[name](batch)
    assert embedding.shape[0] == 6
    assert embedding.dtype == torch.float32
    assert not embedding.to_dense()[1].any()  # of the graph without nodes
    with pytest.raises(InputError, match="ptr"):
        OF_GRAPHS[name](to_data(nx.path_graph(3)))
