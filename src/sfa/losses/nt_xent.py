"""InfoNCE between two views, in the form of GRACE and of the paper's Eq. 2 (NT-Xent)."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from sfa.errors import InputError


def nt_xent(z_alpha: Tensor, z_beta: Tensor, *, tau: float = 0.4, intraview: bool = True) -> Tensor:
    r"""Normalised temperature-scaled cross entropy, the mean over both directions.

    Row ``i`` of one view should be nearer to row ``i`` of the other than to every other row:

    .. math::
        \ell(z_i) = -\frac{z_i^\top z_i^+}{\tau} + \log\Big(
            \sum_j e^{z_i^\top z_j^{\beta} / \tau} + \sum_{j \neq i} e^{z_i^\top z_j^{\alpha} / \tau} \Big)

    Args:
        z_alpha: Projections ``(n, d)`` of the first view; rows are normalised here.
        z_beta: The same nodes in the second view.
        tau: Temperature.
        intraview: Keep the second sum, the negatives from the anchor's own view (Eq. 2). Without it only the other
            view is contrasted, as in the code of COSTA.

    Returns:
        A scalar. Memory is quadratic in ``n``.
    """
    if z_alpha.shape != z_beta.shape or z_alpha.dim() != 2:
        raise InputError(
            f"Two views of one shape (n, d) are needed, not {tuple(z_alpha.shape)}, {tuple(z_beta.shape)}."
        )
    if not tau > 0:
        raise InputError(f"The temperature tau must be above 0, not {tau}.")
    u, v = functional.normalize(z_alpha), functional.normalize(z_beta)
    across = u @ v.mT / tau
    partition_alpha, partition_beta = across.logsumexp(1), across.logsumexp(0)
    if intraview:
        partition_alpha = torch.logaddexp(partition_alpha, _log_sum_of_others(u, tau))
        partition_beta = torch.logaddexp(partition_beta, _log_sum_of_others(v, tau))
    return (0.5 * (partition_alpha + partition_beta) - across.diagonal()).mean()


def _log_sum_of_others(u: Tensor, tau: float) -> Tensor:
    """``log Σ_{j≠i} exp(uᵢᵀuⱼ / tau)`` for every row ``i``."""
    within = (u @ u.mT / tau).fill_diagonal_(-torch.inf)
    return within.logsumexp(1)
