"""The cross-process form of SFA: power iteration on a feature map whose rows are spread over processes."""

import torch
from torch import Tensor

from sfa import distributed
from sfa.spectral.block import NEGLIGIBLE, orthonormal
from sfa.spectral.projection import RankOneProduct


def turn_across_processes(h: Tensor, r: Tensor, iterations: int, product: RankOneProduct) -> Tensor:
    r"""Do :func:`~sfa.spectral.block.turn_block` for the map whose rows are those of all processes.

    The start ``r`` is that of rank 0, and a step is one all-reduce of ``d q`` numbers,
    :math:`r^{(k)} = \sum_i H_i^\top H_i r^{(k-1)}`. Float64 replaces the normalization of ``H r``. Of a float64 map,
    singular values below ``2e-7`` of the leading one count as zero.
    """
    negligible = max((NEGLIGIBLE * torch.finfo(h.dtype).eps) ** 2, NEGLIGIBLE * torch.finfo(torch.float64).eps)
    wide, w, turned = h.double(), product.to(torch.float64), distributed.broadcast(orthonormal(r)).double()
    for _ in range(iterations):
        total = distributed.all_reduce_sum(wide.mT @ (wide @ w.times(turned)))
        turned = orthonormal(w.times(total, transposed=True), negligible)
    return orthonormal(turned.to(h.dtype))
