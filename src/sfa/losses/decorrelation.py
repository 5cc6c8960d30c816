"""The redundancy-reduction loss of Barlow Twins, in the form of Graph Barlow Twins (G-BT)."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from sfa import processes
from sfa.errors import InputError


def barlow_twins(
    z_alpha: Tensor,
    z_beta: Tensor,
    *,
    off_diagonal: float | None = None,
    eps: float = 1e-15,
    across_processes: bool = False,
) -> Tensor:
    r"""Make the cross-correlation matrix of two views the identity.

    .. math::
        \sum_i (1 - C_{ii})^2 + \lambda \sum_i \sum_{j \neq i} C_{ij}^2, \qquad
        C = \tfrac{1}{n} \hat Z_\alpha^\top \hat Z_\beta,

    with every column of ``Z`` standardised over the batch.

    Args:
        z_alpha: Embeddings ``(n, d)`` of the first view.
        z_beta: The same nodes in the second view.
        off_diagonal: ``λ``; ``1/d`` if not given, as in G-BT.
        eps: Added to the standard deviations, so that a constant column stays finite.
        across_processes: The rows of all processes are one batch (:mod:`sfa.processes`), and the loss that of all; some
            may hold none. Half precision is widened to float32 then.
    """
    alpha, beta, n = standardised(z_alpha, z_beta, eps=eps, across_processes=across_processes)
    product = alpha.mT @ beta
    correlation = (processes.all_reduce_sum(product) if across_processes else product) / n
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
        across_processes: The rows of all processes are one batch (:mod:`sfa.processes`), and the loss that of all; some
            may hold none. Half precision is widened to float32 then.
    """
    alpha, beta, n = standardised(z_alpha, z_beta, eps=eps, across_processes=across_processes)

    def over_nodes(own: Tensor) -> Tensor:
        return (processes.all_reduce_sum(own) if across_processes else own) / n

    invariance = over_nodes((alpha - beta).square().sum())
    redundancy = sum(_from_identity(over_nodes(z.mT @ z)) for z in (alpha, beta))
    return invariance + decorrelation * redundancy


def _from_identity(correlation: Tensor) -> Tensor:
    """``||C - I||²``."""
    return (
        (correlation - torch.eye(len(correlation), dtype=correlation.dtype, device=correlation.device)).square().sum()
    )


def standardised(z_alpha: Tensor, z_beta: Tensor, *, eps: float, across_processes: bool) -> tuple[Tensor, Tensor, int]:
    """Two views of one shape ``(n, d)`` with every column standardised over the batch, and ``n``.

    Args:
        z_alpha: Embeddings ``(n, d)`` of the first view.
        z_beta: The same nodes in the second view.
        eps: Added to the standard deviations, which are unbiased, so that a constant column stays finite.
        across_processes: The rows of all processes are one batch (:mod:`sfa.processes`), ``n`` in all; some may hold
            none. Half precision is widened to float32 then.
    """
    spread = across_processes and processes.count() > 1
    if z_alpha.shape != z_beta.shape or z_alpha.dim() != 2 or (z_alpha.shape[0] < 2 and not spread):
        raise InputError(
            f"Two views of one shape (n, d) with n ≥ 2 are needed, not {tuple(z_alpha.shape)}, {tuple(z_beta.shape)}."
        )
    if spread:
        return _across_processes(z_alpha, z_beta, eps)
    return _columns(z_alpha, eps), _columns(z_beta, eps), len(z_alpha)


def _columns(z: Tensor, eps: float) -> Tensor:
    """Columns of mean 0 and deviation 1.

    The deviation is that of the centred column itself: of a constant column only rounding remains, and a deviation
    computed apart from it could be 0 where that is not.
    """
    centred = z - z.mean(0)
    deviation: Tensor = torch.linalg.vector_norm(centred, dim=0) / math.sqrt(len(z) - 1)
    return centred / (deviation + eps)


def _across_processes(z_alpha: Tensor, z_beta: Tensor, eps: float) -> tuple[Tensor, Tensor, int]:
    """The same of the rows of all processes, from sums over them."""
    n = processes.count_rows(z_alpha)
    if n < 2:
        raise InputError(f"Two views with n ≥ 2 rows on all processes together are needed, not {n}.")
    both = torch.cat([z_alpha, z_beta], dim=1)
    both = both.to(torch.promote_types(both.dtype, torch.float32))
    centred = both - processes.all_reduce_sum(both.sum(0)) / n
    squares = processes.all_reduce_sum(centred.square().sum(0))
    # The root of 0 has no gradient; a column that never changes has none either.
    deviation = torch.where(squares > 0, squares, 1).sqrt() * (squares > 0) / math.sqrt(n - 1)
    alpha, beta = (centred / (deviation + eps)).chunk(2, dim=1)
    return alpha, beta, n
