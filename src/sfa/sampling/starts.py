"""Nodes to start from, with the whole graph around them (for methods that walk: DeepWalk, node2vec)."""

from __future__ import annotations

import copy

import torch
from torch import Tensor
from torch_geometric.data import Data

from sfa.ranges import Count
from sfa.registry import register
from sfa.sampling.graph_sampler import GraphSampler


@register("sampler", "starts")
class Starts(GraphSampler):
    """The whole graph with ``seeds`` ``(k,)``, the nodes that a step starts from; every node once an epoch.

    The batch has the graph's own tensors, of which there is no copy, and neither ``nodes`` nor ``roots``: its nodes are
    the graph's.

    Args:
        graph: The whole graph.
        batch_size: Starts of a step at most.
    """

    for_walks = True

    def __init__(self, graph: Data, *, batch_size: Count = 128) -> None:
        super().__init__(graph, batch_size=batch_size)

    def subgraph(self, seeds: Tensor, generator: torch.Generator) -> Data:
        batch = copy.copy(self.graph)
        batch.seeds = seeds
        return batch
