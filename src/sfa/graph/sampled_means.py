"""Means over neighbors that are drawn at random."""

from __future__ import annotations

import torch
from torch import Tensor
from torch_geometric.data import Data

from sfa.graph.pattern import pattern_of


def sampled_means(h: Tensor, graph: Data, count: int, draws: int, generator: torch.Generator | None) -> Tensor:
    """Compute means ``(count, d)`` of so many rows of ``h``, each drawn from a node and its neighbors.

    Rows are drawn with replacement. A node without neighbors has itself. Of a weighted graph every neighbor is as
    likely.
    """
    pattern = pattern_of(graph.edge_index, graph.num_nodes)
    start, stop = pattern.rowptr[:count], pattern.rowptr[1 : count + 1]
    bits = torch.randint(2**63 - 1, (draws, count), generator=generator, device=h.device)
    drawn = pattern.col[start + bits % (stop - start)]
    return torch.stack([h[rows] for rows in drawn]).mean(0)
