"""Subgraphs of random walks (GraphSAINT: Zeng et al., 2020)."""

from __future__ import annotations

import torch
from torch import Tensor
from torch_geometric.data import Data

from sfa.graph.walks import Transitions, random_walks
from sfa.ranges import Count, check_whole
from sfa.registry import register
from sfa.sampling.base import GraphSampler


@register("sampler", "random-walks")
class RandomWalks(GraphSampler):
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
        self._transitions = Transitions(self._structure)

    def subgraph(self, seeds: Tensor, generator: torch.Generator) -> Data:
        walks = random_walks(self._transitions, seeds, self.length, generator)
        return self._induce(torch.unique(walks))
