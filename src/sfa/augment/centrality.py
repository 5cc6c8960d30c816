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
from sfa.nn.sparse import sparse_product
from sfa.ranges import check_number, check_whole

Centrality = Literal["degree", "pagerank", "eigenvector"]


def degree(edge_index: Tensor, num_nodes: int, edge_weight: Tensor | None = None) -> Tensor:
    """Count the edges at each node, or sum their weights.

    Args:
        edge_index: ``(2, m)``, every undirected edge given in both directions, no self-loop and no duplicate.
        num_nodes: ``n``.
        edge_weight: ``(m,)``, not negative and the same in both directions; 1 if not given.

    Returns:
        ``(n,)`` in float64; 0 for an isolated node.
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

    where :math:`p_0` is the share of the isolated nodes, which have no edge to follow and are left for anywhere. Each
    power iteration shrinks the error by :math:`\alpha`, on every graph.

    Args:
        edge_index: As for :func:`degree`, as are the next two.
        num_nodes: ``n``.
        edge_weight: Edges are followed in proportion to their weights.
        damping: :math:`\alpha`, the probability of following an edge; below 1.
        tolerance: The iteration ends when the error is certain to be below it, in the sum of absolute values.

    Returns:
        ``(n,)`` in float64.
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
        followed = _product(adjacency, p / sums.where(~isolated, 1))
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

    by power iteration on :math:`A / \bar w + I` from equal values, with the mean weight :math:`\bar w`. The shift
    makes the iteration converge on bipartite graphs too, where :math:`-\lambda_{\max}` is an eigenvalue as well, and
    scaling by the mean makes it blind to the unit of the weights. Of a disconnected graph the component of the largest
    eigenvalue has all the centrality; components that tie share it, as the projection of equal values on their
    eigenvectors says. Isolated nodes get (nearly) 0, unless there is no edge at all: then all nodes are alike.

    Args:
        edge_index: As for :func:`degree`, as are the next two.
        num_nodes: ``n``.
        edge_weight: The entries of :math:`A`; 1 if not given.
        tolerance: The iteration ends when a step changes no entry by more.
        iterations: Steps at most. Where the second eigenvalue all but equals the first, as on a long path, the last
            step's vector, a mixture of their eigenvectors, is taken.

    Returns:
        ``(n,)`` in float64.
    """
    check_number("tolerance", tolerance, above=0)
    check_whole("iterations", iterations, 1)
    c = torch.full((num_nodes,), 1 / math.sqrt(max(1, num_nodes)), dtype=torch.float64, device=edge_index.device)
    weight = _weights(edge_index, edge_weight)
    if not bool((weight > 0).any()):
        return c
    adjacency = _adjacency(edge_index, num_nodes, weight / weight.mean())
    for _ in range(iterations):
        following = c + _product(adjacency, c)
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


def _product(matrix: Tensor, vector: Tensor) -> Tensor:
    return sparse_product(matrix, matrix, vector[:, None])[:, 0]
