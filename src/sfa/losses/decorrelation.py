"""Losses that make two views agree and columns uncorrelated: Barlow Twins and CCA-SSG."""

from __future__ import annotations

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

    From `"Barlow Twins" <https://arxiv.org/abs/2103.03230>`_, in the form of `G-BT <https://arxiv.org/abs/2106.02466>`_.

    .. math::
        \sum_i (1 - C_{ii})^2 + \lambda \sum_i \sum_{j \neq i} C_{ij}^2, \qquad
        C = \tfrac{1}{n} \hat Z_\alpha^\top \hat Z_\beta,

    with every column of ``Z`` standardized over the batch.

    Args:
        z_alpha, z_beta: Embeddings ``(n, d)`` of the same nodes in both views.
        off_diagonal: ``λ``; ``1/d`` if not given, as in G-BT.
        eps: Added to the standard deviations, so that a constant column stays finite.
        across_processes: The rows of all processes are one batch, in float32 at least; some may hold none.
    """
    alpha, beta, n = standardize(z_alpha, z_beta, eps=eps, across_processes=across_processes)
    product = alpha.mT @ beta
    correlation = (distributed.all_reduce_sum(product) if across_processes else product) / n
    diagonal = correlation.diagonal()
    invariance = (1 - diagonal).square().sum()
    redundancy = correlation.square().sum() - diagonal.square().sum()
    return invariance + (1 / len(diagonal) if off_diagonal is None else off_diagonal) * redundancy


def cca(
    z_alpha: Tensor,
    z_beta: Tensor,
    *,
    decorrelation: float = 2e-3,
    eps: float = 1e-15,
    across_processes: bool = False,
) -> Tensor:
    r"""Make two views agree while the columns of each stay uncorrelated.

    From `CCA-SSG <https://arxiv.org/abs/2106.12484>`_ (Zhang et al., 2021, Eq. 5).

    .. math::
        \| \tilde Z_\alpha - \tilde Z_\beta \|_F^2 + \lambda \big(
            \| \tilde Z_\alpha^\top \tilde Z_\alpha - I \|_F^2 + \| \tilde Z_\beta^\top \tilde Z_\beta - I \|_F^2 \big),
        \qquad \tilde Z = \frac{Z - \mu}{\sigma \sqrt n},

    with mean :math:`\mu` and unbiased deviation :math:`\sigma` of every column. The authors' code has
    :math:`-\operatorname{tr} \tilde Z_\alpha^\top \tilde Z_\beta`, half of the first term but for a constant, in its
    place: a weight of theirs is twice as large here, 2e-3 for their 1e-3.

    Args:
        z_alpha: Projections ``(n, d)`` of the first view.
        z_beta: Those of the second.
        decorrelation: ``λ``.
        eps: As in :func:`barlow_twins`.
        across_processes: As there.
    """
    alpha, beta, n = standardize(z_alpha, z_beta, eps=eps, across_processes=across_processes)

    def over_nodes(own: Tensor) -> Tensor:
        return (distributed.all_reduce_sum(own) if across_processes else own) / n

    invariance = over_nodes((alpha - beta).square().sum())
    identity = torch.eye(alpha.shape[1], dtype=alpha.dtype, device=alpha.device)
    redundancy = sum((over_nodes(z.mT @ z) - identity).square().sum() for z in (alpha, beta))
    return invariance + decorrelation * redundancy


def standardize(z_alpha: Tensor, z_beta: Tensor, *, eps: float, across_processes: bool) -> tuple[Tensor, Tensor, int]:
    """Return two views with columns of mean 0 and unbiased deviation 1 over the batch of ``n`` rows, and ``n``."""
    spread = across_processes and distributed.world_size() > 1
    check_one_shape("Two views", z_alpha, z_beta, rows=2 if spread else len(z_alpha), at_least=2)
    if spread:
        return _standardize_across_processes(z_alpha, z_beta, eps)
    alpha, beta = (_standardize_columns(z, eps) for z in (z_alpha, z_beta))
    return alpha, beta, len(z_alpha)


def _standardize_columns(z: Tensor, eps: float) -> Tensor:
    # The deviation is that of the centered column itself: of a constant column only rounding remains, and a deviation
    # computed apart from it could be 0 where that is not.
    centered = z - z.mean(0)
    deviation: Tensor = torch.linalg.vector_norm(centered, dim=0) / math.sqrt(len(z) - 1)
    return centered / (deviation + eps)


def _standardize_across_processes(z_alpha: Tensor, z_beta: Tensor, eps: float) -> tuple[Tensor, Tensor, int]:
    n = distributed.count_rows(z_alpha)
    if n < 2:
        raise InputError(f"Two views with n ≥ 2 rows on all processes together are needed, not {n}.")
    both = torch.cat([z_alpha, z_beta], dim=1)
    both = both.to(torch.promote_types(both.dtype, torch.float32))
    centered = both - distributed.all_reduce_sum(both.sum(0)) / n
    squares = distributed.all_reduce_sum(centered.square().sum(0))
    # The root of 0 has no gradient; a column that never changes has none either.
    deviation = torch.where(squares > 0, squares, 1).sqrt() * (squares > 0) / math.sqrt(n - 1)
    alpha, beta = (centered / (deviation + eps)).chunk(2, dim=1)
    return alpha, beta, n
