"""Sparse products of graph encoders: the normalized adjacency, sums over neighbors, and sparse features."""

from typing import Any

import torch
from torch import Tensor
from torch_geometric.data import Data

from sfa.errors import InputError
from sfa.graph.structure import WeakTensorCache, some_rows, structure_of
from sfa.matrices import csr_matrix
from sfa.products import product

UNUSABLE_WEIGHTS = (
    "The edge weights are negative, NaN or not the same in both directions: make the graph with sfa.data.as_graph."
)


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


def propagation_of(data: Data, dtype: torch.dtype | None = None) -> Propagation:
    """Return the matrix that spreads a graph's features: its ``propagation``, or else its normalized adjacency."""
    matrix = data.get("propagation")
    return normalized_adjacency(data, dtype) if matrix is None else Propagation(matrix.to(dtype or matrix.dtype))


def normalized_adjacency(data: Data, dtype: torch.dtype | None = None, *, directed: bool | None = None) -> Propagation:
    r"""Build :math:`\hat D^{-1/2} (A + I) \hat D^{-1/2}` of a graph or of a view of one (Eq. 1 of the paper).

    A view has the edges of its graph, some with weight 0, so that nothing has to be sorted for it. If ``directed``, by
    default as the graph says, weights may differ between the two directions of an edge; that of ``(source, target)``
    then counts for the target, and :math:`\hat D` sums what each node receives, as in PyTorch Geometric.
    """
    structure = structure_of(data)
    directed = bool(data.get("directed")) if directed is None else directed
    rowptr, col, place = structure.rowptr, structure.col, structure.place
    values = rowptr.new_ones(len(col), dtype=dtype or torch.get_default_dtype())  # (m + n,)
    twin = structure.edge_twin  # refuses edges of one direction only
    if data.edge_weight is not None:
        weight = structure.sorted(data.edge_weight.detach())
        if not bool(((weight >= 0) & (directed | (weight == weight[twin]))).all()):
            raise InputError(UNUSABLE_WEIGHTS)
        # Row i of the matrix holds the weights that node i receives: of a directed edge, that of (j, i).
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


def neighbor_sums(data: Data, dtype: torch.dtype) -> Propagation:
    """Build :math:`A + I` of an undirected graph, or of a batch of them, with its ``edge_weight`` if it has any."""
    structure = structure_of(data)
    twin = structure.edge_twin  # refuses edges of one direction only
    if data.edge_weight is None:
        values = torch.ones(len(twin), dtype=dtype, device=twin.device)
    else:
        values = structure.sorted(data.edge_weight.detach()).to(dtype)
        if not torch.equal(values, values[twin]):
            raise InputError(UNUSABLE_WEIGHTS)
    shape = (structure.num_nodes, structure.num_nodes)
    return Propagation(csr_matrix(structure.edge_rowptr, structure.edge_col, values, shape), add_identity=True)


def sparse_product(matrix: Tensor, transposed: Tensor, dense: Tensor, *, add_identity: bool = False) -> Tensor:
    """Compute ``matrix @ dense`` of a constant CSR matrix ``(n, m)``, whose transpose serves the backward pass.

    Half precision, which sparse products lack, is computed in the float32 or float64 of the matrix.
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
        return product(x.to(weight.dtype) if x.dtype == torch.float16 else x, weight)
    needs_transpose = torch.is_grad_enabled() and weight.requires_grad
    return sparse_product(x, transposed(x) if needs_transpose else x, weight.contiguous())


def transposed(x: Tensor) -> Tensor:
    """Return the transpose of a dense or CSR matrix; that of a CSR matrix is CSR, and is made once."""
    return _TRANSPOSES.get(x, lambda: _transpose(x)) if x.layout == torch.sparse_csr else x.mT


def _transpose(x: Tensor) -> Tensor:
    csc = x.data.to_sparse_csc()
    return csr_matrix(csc.ccol_indices(), csc.row_indices(), csc.values(), (x.shape[1], x.shape[0]))
