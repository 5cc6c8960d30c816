"""The propagation of the paper's Eq. 1: sums over neighbours, weighted by the normalised adjacency."""

from __future__ import annotations

from functools import cached_property

import torch
from torch import Tensor
from torch_geometric.data import Data

from sfa.graph.pattern import Pattern, pattern_of
from sfa.graph.products import some_rows, sparse_product
from sfa.matrices import csr_matrix


class Adjacency:
    r"""The normalised adjacency :math:`\hat D^{-1/2} (A + I) \hat D^{-1/2}` of a graph or of a view of one.

    A view has the edges of its graph, some with weight 0, and so the :class:`~sfa.graph.pattern.Pattern` is the
    graph's: nothing is sorted, neither for a view nor for its transpose.
    """

    def __init__(self, pattern: Pattern, edge_weight: Tensor | None = None, dtype: torch.dtype | None = None) -> None:
        self.pattern = pattern
        weights = pattern.rowptr.new_ones(len(pattern.col), dtype=dtype or torch.get_default_dtype())
        if edge_weight is not None:
            weights[pattern.place] = pattern.sorted(edge_weight).to(weights.dtype)
        degree = torch.segment_reduce(weights, "sum", offsets=pattern.rowptr)
        scale = degree.rsqrt()
        counts = pattern.rowptr.diff()
        self.values = weights.mul_(scale.repeat_interleave(counts, output_size=len(weights))).mul_(scale[pattern.col])

    @classmethod
    def of(cls, graph: Data, dtype: torch.dtype | None = None) -> Adjacency:
        """That of a graph, with its ``edge_weight`` if it has any."""
        return cls(pattern_of(graph.edge_index, graph.num_nodes), graph.edge_weight, dtype)

    def __matmul__(self, h: Tensor) -> Tensor:
        """``(n, d)`` features summed over neighbours; differentiable in ``h``."""
        return sparse_product(self.matrix, self.transposed if h.requires_grad else self.matrix, h)

    @cached_property
    def matrix(self) -> Tensor:
        """All of it as a CSR tensor ``(n, n)``."""
        nodes = self.pattern.num_nodes
        return csr_matrix(self.pattern.rowptr, self.pattern.col, self.values, (nodes, nodes))

    @cached_property
    def transposed(self) -> Tensor:
        """Its transpose, which differs only where edge weights are not symmetric: the same pattern, other values."""
        values, nodes = self.values[self.pattern.twin], self.pattern.num_nodes
        return csr_matrix(self.pattern.rowptr, self.pattern.col, values, (nodes, nodes))

    def rows(self, start: int, stop: int) -> Tensor:
        """Some rows as a CSR tensor ``(stop - start, n)``."""
        return some_rows(self.matrix, start, stop)
