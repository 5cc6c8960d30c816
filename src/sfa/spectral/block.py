"""Power iteration with a block of orthonormal directions, on the rows of one process or of several."""

from __future__ import annotations

import torch
from torch import Tensor

from sfa import distributed
from sfa.spectral.projection import RankOneProduct, unit

NEGLIGIBLE = 100
"""What is left of a unit vector, in units of rounding, that is no direction: its gradient would explode."""


def turn_block(h: Tensor, r: Tensor, iterations: int, product: RankOneProduct) -> Tensor:
    """Turn random columns ``(..., d, q)`` to orthonormal ones near the leading right singular vectors of ``h W``.

    ``W`` is the product of the passes before.
    """
    for _ in range(iterations):
        r = orthonormal(product.times(h.mT @ orthonormal(h @ product.times(orthonormal(r))), transposed=True))
    return orthonormal(r)


def turn_across_processes(h: Tensor, r: Tensor, iterations: int, product: RankOneProduct) -> Tensor:
    r"""Do :func:`turn_block` for the map whose rows are those of all processes.

    Every process gets the directions of the whole map: the start ``r`` is that of rank 0, and a step is one all-reduce
    of ``d q`` numbers, :math:`r^{(k)} = \sum_i H_i^\top H_i r^{(k-1)}`. Float64 stands in for normalizing ``H r``.
    Of a map that is float64 itself, singular values below ``2e-7`` of the leading one count as zero.
    """
    negligible = max((NEGLIGIBLE * torch.finfo(h.dtype).eps) ** 2, NEGLIGIBLE * torch.finfo(torch.float64).eps)
    wide, w, turned = h.double(), product.to(torch.float64), distributed.broadcast(orthonormal(r)).double()
    for _ in range(iterations):
        total = distributed.all_reduce_sum(wide.mT @ (wide @ w.times(turned)))
        turned = orthonormal(w.times(total, transposed=True), negligible)
    return orthonormal(turned.to(h.dtype))


def orthonormal(vectors: Tensor, negligible: float | None = None) -> Tensor:
    """Make columns ``(..., m, q)`` orthonormal by Gram–Schmidt; one that depends on those before becomes zero."""
    negligible = NEGLIGIBLE * torch.finfo(vectors.dtype).eps if negligible is None else negligible
    basis = unit(vectors[..., :1])
    for j in range(1, vectors.shape[-1]):
        column = unit(vectors[..., j : j + 1])
        for _ in range(2):  # Twice is enough (Kahan and Parlett): the second removes what rounding left of the first.
            column = column - basis @ (basis.mT @ column)
            length = torch.linalg.vector_norm(column.detach(), dim=-2, keepdim=True)
            column = unit(torch.where(length < negligible, 0, column))
        basis = torch.cat([basis, column], dim=-1)
    return basis
