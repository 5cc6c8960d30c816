"""Pairs of nodes that are not joined."""

from __future__ import annotations

import torch
from torch import Tensor
from torch_geometric.data import Data

from sfa.graph.pattern import Pattern, pattern_of


def random_non_edges(pattern: Pattern, count: int, generator: torch.Generator | None = None) -> Tensor:
    """``(2, count)`` ordered pairs of different nodes without an edge, every one as likely, with replacement.

    The zeros of ``A + I`` have ranks in the order of the matrix's entries; a rank is drawn and looked up among the
    ones, so that no pair is drawn in vain even on a dense graph. There are none, ``(2, 0)``, of a complete graph.
    """
    n, device = pattern.num_nodes, pattern.col.device
    row = torch.arange(n, device=device).repeat_interleave(pattern.rowptr.diff())
    zeros_before = row * n + pattern.col - torch.arange(len(row), device=device)
    zeros = n * n - len(row)
    if zeros == 0:
        return pattern.col.new_empty(2, 0)
    rank = torch.randint(zeros, (count,), generator=generator, device=device)
    place = rank + torch.searchsorted(zeros_before, rank, right=True)
    return torch.stack([place // n, place % n])


def ones_and_zeros(graph: Data, generator: torch.Generator | None) -> tuple[Tensor, Tensor]:
    """Return all pairs that are one in ``A + I``, ``(2, m + n)``, and draw as many of those that are zero."""
    pattern = pattern_of(graph.edge_index, graph.num_nodes)
    row = torch.arange(pattern.num_nodes, device=pattern.col.device).repeat_interleave(pattern.rowptr.diff())
    return torch.stack([row, pattern.col]), random_non_edges(pattern, len(row), generator)
