"""The propagation of the paper's Eq. 1: sums over neighbours, weighted by the normalised adjacency."""

from __future__ import annotations

import torch
from torch import Tensor
from torch_geometric.data import Data

from sfa.errors import InputError
from sfa.graph.pattern import Pattern, pattern_of
from sfa.graph.products import some_rows, sparse_product
from sfa.matrices import csr_matrix


class Propagation:
    """A symmetric sparse matrix that spreads features over a graph, and its own transpose on the way back.

    Args:
        matrix: CSR ``(n, n)``.
    """

    def __init__(self, matrix: Tensor) -> None:
        self.matrix = matrix

    def __matmul__(self, h: Tensor) -> Tensor:
        """``(n, d)`` features summed over neighbours; differentiable in ``h``."""
        return sparse_product(self.matrix, self.matrix, h)

    def rows(self, start: int, stop: int) -> Tensor:
        """Some rows as a CSR tensor ``(stop - start, n)``."""
        return some_rows(self.matrix, start, stop)


class Adjacency(Propagation):
    r"""The normalised adjacency :math:`\hat D^{-1/2} (A + I) \hat D^{-1/2}` of a graph or of a view of one.

    A view has the edges of its graph, some with weight 0, and so the :class:`~sfa.graph.pattern.Pattern` is the
    graph's: nothing is sorted.
    """

    def __init__(self, pattern: Pattern, edge_weight: Tensor | None = None, dtype: torch.dtype | None = None) -> None:
        self.pattern = pattern
        weights = pattern.rowptr.new_ones(len(pattern.col), dtype=dtype or torch.get_default_dtype())
        _ = pattern.edge_twin  # refuses edges of one direction only
        if edge_weight is not None:
            weights[pattern.place] = _checked(pattern.sorted(edge_weight.detach()), pattern).to(weights.dtype)
        degree = torch.segment_reduce(weights, "sum", offsets=pattern.rowptr)
        scale = degree.rsqrt()
        counts = pattern.rowptr.diff()
        self.values = weights.mul_(scale.repeat_interleave(counts, output_size=len(weights))).mul_(scale[pattern.col])
        super().__init__(csr_matrix(pattern.rowptr, pattern.col, self.values, (pattern.num_nodes, pattern.num_nodes)))

    @classmethod
    def of(cls, graph: Data, dtype: torch.dtype | None = None) -> Adjacency:
        """That of a graph, with its ``edge_weight`` if it has any."""
        return cls(pattern_of(graph.edge_index, graph.num_nodes), graph.edge_weight, dtype)


def propagation_of(graph: Data, dtype: torch.dtype | None = None) -> Propagation:
    """What the graph says its features are spread by: its ``propagation``, or else its normalised adjacency."""
    matrix = graph.get("propagation")
    return Adjacency.of(graph, dtype) if matrix is None else Propagation(matrix.to(dtype or matrix.dtype))


def _checked(weight: Tensor, pattern: Pattern) -> Tensor:
    """Weights of the sorted edges that are the same in both directions, and not negative."""
    if not bool(((weight == weight[pattern.edge_twin]) & (weight >= 0)).all()):
        raise InputError(
            "The edge weights are negative, NaN or not the same in both directions: make the graph with "
            "sfa.data.as_graph."
        )
    return weight
