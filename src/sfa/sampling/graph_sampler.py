"""Batches that are pieces of one graph, or of the union of a set's."""

from __future__ import annotations

import torch
from torch import Tensor
from torch_geometric.data import Data

from sfa.graph.pattern import pattern_of
from sfa.graph.rows import row_entries, take_rows
from sfa.ranges import Count
from sfa.sampling.base import Sampler
from sfa.sampling.numbering import Numbering


class GraphSampler(Sampler):
    """A sampler whose batch is a graph: ``edge_index`` undirected and sorted, with the ``x`` and, if there are any, the
    ``edge_weight`` of the whole one. ``nodes`` ``(n_b,)`` are the numbers of its nodes there, and a loss counts the
    first ``roots`` of them.

    Beyond the graph and its compressed rows, memory is one number a node and what a batch needs. Seeds are nodes unless
    a subclass says otherwise.

    Args:
        graph: An undirected graph in memory (not on a GPU), as :func:`sfa.data.build_graph` makes it; its features may
            be dense, ``torch.sparse_csr`` or in a mapped file.
        batch_size: Seeds of a step at most.
    """

    def __init__(self, graph: Data, *, batch_size: Count = 1024) -> None:
        super().__init__(graph, batch_size=batch_size, num_seeds=int(graph.num_nodes))
        self._pattern = pattern_of(graph.edge_index, graph.num_nodes)
        self._weight = None if graph.edge_weight is None else self._pattern.sorted(graph.edge_weight)
        self._numbering = Numbering(graph.num_nodes)

    def _induced(self, nodes: Tensor) -> Data:
        """The batch of these nodes, in ascending order, with all edges among them and all of them roots.

        Every edge of every node is looked at, once: a hub costs its degree.
        """
        entries, rowptr = row_entries(self._pattern.edge_rowptr, nodes)
        with self._numbering as numbers:
            numbers.add(nodes)
            col = numbers[self._pattern.edge_col.index_select(0, entries)]
        inside = col >= 0
        row = torch.arange(len(nodes)).repeat_interleave(rowptr.diff(), output_size=len(col))
        weight = None if self._weight is None else self._weight[entries[inside]]
        return self._cut(nodes, torch.stack([row[inside], col[inside]]), weight, roots=len(nodes))

    def _cut(self, nodes: Tensor, edge_index: Tensor, edge_weight: Tensor | None, *, roots: int) -> Data:
        x = take_rows(self.graph.x, nodes)
        batch = Data(x=x, edge_index=edge_index, nodes=nodes, num_nodes=len(nodes), roots=roots)
        if edge_weight is not None:
            batch.edge_weight = edge_weight
        return batch
