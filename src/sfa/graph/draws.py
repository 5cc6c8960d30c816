"""Random draws on graphs: whole numbers below bounds, pairs of nodes without an edge, means over drawn neighbors."""

import torch
from torch import Tensor
from torch_geometric.data import Data

from sfa.graph.structure import CSRStructure, csr_structure, expand_rowptr


def draw_uniform(like: Tensor, generator: torch.Generator | None) -> Tensor:
    """Draw float64 numbers in ``[0, 1)`` in the shape and on the device of a tensor."""
    return torch.rand(like.shape, dtype=torch.float64, generator=generator, device=like.device)


def draw_below(bounds: Tensor, generator: torch.Generator | None) -> Tensor:
    """Draw for each of the bounds ≥ 1 a whole number from 0 to the bound minus 1."""
    # No product of a float64 below 1 and a whole number rounds up to that number.
    return (draw_uniform(bounds, generator) * bounds).long()


def below(bounds: Tensor, generator: torch.Generator | None) -> Tensor:
    """Draw as :func:`draw_below` does, but from 63 random bits."""
    return torch.randint(2**63 - 1, bounds.shape, generator=generator, device=bounds.device) % bounds


def distinct_below(bounds: Tensor, count: int, generator: torch.Generator) -> Tensor:
    """Draw ``count`` different numbers below each of ``k`` bounds ≥ ``count``, ``(count, k)``; any set is as likely.

    Floyd's algorithm for all bounds at once: for ``j = b - count, …, b - 1`` draw a number from 0 to ``j`` and take it,
    or ``j`` itself if it was taken before.
    """
    last = bounds - count + torch.arange(count)[:, None]
    picks = below(last + 1, generator)
    for i in range(1, count):
        taken = (picks[:i] == picks[i]).any(0)
        picks[i] = torch.where(taken, last[i], picks[i])
    return picks


def random_non_edges(structure: CSRStructure, count: int, generator: torch.Generator | None = None) -> Tensor:
    """Draw ``(2, count)`` ordered pairs of different nodes without an edge, uniformly and with replacement.

    A rank among the zeros of ``A + I`` is drawn and looked up, so that no pair is rejected. A complete graph has none.
    """
    n, col = structure.num_nodes, structure.col
    zeros_before = expand_rowptr(structure.rowptr) * n + col - torch.arange(len(col), device=col.device)
    zeros = n * n - len(col)
    if zeros == 0:
        return col.new_empty(2, 0)
    rank = torch.randint(zeros, (count,), generator=generator, device=col.device)
    place = rank + torch.searchsorted(zeros_before, rank, right=True)
    return torch.stack([place // n, place % n])


def ones_and_zeros(graph: Data, generator: torch.Generator | None) -> tuple[Tensor, Tensor]:
    """Return all pairs that are one in ``A + I``, ``(2, m + n)``, and draw as many that are zero."""
    structure = csr_structure(graph.edge_index, graph.num_nodes)
    ones = torch.stack([expand_rowptr(structure.rowptr), structure.col])
    return ones, random_non_edges(structure, ones.shape[1], generator)


def sampled_means(h: Tensor, graph: Data, count: int, draws: int, generator: torch.Generator | None) -> Tensor:
    """Compute means ``(count, d)`` of ``draws`` rows of ``h``, drawn from a node and its neighbors with replacement."""
    structure = csr_structure(graph.edge_index, graph.num_nodes)
    start, stop = structure.rowptr[:count], structure.rowptr[1 : count + 1]
    drawn = structure.col[start + below((stop - start).expand(draws, count), generator)]
    return torch.stack([h[rows] for rows in drawn]).mean(0)
