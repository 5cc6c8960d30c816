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
    """A sparse matrix that spreads features over a graph.

    Args:
        matrix: CSR ``(n, n)``.
        transposed: Its transpose, for the backward pass; the matrix itself if it is symmetric.
    """

    def __init__(self, matrix: Tensor, transposed: Tensor | None = None) -> None:
        self.matrix = matrix
        self.transposed = matrix if transposed is None else transposed

    def __matmul__(self, h: Tensor) -> Tensor:
        """Sum features ``(n, d)`` over neighbors; differentiable in ``h``."""
        return sparse_product(self.matrix, self.transposed, h)

    def rows(self, start: int, stop: int) -> Tensor:
        """Some rows as a CSR tensor ``(stop - start, n)``."""
        return some_rows(self.matrix, start, stop)


class Adjacency(Propagation):
    r"""The normalized adjacency :math:`\hat D^{-1/2} (A + I) \hat D^{-1/2}` of a graph or of a view of one.

    A view has the edges of its graph, some with weight 0, and so the :class:`~sfa.graph.pattern.Pattern` is the
    graph's: nothing is sorted.

    Args:
        pattern: Of the graph's edges.
        edge_weight: ``(m,)`` in the order of the given edges; 1 if not given.
        dtype: Of the matrix.
        directed: Weights may differ between the two directions of an edge. The weight of an edge ``(source, target)``
            then counts for what the target receives, and :math:`\hat D` sums what each node receives, as in PyTorch
            Geometric.
    """

    def __init__(
        self,
        pattern: Pattern,
        edge_weight: Tensor | None = None,
        dtype: torch.dtype | None = None,
        *,
        directed: bool = False,
    ) -> None:
        self.pattern = pattern
        weights = pattern.rowptr.new_ones(len(pattern.col), dtype=dtype or torch.get_default_dtype())
        twin = pattern.edge_twin  # refuses edges of one direction only
        if edge_weight is not None:
            given = _checked(pattern.sorted(edge_weight.detach()), pattern, directed)
            # Row i of the matrix holds what node i receives: of a directed edge, the weight of (j, i).
            weights[pattern.place] = (given[twin] if directed else given).to(weights.dtype)
        degree = torch.segment_reduce(weights, "sum", offsets=pattern.rowptr)
        scale = degree.rsqrt()
        counts = pattern.rowptr.diff()
        self.values = weights.mul_(scale.repeat_interleave(counts, output_size=len(weights))).mul_(scale[pattern.col])
        shape = (pattern.num_nodes, pattern.num_nodes)
        matrix = csr_matrix(pattern.rowptr, pattern.col, self.values, shape)
        transposed = None
        if directed:
            values = self.values.clone()
            values[pattern.place] = self.values[pattern.place][twin]
            transposed = csr_matrix(pattern.rowptr, pattern.col, values, shape)
        super().__init__(matrix, transposed)

    @classmethod
    def of(cls, graph: Data, dtype: torch.dtype | None = None) -> Adjacency:
        """Build that of a graph, with its ``edge_weight`` if it has any; see :func:`~sfa.augment.node.random_view`."""
        pattern = pattern_of(graph.edge_index, graph.num_nodes)
        return cls(pattern, graph.edge_weight, dtype, directed=bool(graph.get("directed")))


def propagation_of(graph: Data, dtype: torch.dtype | None = None) -> Propagation:
    """What the graph says its features are spread by: its ``propagation``, or else its normalised adjacency."""
    matrix = graph.get("propagation")
    return Adjacency.of(graph, dtype) if matrix is None else Propagation(matrix.to(dtype or matrix.dtype))


def _checked(weight: Tensor, pattern: Pattern, directed: bool) -> Tensor:
    """Return weights of the sorted edges that are not negative and, unless directed, the same in both directions."""
    is_right = weight >= 0 if directed else (weight == weight[pattern.edge_twin]) & (weight >= 0)
    if not bool(is_right.all()):
        raise InputError(
            "The edge weights are negative, NaN or not the same in both directions: make the graph with "
            "sfa.data.as_graph."
        )
    return weight
