"""Embeddings of graphs without training: histograms of their nodes, and Weisfeiler–Lehman subtree counts."""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch_geometric.data import Data

from sfa.graph.batches import check_batch, graph_of_nodes, sum_pool
from sfa.graph.structure import structure_of
from sfa.matrices import to_csr
from sfa.ranges import check_whole

Labels = NDArray[np.int64]


def label_histogram(graphs: Data) -> Tensor:
    """Sum the node features of each graph, ``(G, d)``: of one-hot labels, the number of nodes with each."""
    check_batch(graphs)
    return sum_pool(graphs.x, graphs.ptr)


def degree_histogram(graphs: Data) -> Tensor:
    """Count the nodes of each graph with 0, 1, 2, … neighbors, a CSR matrix ``(G, 1 + largest degree)``."""
    check_batch(graphs)
    degree = structure_of(graphs).edge_rowptr.diff()
    return label_counts(degree[None], graphs.ptr)


def label_counts(labels: Tensor, ptr: Tensor) -> Tensor:
    """Count the labels ``(k, N)`` of each graph in a CSR matrix ``(G, width)``, those of each row in own columns."""
    widths = [int(each.max()) + 1 if len(each) else 0 for each in labels]
    shape = (len(ptr) - 1, sum(widths))
    first = torch.tensor([0, *widths[:-1]], device=ptr.device).cumsum(0)
    graph = graph_of_nodes(ptr, labels.shape[1]).expand(labels.shape)
    entries = torch.stack([graph.flatten(), (labels + first[:, None]).flatten()])
    counts = torch.sparse_coo_tensor(entries, torch.ones_like(entries[0]), shape, check_invariants=False).coalesce()
    return to_csr(counts.float())


def weisfeiler_lehman(graphs: Data, *, rounds: int = 3) -> Tensor:
    r"""Compute the feature map of the Weisfeiler–Lehman subtree kernel (Shervashidze et al., 2011).

    .. math::
        \phi(G)_{r, c} = \big| \{ i \in G : \ell_i^{(r)} = c \} \big|, \qquad
        \ell_i^{(r+1)} = f\big( \ell_i^{(r)}, \{\!\{ \ell_j^{(r)} : j \sim i \}\!\} \big), \qquad r = 0, \dots, R

    with an injective :math:`f`, the same for all graphs. The first labels are the distinct rows of ``x``; edge weights
    do not count. The inner product of two rows of the result, a CSR matrix ``(G, F)``, is the kernel.
    """
    check_whole("rounds", rounds, 0)
    check_batch(graphs)
    structure = structure_of(graphs)
    rowptr, col = structure.edge_rowptr.cpu().numpy(), structure.edge_col.cpu().numpy()
    labels = [distinct_rows(graphs.x.detach().cpu().numpy())]
    for _ in range(rounds):
        labels.append(_refine(labels[-1], rowptr, col))
    return label_counts(torch.from_numpy(np.stack(labels)), graphs.ptr.cpu())


def distinct_rows(x: NDArray[np.floating]) -> Labels:
    """Return the place of each row of ``x`` ``(n, d)`` among its distinct rows, in lexicographic order."""
    order = np.lexsort(x.T[::-1])  # many times as fast as np.unique(x, axis=0)
    ordered = x[order]
    labels = np.zeros(len(x), dtype=np.int64)
    labels[order[1:]] = (ordered[1:] != ordered[:-1]).any(1).cumsum()
    return labels


def _refine(labels: Labels, rowptr: Labels, col: Labels) -> Labels:
    """Return labels ``(n,)`` that are equal where the old ones are, and those of the neighbors as multisets."""
    degree, width = np.diff(rowptr), labels.max(initial=0) + 1
    row = np.arange(len(labels)).repeat(degree)
    neighbors = np.sort(row * width + labels[col]) % width
    read, numbers, active = labels.copy(), width, np.arange(len(labels))
    for place in range(degree.max(initial=0)):  # each pair of (read so far, next label) gets a number of its own
        active = active[degree[active] > place]
        pairs, number = np.unique(read[active] * width + neighbors[rowptr[active] + place], return_inverse=True)
        read[active] = numbers + number
        numbers += len(pairs)
    return np.asarray(np.unique(read, return_inverse=True)[1])
