"""No sampling: the graph itself is the one batch."""

from __future__ import annotations

import torch
from torch import Tensor
from torch_geometric.data import Data

from sfa.graph.structure import sort_edges
from sfa.registry import register
from sfa.sampling.base import GraphSampler


@register("sampler", "whole")
class WholeGraph(GraphSampler):
    """The whole graph, one step an epoch.

    Its batch is the graph itself, the same object, without ``nodes`` and ``roots``.
    A part of the nodes as seeds, in one of several processes, gives a graph with all nodes and edges in which these
    nodes come first and are the roots.
    """

    def __init__(self, graph: Data) -> None:
        super().__init__(graph, batch_size=max(1, int(graph.num_nodes)))

    def subgraph(self, seeds: Tensor, generator: torch.Generator) -> Data:
        if len(seeds) == self.num_seeds:
            return self.graph
        with self._numbering as numbers:
            numbers.add(seeds)
            everyone = torch.arange(self.num_seeds)
            numbers.add(everyone[numbers[everyone] < 0])
            nodes = numbers.nodes
            row, col = (numbers[ends] for ends in self.graph.edge_index)
        edge_index, given = sort_edges(row, col, len(nodes))
        weight = None if self.graph.edge_weight is None else self.graph.edge_weight[given]
        return self._cut(nodes, edge_index, weight, roots=len(seeds))
