"""Many passes of SFA on the Gram matrix of a feature map, where a pass does not touch the map."""

from __future__ import annotations

import torch
from torch import Tensor

from sfa import distributed
from sfa.spectral.projection import unit
from sfa.spectral.rank_one_product import RankOneProduct

WIDTHS_A_PASS = 2
"""Products with the Gram matrix pay if the map is at most so many times as wide as there are products with it: those
are of ``d²`` numbers in cache instead of ``2 n d``, and the matrix itself is one fast product (measured,
``benchmarks/passes.py``)."""


def gram_pays(features: int, iterations: int, passes: int) -> bool:
    """Tell whether the Gram matrix is the faster way; the rows have no say, as they differ between processes."""
    return passes > 1 and features <= WIDTHS_A_PASS * iterations * passes


def passes_on_gram(
    h: Tensor, starts: Tensor, iterations: int, strength: float, *, spread: bool = False
) -> RankOneProduct:
    r"""Make ``p`` passes of one direction each on a constant map.

    With :math:`M_1 = H^\top H`, pass ``i`` turns its start by :math:`r_i = M_i^k r_i^{(0)}`, normalized, and leaves

    .. math::
        M_{i+1} = (I - s\, r_i r_i^\top)\, M_i\, (I - s\, r_i r_i^\top),

    a change of rank two. The product of all :math:`I - s\, r_i r_i^\top` is :math:`I - R T R^\top` with
    :math:`T^{-1} = s^{-1} I + \mathrm{striu}(R^\top R)`, as of Householder reflections.

    The starts are columns, ``(..., d, p)``. If the rows are ``spread`` over processes, the Gram matrix is reduced once.
    """
    wide = h.double()  # has the digits for squares of singular values, and the range
    if spread:  # a common scale would take communication of its own
        starts, m = distributed.broadcast(starts), distributed.all_reduce_sum(wide.mT @ wide)
    else:
        wide = wide / _largest(wide)
        m = wide.mT @ wide
    found = []
    for start in torch.split(unit(starts.double()), 1, dim=-1):
        r = start
        for _ in range(iterations):
            r = unit(m @ r)
        image = m @ r
        half = r * (strength**2 / 2 * (r.mT @ image)) - strength * image
        m = m + torch.cat([half, r], dim=-1) @ torch.cat([r, half], dim=-1).mT
        m = m / _largest(m)  # only directions count
        found.append(r)
    r = torch.cat(found, dim=-1)
    eye = torch.eye(r.shape[-1], dtype=r.dtype, device=r.device)
    inverse = eye + strength * (r.mT @ r).triu(1)  # of s T⁻¹, which is there for s = 0 too
    weights = strength * torch.linalg.solve_triangular(inverse, eye.expand_as(inverse), upper=True)
    return RankOneProduct(r, weights).to(h.dtype)


def _largest(x: Tensor) -> Tensor:
    """Return the largest size of an entry of each matrix, ``(..., 1, 1)``; 1 if there is none but zero."""
    largest = x.abs().amax(dim=(-2, -1), keepdim=True)
    return torch.where(largest > 0, largest, 1)
