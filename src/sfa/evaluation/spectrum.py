"""Diagnostics of a feature map's spectrum."""

from __future__ import annotations

import torch
from torch import Tensor


def singular_values(h: Tensor) -> Tensor:
    """Singular values of ``h`` ``(n, d)`` in falling order, computed in float64."""
    values: Tensor = torch.linalg.svdvals(h.detach().double().cpu())
    return values


def effective_rank(h: Tensor) -> float:
    """Exponential of the entropy of the normalised singular values (Roy and Vetterli, 2007): from 1 to min(n, d)."""
    sigma = singular_values(h)
    if sigma.sum() == 0:
        return 0.0
    share = sigma / sigma.sum()
    return float(torch.special.entr(share).sum().exp())
