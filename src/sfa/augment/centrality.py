"""Which nodes of a graph matter: degree, PageRank and eigenvector centrality, in memory linear in nodes and edges."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Literal

import torch
from torch import Tensor

from sfa.errors import unknown_name
from sfa.graph.structure import csr_structure
from sfa.matrices import csr_matrix
from sfa.ranges import check_number, check_whole

Centrality = Literal["degree", "pagerank", "eigenvector"]


def degree(edge_index: Tensor, num_nodes: int, edge_weight: Tensor | None = None) -> Tensor:
    """Count the edges at each node, or sum their weights ``(m,)``: ``(n,)`` in float64, 0 for an isolated node.

    ``edge_index`` ``(2, m)`` has every undirected edge in both directions, no self-loop and no duplicate.
    """
    structure = csr_structure(edge_index, num_nodes)
    weight = structure.sorted(_weights(edge_index, edge_weight))
    return torch.segment_reduce(weight, "sum", offsets=structure.edge_rowptr, initial=0)


def pagerank(
    edge_index: Tensor,
    num_nodes: int,
    edge_weight: Tensor | None = None,
    *,
    damping: float = 0.85,
    tolerance: float = 1e-10,
) -> Tensor:
    r"""Compute PageRank (Page et al., 1999): where a walk is found that follows edges and at times restarts anywhere.

    .. math::
        p = \alpha A D^{-1} p + (1 - \alpha + \alpha\, p_0) \tfrac{1}{n} \mathbf{1}, \qquad \sum_i p_i = 1,

    where :math:`p_0` is the share of the isolated nodes, which have no edge to follow and are left for anywhere, and
    the damping :math:`\alpha` is the probability of following an edge, by its weight. Each power iteration shrinks the
    error by :math:`\alpha`; it ends when the sum of absolute errors is certain to be below the tolerance. Arguments and
    result are those of :func:`degree`.
    """
    check_number("damping", damping, at_most=1 - 1e-6)
    check_number("tolerance", tolerance, above=0)
    if num_nodes == 0:
        return torch.empty(0, dtype=torch.float64, device=edge_index.device)
    adjacency = _adjacency(edge_index, num_nodes, edge_weight)
    sums = degree(edge_index, num_nodes, edge_weight)
    isolated = sums == 0
    p = torch.full_like(sums, 1 / num_nodes)
    # The error is 2 at most before the first step, and shrinks by the damping in each.
    steps = 1 if damping == 0 else max(1, math.ceil(math.log(tolerance / 2) / math.log(damping)))
    for _ in range(steps):
        followed = (adjacency @ (p / sums.where(~isolated, 1))[:, None])[:, 0]
        anywhere = (1 - damping + damping * p[isolated].sum()) / num_nodes
        p, before = damping * followed + anywhere, p
        if float((p - before).abs().sum()) * damping <= tolerance * (1 - damping):
            break
    return p


def eigenvector_centrality(
    edge_index: Tensor,
    num_nodes: int,
    edge_weight: Tensor | None = None,
    *,
    tolerance: float = 1e-10,
    iterations: int = 10_000,
) -> Tensor:
    r"""Compute the leading eigenvector of the adjacency (Bonacich, 1972): important nodes have important neighbors.

    .. math::
        A c = \lambda_{\max} c, \qquad \|c\|_2 = 1, \qquad c \ge 0

    by power iteration on :math:`A / \bar w + I` from equal values, with the mean weight :math:`\bar w`, until a step
    changes no entry by more than the tolerance. The shift makes it converge on bipartite graphs too, where
    :math:`-\lambda_{\max}` is an eigenvalue as well. Of a disconnected graph the component of the largest eigenvalue
    has all the centrality; components that tie share it. Isolated nodes get (nearly) 0; without any edge all nodes are
    alike. Where the second eigenvalue all but equals the first, as on a long path, the last step's vector, a mixture of
    their eigenvectors, is taken. Arguments and result are those of :func:`degree`.
    """
    check_number("tolerance", tolerance, above=0)
    check_whole("iterations", iterations, 1)
    c = torch.full((num_nodes,), 1 / math.sqrt(max(1, num_nodes)), dtype=torch.float64, device=edge_index.device)
    weight = _weights(edge_index, edge_weight)
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


def resolve_centrality(name: Centrality) -> Callable[[Tensor, int, Tensor | None], Tensor]:
    """Return the centrality called ``name``: a function of edges, number of nodes and weights, ``(n,)`` in float64."""
    if name not in CENTRALITIES:
        raise unknown_name("centrality", name, CENTRALITIES)
    return CENTRALITIES[name]


def _weights(edge_index: Tensor, edge_weight: Tensor | None) -> Tensor:
    if edge_weight is None:
        return torch.ones(edge_index.shape[1], dtype=torch.float64, device=edge_index.device)
    return edge_weight.detach().double()


def _adjacency(edge_index: Tensor, num_nodes: int, edge_weight: Tensor | None) -> Tensor:
    structure = csr_structure(edge_index, num_nodes)
    weight = structure.sorted(_weights(edge_index, edge_weight))
    return csr_matrix(structure.edge_rowptr, structure.edge_col, weight, (num_nodes, num_nodes))
