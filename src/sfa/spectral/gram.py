"""The Gram route of SFA: many passes on the Gram matrix of a constant feature map."""

import torch
from torch import Tensor

from sfa import distributed
from sfa.spectral.feature_map import largest_entry, trace
from sfa.spectral.projection import RankOneProduct, unit


def gram_pays(rows: int | None, features: int, iterations: int, passes: int) -> bool:
    """Tell whether the Gram matrix is faster, by times of ``benchmarks/passes.py`` in units of 50 ps.

    It takes ``n d²`` products first, and then a step reads ``d²`` numbers instead of the map twice, with less overhead.
    Processes hold different numbers of rows and must agree: for them, with ``None``, it is the limit of many rows.
    """
    steps = iterations * passes
    if passes == 1 or rows is None:
        return passes > 1 and features <= 5 * steps
    on_gram = rows * features**2 + steps * (7 * features**2 + 1_200_000)
    return on_gram <= steps * (5 * rows * features + 4_000_000)


def gram_matrix(h: Tensor, *, spread: bool) -> tuple[Tensor, Tensor]:
    """Compute ``(H/c)ᵀ(H/c)``, of trace 1, and ``c`` ``(..., 1, 1)``, a constant, both in float64.

    If the rows are ``spread`` over processes, their Gram matrices are summed.
    """
    wide, scale = h.double(), torch.ones((), dtype=torch.float64, device=h.device)
    if h.dtype == torch.float64 and not spread:  # squares of other types fit float64
        scale = largest_entry(wide)
        wide = wide / scale
    gram = wide.mT @ wide
    if spread:
        gram = distributed.all_reduce_sum(gram)
    size = trace(gram.detach())
    size = torch.where(size > 0, size, 1)
    return gram / size, scale * size.sqrt()


def passes_on_gram(
    h: Tensor, starts: Tensor, iterations: int, strength: float, *, spread: bool = False
) -> RankOneProduct:
    r"""Make ``p`` passes of one direction each on a constant map, from starts ``(..., d, p)``.

    With :math:`G = H^\top H`, pass ``i`` turns its start by :math:`r_i = (W_i^\top G W_i)^k r_i^{(0)}`, normalized, and
    :math:`W_{i+1} = W_i (I - s\, r_i r_i^\top)`. Kept are ``R`` and ``T`` of :math:`W_i = I - R T R^\top`, of which a
    pass adds a column each, so that it reads little but ``G``.
    """
    gram, _ = gram_matrix(h, spread=spread)
    if spread:
        starts = distributed.broadcast(starts)
    starts = unit(starts.double())
    r, t = torch.zeros_like(starts), starts.new_zeros(*starts.shape[:-2], starts.shape[-1], starts.shape[-1])
    for i in range(starts.shape[-1]):
        done, weights = r[..., :i], t[..., :i, :i]
        turned = starts[..., i : i + 1]
        for _ in range(iterations):
            turned = turned - done @ (weights @ (done.mT @ turned))  # W r
            turned = gram @ turned
            turned = unit(turned - done @ (weights.mT @ (done.mT @ turned)))  # Wᵀ G W r
        t[..., :i, i : i + 1] = -strength * (weights @ (done.mT @ turned))
        t[..., i, i] = strength
        r[..., i : i + 1] = turned
    return RankOneProduct(r, t).to(h.dtype)
