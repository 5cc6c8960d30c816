"""Losses that make two views agree and columns uncorrelated: Barlow Twins and CCA-SSG."""

import math

import torch
from torch import Tensor

from sfa import distributed
from sfa.errors import InputError
from sfa.matrices import check_one_shape


def barlow_twins(
    z_alpha: Tensor,
    z_beta: Tensor,
    *,
    off_diagonal: float | None = None,
    eps: float = 1e-15,
    across_processes: bool = False,
) -> Tensor:
    r"""Make the cross-correlation matrix of two views the identity.

    From `"Barlow Twins: Self-Supervised Learning via Redundancy Reduction" <https://arxiv.org/abs/2103.03230>`_, in the
    form of `"Graph Barlow Twins" <https://arxiv.org/abs/2106.02466>`_, where ``λ`` is ``1/d`` if not given.

    .. math::
        \sum_i (1 - C_{ii})^2 + \lambda \sum_i \sum_{j \neq i} C_{ij}^2, \qquad
        C = \tfrac{1}{n} \hat Z_\alpha^\top \hat Z_\beta,

    with every column of ``Z`` ``(n, d)`` standardized over the batch, across processes in float32 at least. ``eps`` is
    added to the standard deviations, so that a constant column stays finite.
    """
    alpha, beta, n = _standardize(z_alpha, z_beta, eps, across_processes)
    correlation = _mean(alpha.mT @ beta, n, across_processes)  # (d, d)
    diagonal = correlation.diagonal()
    invariance = (1 - diagonal).square().sum()
    redundancy = correlation.square().sum() - diagonal.square().sum()
    return invariance + (1 / len(diagonal) if off_diagonal is None else off_diagonal) * redundancy


def cca(
    z_alpha: Tensor, z_beta: Tensor, *, decorrelation: float = 2e-3, eps: float = 1e-15, across_processes: bool = False
) -> Tensor:
    r"""Make two views agree while the columns of each stay uncorrelated.

    From `"From Canonical Correlation Analysis to Self-supervised Graph Neural Networks"
    <https://arxiv.org/abs/2106.12484>`_ (CCA-SSG, Eq. 5).

    .. math::
        \| \tilde Z_\alpha - \tilde Z_\beta \|_F^2 + \lambda \big(
            \| \tilde Z_\alpha^\top \tilde Z_\alpha - I \|_F^2 + \| \tilde Z_\beta^\top \tilde Z_\beta - I \|_F^2 \big),
        \qquad \tilde Z = \frac{Z - \mu}{\sigma \sqrt n},

    with mean :math:`\mu` and unbiased deviation :math:`\sigma` of every column. The authors' code has
    :math:`-\operatorname{tr} \tilde Z_\alpha^\top \tilde Z_\beta` as its first term, half of this one but for a
    constant: their weight ``λ`` of 1e-3 is a ``decorrelation`` of 2e-3 here. The rest is as in :func:`barlow_twins`.
    """
    alpha, beta, n = _standardize(z_alpha, z_beta, eps, across_processes)
    invariance = _mean((alpha - beta).square().sum(), n, across_processes)
    identity = torch.eye(alpha.shape[1], dtype=alpha.dtype, device=alpha.device)
    redundancy = sum((_mean(z.mT @ z, n, across_processes) - identity).square().sum() for z in (alpha, beta))
    return invariance + decorrelation * redundancy


def _mean(total: Tensor, n: int, across_processes: bool) -> Tensor:
    return (distributed.all_reduce_sum(total) if across_processes else total) / n


def _standardize(z_alpha: Tensor, z_beta: Tensor, eps: float, across_processes: bool) -> tuple[Tensor, Tensor, int]:
    """Return two views with columns of mean 0 and unbiased deviation 1 over the batch of ``n`` rows, and ``n``."""
    spread = across_processes and distributed.world_size() > 1
    check_one_shape("Two views", z_alpha, z_beta, rows=2 if spread else len(z_alpha), at_least=2)
    n = distributed.count_rows(z_alpha) if spread else len(z_alpha)
    if n < 2:
        raise InputError(f"Two views with n ≥ 2 rows on all processes together are needed, not {n}.")
    if not spread:
        # The deviation is that of the centered column itself: of a constant column only rounding remains, and a
        # deviation computed apart from it could be 0 where that is not.
        alpha, beta = (z - z.mean(0) for z in (z_alpha, z_beta))
        of_alpha, of_beta = (torch.linalg.vector_norm(z, dim=0) / math.sqrt(n - 1) for z in (alpha, beta))
        return alpha / (of_alpha + eps), beta / (of_beta + eps), n
    both = torch.cat([z_alpha, z_beta], dim=1)
    both = both.to(torch.promote_types(both.dtype, torch.float32))
    centered = both - distributed.all_reduce_sum(both.sum(0)) / n
    squares = distributed.all_reduce_sum(centered.square().sum(0))
    # The root of 0 has no gradient; a column that never changes has none either.
    deviation = torch.where(squares > 0, squares, 1).sqrt() * (squares > 0) / math.sqrt(n - 1)
    alpha, beta = (centered / (deviation + eps)).chunk(2, dim=1)
    return alpha, beta, n
