"""Centralities of nodes: degree, PageRank and leading eigenvector, in memory linear in nodes and edges.

All take ``edge_index`` ``(2, m)`` with every undirected edge in both directions, no self-loop and no duplicate, the
number of nodes, and weights ``(m,)`` if there are any. They return ``(n,)`` in float64.
"""

import math
from collections.abc import Callable
from typing import Literal

import torch
from torch import Tensor

from sfa.graph.structure import csr_structure
from sfa.matrices import csr_matrix

Centrality = Literal["degree", "pagerank", "eigenvector"]


def degree(edge_index: Tensor, num_nodes: int, weight: Tensor | None = None) -> Tensor:
    """Count the edges at each node, or sum their weights; 0 for an isolated node."""
    adjacency = _adjacency(edge_index, num_nodes, weight)
    return torch.segment_reduce(adjacency.values(), "sum", offsets=adjacency.crow_indices(), initial=0)


def pagerank(
    edge_index: Tensor, num_nodes: int, weight: Tensor | None = None, damping: float = 0.85, tolerance: float = 1e-10
) -> Tensor:
    r"""Compute PageRank (Page et al., 1999): :math:`p = \alpha A D^{-1} p + (1 - \alpha + \alpha\, p_0) / n`, of sum 1.

    The damping :math:`\alpha` is the probability of following an edge, and :math:`p_0` the sum over isolated nodes.
    Power iteration, whose error shrinks by :math:`\alpha` in each step, ends when the sum of absolute errors is certain
    to be below the tolerance.
    """
    if num_nodes == 0:
        return torch.empty(0, dtype=torch.float64, device=edge_index.device)
    adjacency = _adjacency(edge_index, num_nodes, weight)
    sums = degree(edge_index, num_nodes, weight)
    isolated = sums == 0
    p = torch.full_like(sums, 1 / num_nodes)
    for _ in range(math.ceil(math.log(tolerance / 2) / math.log(damping))):  # the error is 2 at most at first
        followed = (adjacency @ (p / sums.where(~isolated, 1))[:, None])[:, 0]
        anywhere = (1 - damping + damping * p[isolated].sum()) / num_nodes
        p, before = damping * followed + anywhere, p
        if float((p - before).abs().sum()) * damping <= tolerance * (1 - damping):
            break
    return p


def eigenvector_centrality(
    edge_index: Tensor, num_nodes: int, weight: Tensor | None = None, tolerance: float = 1e-10, iterations: int = 10_000
) -> Tensor:
    r"""Compute the leading eigenvector of the adjacency (Bonacich, 1972), :math:`A c = \lambda_{\max} c`, of length 1.

    Power iteration on :math:`A / \bar w + I`, whose shift makes it converge on bipartite graphs too, ends when a step
    changes no entry by more than the tolerance. Of a disconnected graph the component of the largest eigenvalue has all
    the centrality; without any edge all nodes are alike.
    """
    c = torch.full((num_nodes,), 1 / math.sqrt(max(1, num_nodes)), dtype=torch.float64, device=edge_index.device)
    weight = _weights(edge_index, weight)
    if not bool((weight > 0).any()):
        return c
    adjacency = _adjacency(edge_index, num_nodes, weight / weight.mean())
    for _ in range(iterations):
        following = c + (adjacency @ c[:, None])[:, 0]
        c, before = following / torch.linalg.vector_norm(following), c
        if float((c - before).abs().max()) <= tolerance:
            break
    return c


CENTRALITIES: dict[Centrality, Callable[[Tensor, int, Tensor | None], Tensor]] = {
    "degree": degree,
    "pagerank": pagerank,
    "eigenvector": eigenvector_centrality,
}


def _weights(edge_index: Tensor, weight: Tensor | None) -> Tensor:
    if weight is None:
        return torch.ones(edge_index.shape[1], dtype=torch.float64, device=edge_index.device)
    return weight.detach().double()


def _adjacency(edge_index: Tensor, num_nodes: int, weight: Tensor | None) -> Tensor:
    structure = csr_structure(edge_index, num_nodes)
    values = structure.sorted(_weights(edge_index, weight))
    return csr_matrix(structure.edge_rowptr, structure.edge_col, values, (num_nodes, num_nodes))
