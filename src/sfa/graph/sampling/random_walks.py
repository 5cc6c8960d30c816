"""Subgraphs of random walks (GraphSAINT: Zeng et al., 2020)."""

from __future__ import annotations

import torch
from torch import Tensor
from torch_geometric.data import Data

from sfa.graph.sampling.base import Sampler
from sfa.graph.sampling.draws import below
from sfa.ranges import Count, check_whole


class RandomWalks(Sampler):
    """All nodes that random walks from the seeds visit, all of them roots, and all edges among them.

    A step has at most ``batch_size · (length + 1)`` nodes. Finding its edges costs the sum of their degrees.

    Args:
        graph: The whole graph; its edge weights do not steer the walks.
        batch_size: Walks of a step at most.
        length: Edges of a walk.
    """

    def __init__(self, graph: Data, *, batch_size: Count = 512, length: Count = 3) -> None:
        check_whole("length", length, 1)
        super().__init__(graph, batch_size=batch_size)
        self.length = length

    def subgraph(self, seeds: Tensor, generator: torch.Generator) -> Data:
        walks = random_walks(self._pattern.edge_rowptr, self._pattern.edge_col, seeds, self.length, generator)
        return self._induced(torch.unique(walks))


def random_walks(rowptr: Tensor, col: Tensor, seeds: Tensor, length: int, generator: torch.Generator) -> Tensor:
    """``(length + 1, k)``: a simple random walk from each of ``k`` nodes, which stays where there is no neighbour."""
    walks = [seeds]
    for _ in range(length):
        here = walks[-1].clone()
        degree = rowptr[here + 1] - rowptr[here]
        moving = degree > 0
        here[moving] = col[rowptr[here[moving]] + below(degree[moving], generator)]
        walks.append(here)
    return torch.stack(walks)
