"""Passes of SFA with blocks of directions, each on what the one before has left: on the map or on its Gram matrix."""

from __future__ import annotations

import torch
from torch import Tensor

from sfa import distributed
from sfa.spectral.feature_map import identity, largest_entry
from sfa.spectral.projection import RankOneProduct, unit

WIDTHS_A_PASS = 2
"""Products with the Gram matrix pay if the map is at most so many times as wide as there are products with it (measured
by ``benchmarks/passes.py``): those are of ``d²`` numbers in cache instead of ``2 n d``."""
NEGLIGIBLE = 100  # What is left of a unit vector, in units of rounding, that is no direction: gradients would explode.


def make_passes(
    h: Tensor, starts: list[Tensor], iterations: int, strength: float, *, is_constant: bool, spread: bool
) -> RankOneProduct:
    """Return the product of all passes over ``h`` ``(..., n, d)``, one for every random start ``(..., d, q)``.

    They are made on the Gram matrix where that is faster and no gradient is asked for (``is_constant``).
    """
    if is_constant and starts[0].shape[-1] == 1 and gram_pays(h.shape[-1], iterations, len(starts)):
        return passes_on_gram(h, torch.cat(starts, dim=-1), iterations, strength, spread=spread)
    return passes_in_turn(h, starts, iterations, strength, spread=spread)


def passes_in_turn(
    h: Tensor, starts: list[Tensor], iterations: int, strength: float, *, spread: bool = False
) -> RankOneProduct:
    """Make passes by products with the map itself, ``2 k`` for each."""
    turn, product = turn_across_processes if spread else turn_block, RankOneProduct.empty(h)
    for r in starts:
        product = product.followed_by(turn(h, r, iterations, product), strength)
    return product


def gram_pays(features: int, iterations: int, passes: int) -> bool:
    """Tell whether the Gram matrix is the faster way; the rows have no say, as they differ between processes."""
    return passes > 1 and features <= WIDTHS_A_PASS * iterations * passes


def passes_on_gram(
    h: Tensor, starts: Tensor, iterations: int, strength: float, *, spread: bool = False
) -> RankOneProduct:
    r"""Make ``p`` passes of one direction each on a constant map, from starts ``(..., d, p)``.

    With :math:`M_1 = H^\top H`, pass ``i`` turns its start by :math:`r_i = M_i^k r_i^{(0)}`, normalized, and leaves
    :math:`M_{i+1} = (I - s\, r_i r_i^\top)\, M_i\, (I - s\, r_i r_i^\top)`, a change of rank two. The product of all
    :math:`I - s\, r_i r_i^\top` is :math:`I - R T R^\top` with :math:`T^{-1} = s^{-1} I + \mathrm{striu}(R^\top R)`.
    If the rows are ``spread`` over processes, the Gram matrix is reduced once.
    """
    wide = h.double()  # has the digits for squares of singular values, and the range
    if spread:  # a common scale would take communication of its own
        starts, m = distributed.broadcast(starts), distributed.all_reduce_sum(wide.mT @ wide)
    else:
        wide = wide / largest_entry(wide)
        m = wide.mT @ wide
    found = []
    for start in torch.split(unit(starts.double()), 1, dim=-1):
        r = start
        for _ in range(iterations):
            r = unit(m @ r)
        image = m @ r
        half = r * (strength**2 / 2 * (r.mT @ image)) - strength * image
        m = m + torch.cat([half, r], dim=-1) @ torch.cat([r, half], dim=-1).mT
        m = m / largest_entry(m)  # only directions count
        found.append(r)
    r = torch.cat(found, dim=-1)
    eye = identity(r)
    inverse = eye + strength * (r.mT @ r).triu(1)  # of s T⁻¹, which is there for s = 0 too
    weights = strength * torch.linalg.solve_triangular(inverse, eye.expand_as(inverse), upper=True)
    return RankOneProduct(r, weights).to(h.dtype)


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
