"""Batches of whole graphs out of a set."""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor
from torch_geometric.data import Data

from sfa.errors import InputError
from sfa.graph.rows import row_entries, take_rows
from sfa.levels import Level, level_of
from sfa.ranges import Count
from sfa.registry import register
from sfa.sampling.graph_sampler import GraphSampler


@register("sampler", "graphs")
class Graphs(GraphSampler):
    """Some graphs of a set, whole: their disjoint union, as ``torch_geometric.data.Batch`` would collate them.

    A set is one union already, in which the nodes of a graph lie together and so do its edges: a batch is cut out of it
    by a few gathers, whatever the number of graphs.

    Args:
        graph: The set, with ``ptr``.
        batch_size: Graphs of a step at most.
    """

    seeds_are = "graphs"
    level: ClassVar[Level] = "graph"

    def __init__(self, graph: Data, *, batch_size: Count = 128) -> None:
        if level_of(graph) != "graph":
            raise InputError("The sampler graphs needs a set of graphs, and this is one graph.")
        super().__init__(graph, batch_size=batch_size)
        self.num_seeds = len(graph.ptr) - 1
        if self.num_seeds < 2:
            raise InputError(
                "There is one graph in the set, and at least 2 are needed to learn from; the nodes of one graph are "
                "embedded by NodeEmbedder."
            )

    def subgraph(self, seeds: Tensor, generator: torch.Generator) -> Data:
        """The union of these graphs, in the order of the seeds; ``graphs`` are their numbers in the set."""
        nodes, ptr = row_entries(self.graph.ptr, seeds)
        entries, rowptr = row_entries(self._pattern.edge_rowptr, nodes)
        sizes = ptr.diff()
        shift = (ptr[:-1] - self.graph.ptr[seeds]).repeat_interleave(sizes, output_size=len(nodes))
        row = torch.arange(len(nodes)).repeat_interleave(rowptr.diff(), output_size=len(entries))
        col = self._pattern.edge_col.index_select(0, entries) + shift.index_select(0, row)
        batch = Data(
            x=take_rows(self.graph.x, nodes),
            edge_index=torch.stack([row, col]),
            ptr=ptr,
            batch=torch.arange(len(seeds)).repeat_interleave(sizes, output_size=len(nodes)),
            graphs=seeds,
            num_nodes=len(nodes),
        )
        if self._weight is not None:
            batch.edge_weight = self._weight.index_select(0, entries)
        return batch
