"""Products of sparse matrices in compressed rows (CSR) with dense ones; what a graph convolution is made of."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from sfa.graph.memo import Memo
from sfa.matrices import csr_matrix


def sparse_product(matrix: Tensor, transposed: Tensor, dense: Tensor) -> Tensor:
    """``matrix @ dense`` of a constant CSR matrix ``(n, m)``, whose transpose is given for the way back.

    Half precision, which sparse products lack, is computed in float32 or float64, whichever the matrix has.
    """
    with torch.autocast(dense.device.type, enabled=False):
        result: Tensor = _SparseProduct.apply(matrix, transposed, dense.to(matrix.dtype))  # type: ignore[no-untyped-call]
        return result


class _SparseProduct(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, matrix: Tensor, transposed: Tensor, dense: Tensor) -> Tensor:
        ctx.matrix, ctx.transposed = matrix, transposed
        return matrix @ dense

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[None, None, Tensor]:
        return None, None, sparse_product(ctx.transposed, ctx.matrix, grads[0])


_TRANSPOSES: Memo[Tensor] = Memo()


def feature_product(x: Tensor, weight: Tensor, mask: Tensor | None = None) -> Tensor:
    """``x diag(mask) weight``: node features, dense or CSR ``(n, d)``, with masked columns, times ``(d, h)``.

    Masking a column of ``x`` is scaling a row of ``weight``: no copy of ``x`` is made.
    """
    if mask is not None:
        weight = mask.to(weight.dtype)[:, None] * weight
    if x.layout != torch.sparse_csr:
        return x @ weight
    needs_transpose = torch.is_grad_enabled() and weight.requires_grad
    transpose = _TRANSPOSES.get(x, lambda: _transpose(x)) if needs_transpose else x
    return sparse_product(x, transpose, weight.contiguous())


def _transpose(x: Tensor) -> Tensor:
    by_column = x.data.to_sparse_csc()
    parts = by_column.ccol_indices(), by_column.row_indices(), by_column.values()
    return csr_matrix(*parts, (x.shape[1], x.shape[0]))


def some_rows(x: Tensor, start: int, stop: int) -> Tensor:
    """Rows of a dense or CSR matrix, without a copy of their values."""
    if x.layout != torch.sparse_csr:
        return x[start:stop]
    rowptr = x.crow_indices()[start : stop + 1]
    first, last = int(rowptr[0]), int(rowptr[-1])
    shape = (len(rowptr) - 1, x.shape[1])
    return csr_matrix(rowptr - first, x.col_indices()[first:last], x.values()[first:last], shape)
