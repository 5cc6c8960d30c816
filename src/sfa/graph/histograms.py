"""Histograms of each graph's nodes, which know nothing of how the nodes are joined: embeddings without training."""

from __future__ import annotations

import torch
from torch import Tensor
from torch_geometric.data import Data

from sfa.graph.batches import check_batch
from sfa.graph.pattern import pattern_of
from sfa.graph.pooling import graph_of_nodes, sum_pool
from sfa.matrices import csr_matrix


def label_histogram(graphs: Data) -> Tensor:
    """``(G, d)`` sums of the node features of each graph: of one-hot labels, how many nodes have each."""
    check_batch(graphs)
    return sum_pool(graphs.x, graphs.ptr)


def degree_histogram(graphs: Data) -> Tensor:
    """``(G, 1 + largest degree)`` how many nodes of each graph have 0, 1, 2, … neighbours; weights do not count.

    The matrix is CSR, for a single hub makes it as wide as the hub's degree.
    """
    check_batch(graphs)
    degree = pattern_of(graphs.edge_index, graphs.num_nodes).edge_rowptr.diff()
    return label_counts(degree[None], graphs.ptr)


def label_counts(labels: Tensor, ptr: Tensor) -> Tensor:
    """How often each graph has each label, as a CSR matrix ``(G, width)`` in float32.

    Args:
        labels: ``(k, N)``, ``k`` labels of each node from 0 on, which count in columns of their own: the width is
            the sum of the ``k`` numbers ``1 + largest label``.
        ptr: ``(G + 1,)`` where each graph's nodes begin.
    """
    widths = [int(each.max()) + 1 if len(each) else 0 for each in labels]
    width, graphs = sum(widths), len(ptr) - 1
    first = torch.tensor([0, *widths[:-1]], device=ptr.device).cumsum(0)
    keys = (graph_of_nodes(ptr, labels.shape[1]) * width + labels + first[:, None]).flatten()
    entries, counts = torch.unique_consecutive(keys.sort().values, return_counts=True)
    row, col = entries // max(width, 1), entries % max(width, 1)
    rowptr = torch.searchsorted(row, torch.arange(graphs + 1, device=ptr.device))
    return csr_matrix(rowptr, col, counts.float(), (graphs, width))
