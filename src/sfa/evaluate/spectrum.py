"""Diagnostics of a feature map's spectrum."""

from __future__ import annotations

import torch
from torch import Tensor


def singular_values(h: Tensor) -> Tensor:
    r"""Singular values of ``h`` ``(n, d)`` in falling order: float64, on the CPU; NaN if ``h`` is not finite.

    They are the roots of the eigenvalues of the Gram matrix of the thin side,

    .. math::
        \sigma_i(H) = \sqrt{\lambda_i(H^\top H)} \quad (n \ge d), \qquad \sqrt{\lambda_i(H H^\top)} \quad (n < d),

    which costs one product and no decomposition of the long side. Squaring halves the digits of tiny values: those
    below some ``1e-8 σ₁`` are rounding. A float32 map has no digits there in any case.
    """
    h = to_float64(h)
    size = min(h.shape)
    largest = h.abs().amax() if h.numel() else h.new_zeros(())
    if not largest.isfinite():  # LAPACK would raise
        return torch.full((size,), torch.nan, dtype=torch.float64)
    if largest == 0:
        return torch.zeros(size, dtype=torch.float64)
    h = h / largest  # squares of 1e±200 are no numbers
    gram = h.mT @ h if h.shape[0] >= h.shape[1] else h @ h.mT
    eigenvalues: Tensor = torch.linalg.eigvalsh(gram).flip(0).clamp_min(0)  # rounding makes some negative
    return (eigenvalues.sqrt() * largest).cpu()


def effective_rank(h: Tensor) -> float:
    r"""How many directions a feature map uses, from 1 to min(n, d); 0 if it is zero (Roy and Vetterli, 2007).

    The exponential of the entropy of the normalised singular values:

    .. math::
        \exp\Big( -\sum_i p_i \log p_i \Big), \qquad p_i = \sigma_i \Big/ \sum_j \sigma_j

    Args:
        h: A feature map ``(n, d)``, or its singular values where they are at hand.
    """
    sigma = h if h.dim() == 1 else singular_values(h)
    if sigma.sum() == 0:
        return 0.0
    share = sigma / sigma.sum()
    return float(torch.special.entr(share).sum().exp())


def to_float64(h: Tensor) -> Tensor:
    """``h`` without its history, in float64; on its own device if that has the precision (Apple's has not)."""
    h = h.detach()
    return (h.cpu() if h.device.type == "mps" else h).double()
