"""The nearest probabilities to any numbers."""

from __future__ import annotations

import torch
from torch import Tensor

from sfa.errors import InputError


def project_to_simplex(v: Tensor) -> Tensor:
    r"""Return the vector of probabilities that is nearest to ``v``, exactly (Held et al., 1974).

    .. math::
        \operatorname*{argmin}_{p \geq 0,\ \sum_i p_i = 1} \lVert p - v \rVert_2 = \max(v - \mu, 0)

    with the one :math:`\mu` that makes the sum 1. If the ``k`` largest entries of ``v`` are those that stay above 0,
    then :math:`\mu = (v_{(1)} + \dots + v_{(k)} - 1) / k`, and ``k`` is the largest with :math:`v_{(k)} > \mu`.

    Args:
        v: ``(k,)``, one finite number or more.
    """
    if v.dim() != 1 or len(v) == 0 or not bool(v.isfinite().all()):
        raise InputError(f"A vector of finite numbers is needed to find the nearest probabilities, not {v.tolist()}.")
    # A common shift moves mu alone, and entries near 0 keep their digits in the sums.
    descending = (v - v.max()).sort(descending=True).values
    thresholds = (descending.cumsum(0) - 1) / torch.arange(1, len(v) + 1, device=v.device)
    mu = thresholds[int((descending > thresholds).sum()) - 1]
    return (v - v.max() - mu).clamp_min(0)


def ascend(p: Tensor, losses: Tensor, *, gamma: float, beta: float) -> Tensor:
    r"""Take a step of projected gradient ascent on the losses of choices that are drawn with probabilities.

    .. math::
        p \leftarrow \Pi_\Delta \big( p + \beta\, ( \mathcal{L} - \gamma ( p - \tfrac1k \mathbf{1} ) ) \big)

    Args:
        p: Probabilities ``(k,)``.
        losses: Theirs, ``(k,)``.
        gamma: How much uniform probabilities are preferred.
        beta: Length of the step.
    """
    return project_to_simplex(p + beta * (losses - gamma * (p - 1 / len(p))))
