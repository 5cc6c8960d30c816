"""Power iteration on a feature map whose rows lie in several processes."""

from __future__ import annotations

import torch
from torch import Tensor

from sfa import distributed
from sfa.spectral.block import NEGLIGIBLE, orthonormal
from sfa.spectral.rank_one_product import RankOneProduct


def turn_across_processes(h: Tensor, r: Tensor, iterations: int, product: RankOneProduct) -> Tensor:
    r"""Do :func:`sfa.spectral.block.turn_block` for the map whose rows are those of all processes.

    Every process gets the directions of the whole map: the start ``r`` is that of rank 0, and a step is one all-reduce
    of ``d q`` numbers, :math:`r^{(k)} = \sum_i H_i^\top H_i r^{(k-1)}`.

    To normalize ``H r`` as well would take communication of its own. Float64 stands in for that: it has the range for
    the squares of the entries, and the digits for the squares of the singular values, of which more than the leading
    one count where there are more directions. Of a map that is float64 itself, singular values below ``2e-7`` of the
    leading one count as zero.
    """
    negligible = max((NEGLIGIBLE * torch.finfo(h.dtype).eps) ** 2, NEGLIGIBLE * torch.finfo(torch.float64).eps)
    wide, w, turned = h.double(), product.to(torch.float64), distributed.broadcast(orthonormal(r)).double()
    for _ in range(iterations):
        total = distributed.all_reduce_sum(wide.mT @ (wide @ w.times(turned)))
        turned = orthonormal(w.transposed_times(total), negligible)
    return orthonormal(turned.to(h.dtype))
