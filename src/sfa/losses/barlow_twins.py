"""The redundancy-reduction loss of Barlow Twins, in the form of Graph Barlow Twins (G-BT)."""

from __future__ import annotations

from torch import Tensor

from sfa import distributed
from sfa.losses.standardise import standardised


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
        across_processes: The rows of all processes are one batch (:mod:`sfa.distributed`), and the loss that of all;
            some may hold none. Half precision is widened to float32 then.
    """
    alpha, beta, n = standardised(z_alpha, z_beta, eps=eps, across_processes=across_processes)
    product = alpha.mT @ beta
    correlation = (distributed.all_reduce_sum(product) if across_processes else product) / n
    diagonal = correlation.diagonal()
    invariance = (1 - diagonal).square().sum()
    redundancy = correlation.square().sum() - diagonal.square().sum()
    return invariance + (1 / len(diagonal) if off_diagonal is None else off_diagonal) * redundancy
