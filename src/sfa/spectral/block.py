"""The block form of SFA: power iteration of several orthonormal directions together."""

import torch
from torch import Tensor

from sfa.spectral.projection import RankOneProduct, unit

NEGLIGIBLE = 100  # units of rounding; a shorter rest of a unit vector has no direction, and gradients would explode


def turn_block(h: Tensor, r: Tensor, iterations: int, product: RankOneProduct) -> Tensor:
    """Turn columns ``r`` ``(..., d, q)`` towards the leading right singular vectors of ``h W``, and orthonormalize.

    ``W`` is the product of the passes before.
    """
    for _ in range(iterations):
        r = orthonormal(product.times(h.mT @ orthonormal(h @ product.times(orthonormal(r))), transposed=True))
    return orthonormal(r)


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
