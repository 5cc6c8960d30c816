"""The Gram route of SFA: many passes on the Gram matrix of a constant feature map."""

import torch
from torch import Tensor

from sfa import distributed
from sfa.spectral.feature_map import identity, largest_entry
from sfa.spectral.projection import RankOneProduct, unit


def gram_pays(features: int, iterations: int, passes: int) -> bool:
    """Tell whether the Gram matrix is faster, by ``benchmarks/passes.py``: its ``d²`` numbers stay in the cache.

    The number of rows does not count, as it differs between processes.
    """
    return passes > 1 and features <= 2 * iterations * passes


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
    for r in torch.split(unit(starts.double()), 1, dim=-1):
        for _ in range(iterations):
            r = unit(m @ r)
        image = m @ r
        half = r * (strength**2 / 2 * (r.mT @ image)) - strength * image
        m = m + torch.cat([half, r], dim=-1) @ torch.cat([r, half], dim=-1).mT
        m = m / largest_entry(m)  # only directions count
        found.append(r)
    r = torch.cat(found, dim=-1)
    eye = identity(r)
    inverse = eye + strength * (r.mT @ r).triu(1)  # s T⁻¹, which exists for s = 0 too
    weights = strength * torch.linalg.solve_triangular(inverse, eye.expand_as(inverse), upper=True)
    return RankOneProduct(r, weights).to(h.dtype)
