"""The loss of canonical correlation analysis, in the soft form of CCA-SSG."""

from __future__ import annotations

import torch
from torch import Tensor

from sfa import distributed
from sfa.losses.standardise import standardised


def cca(
    z_alpha: Tensor,
    z_beta: Tensor,
    *,
    decorrelation: float = 2e-3,
    eps: float = 1e-15,
    across_processes: bool = False,
) -> Tensor:
    r"""Make two views agree while the columns of each stay uncorrelated (Zhang et al., 2021, Eq. 5).

    .. math::
        \| \tilde Z_\alpha - \tilde Z_\beta \|_F^2 + \lambda \big(
            \| \tilde Z_\alpha^\top \tilde Z_\alpha - I \|_F^2 + \| \tilde Z_\beta^\top \tilde Z_\beta - I \|_F^2 \big),
        \qquad \tilde Z = \frac{Z - \mu}{\sigma \sqrt n},

    with mean :math:`\mu` and unbiased deviation :math:`\sigma` of every column.

    The authors' code has :math:`-\operatorname{tr} \tilde Z_\alpha^\top \tilde Z_\beta`, half of the first term but for
    a constant, in its place: a weight of theirs is twice as large here, 2e-3 for their 1e-3.

    Args:
        z_alpha: Embeddings ``(n, d)`` of the first view.
        z_beta: The same nodes in the second view.
        decorrelation: ``λ``.
        eps: Added to the standard deviations, so that a constant column stays finite.
        across_processes: The rows of all processes are one batch (:mod:`sfa.distributed`), and the loss that of all;
            some may hold none. Half precision is widened to float32 then.
    """
    alpha, beta, n = standardised(z_alpha, z_beta, eps=eps, across_processes=across_processes)

    def over_nodes(own: Tensor) -> Tensor:
        return (distributed.all_reduce_sum(own) if across_processes else own) / n

    invariance = over_nodes((alpha - beta).square().sum())
    redundancy = sum(_from_identity(over_nodes(z.mT @ z)) for z in (alpha, beta))
    return invariance + decorrelation * redundancy


def _from_identity(correlation: Tensor) -> Tensor:
    """``||C - I||²``."""
    return (
        (correlation - torch.eye(len(correlation), dtype=correlation.dtype, device=correlation.device)).square().sum()
    )
