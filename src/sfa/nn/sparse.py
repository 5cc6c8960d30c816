"""Sparse products of graph encoders: the normalized adjacency, sums over neighbors, and features in compressed rows."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch_geometric.data import Data

from sfa.errors import InputError
from sfa.graph.structure import WeakTensorCache, csr_structure, some_rows
from sfa.matrices import csr_matrix


class Propagation:
    """A CSR matrix ``(n, n)`` that spreads features over a graph, with its transpose for the backward pass.

    Without a transpose it is symmetric. With ``add_identity`` the product is that of ``matrix + I``.
    """

    def __init__(self, matrix: Tensor, transposed: Tensor | None = None, *, add_identity: bool = False) -> None:
        self.matrix = matrix
        self.transposed = matrix if transposed is None else transposed
        self.add_identity = add_identity

    def __matmul__(self, h: Tensor) -> Tensor:
        """Sum features ``(n, d)`` over neighbors; differentiable in ``h``."""
        return sparse_product(self.matrix, self.transposed, h, add_identity=self.add_identity)

    def rows(self, start: int, stop: int) -> Tensor:
        """Return some rows of the matrix as a CSR tensor ``(stop - start, n)``."""
        return some_rows(self.matrix, start, stop)


def propagation_of(graph: Data, dtype: torch.dtype | None = None) -> Propagation:
    """Return what a graph's features are spread by: its ``propagation``, or else its normalized adjacency."""
    matrix = graph.get("propagation")
    return normalized_adjacency(graph, dtype) if matrix is None else Propagation(matrix.to(dtype or matrix.dtype))


def normalized_adjacency(graph: Data, dtype: torch.dtype | None = None, *, directed: bool | None = None) -> Propagation:
    r"""Build :math:`\hat D^{-1/2} (A + I) \hat D^{-1/2}` of a graph or of a view of one (Eq. 1 of the paper).

    A view has the edges of its graph, some with weight 0, and so its :class:`~sfa.graph.structure.CSRStructure` is the
    graph's: nothing is sorted.

    Args:
        graph: With ``edge_weight`` ``(m,)`` if it has any; 1 if not. See :func:`~sfa.augment.node.random_view`.
        dtype: Of the matrix.
        directed: Weights may differ between the two directions of an edge; by default as the graph says. The weight of
            an edge ``(source, target)`` then counts for what the target receives, and :math:`\hat D` sums what each
            node receives, as in PyTorch Geometric.
    """
    structure = csr_structure(graph.edge_index, graph.num_nodes)
    directed = bool(graph.get("directed")) if directed is None else directed
    rowptr, col, place = structure.rowptr, structure.col, structure.place
    values = rowptr.new_ones(len(col), dtype=dtype or torch.get_default_dtype())
    twin = structure.edge_twin  # refuses edges of one direction only
    if graph.edge_weight is not None:
        weight = structure.sorted(graph.edge_weight.detach())
        if not bool(((weight >= 0) & (directed | (weight == weight[twin]))).all()):
            raise InputError(
                "The edge weights are negative, NaN or not the same in both directions: make the graph with "
                "sfa.data.as_graph."
            )
        # Row i of the matrix holds what node i receives: of a directed edge, the weight of (j, i).
        values[place] = (weight[twin] if directed else weight).to(values.dtype)
    scale = torch.segment_reduce(values, "sum", offsets=rowptr).rsqrt()
    values.mul_(scale.repeat_interleave(rowptr.diff(), output_size=len(values))).mul_(scale[col])
    shape = (structure.num_nodes, structure.num_nodes)
    transposed = None
    if directed:
        backward = values.clone()
        backward[place] = values[place][twin]
        transposed = csr_matrix(rowptr, col, backward, shape)
    return Propagation(csr_matrix(rowptr, col, values, shape), transposed)


def neighbor_sums(graph: Data, dtype: torch.dtype) -> Propagation:
    """Build :math:`A + I` of an undirected graph, or of a batch of them, with its ``edge_weight`` if it has any.

    The product itself adds the identity: a view in training has edges of its own and is seen once, so set-up is cheap.
    """
    structure = csr_structure(graph.edge_index, graph.num_nodes)
    twin = structure.edge_twin  # refuses edges of one direction only
    if graph.edge_weight is None:
        values = torch.ones(len(twin), dtype=dtype, device=twin.device)
    else:
        values = structure.sorted(graph.edge_weight.detach()).to(dtype)
        if not torch.equal(values, values[twin]):
            raise InputError(
                "The edge weights are NaN or not the same in both directions: make the graph with sfa.data.as_graph."
            )
    shape = (structure.num_nodes, structure.num_nodes)
    return Propagation(csr_matrix(structure.edge_rowptr, structure.edge_col, values, shape), add_identity=True)


def sparse_product(matrix: Tensor, transposed: Tensor, dense: Tensor, *, add_identity: bool = False) -> Tensor:
    """Compute ``matrix @ dense`` of a constant CSR matrix ``(n, m)``, whose transpose is given for the way back.

    Half precision, which sparse products lack, is computed in float32 or float64, whichever the matrix has.
    """
    with torch.autocast(dense.device.type, enabled=False):
        dense = dense.to(matrix.dtype)
        result: Tensor = _SparseProduct.apply(matrix, transposed, dense, add_identity)  # type: ignore[no-untyped-call]
        return result


class _SparseProduct(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, matrix: Tensor, transposed: Tensor, dense: Tensor, add_identity: bool) -> Tensor:
        ctx.matrix, ctx.transposed, ctx.add_identity = matrix, transposed, add_identity
        return torch.addmm(dense, matrix, dense) if add_identity else matrix @ dense

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[None, None, Tensor, None]:
        grad = sparse_product(ctx.transposed, ctx.matrix, grads[0], add_identity=ctx.add_identity)
        return None, None, grad, None


_TRANSPOSES: WeakTensorCache[Tensor] = WeakTensorCache()


def feature_product(x: Tensor, weight: Tensor, mask: Tensor | None = None) -> Tensor:
    """Compute ``x diag(mask) weight``: node features, dense or CSR ``(n, d)``, times ``(d, h)``, without a copy."""
    if mask is not None:
        weight = mask.to(weight.dtype)[:, None] * weight
    if x.layout != torch.sparse_csr:
        return x @ weight
    needs_transpose = torch.is_grad_enabled() and weight.requires_grad
    transpose = _TRANSPOSES.get(x, lambda: _transpose(x)) if needs_transpose else x
    return sparse_product(x, transpose, weight.contiguous())


def _transpose(x: Tensor) -> Tensor:
    csc = x.data.to_sparse_csc()
    return csr_matrix(csc.ccol_indices(), csc.row_indices(), csc.values(), (x.shape[1], x.shape[0]))
