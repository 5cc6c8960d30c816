"""The loss of SwAV: from one view, predict which prototypes the other is assigned to."""

from __future__ import annotations

import torch
from torch import Tensor

from sfa import distributed
from sfa.errors import InputError
from sfa.ranges import check_number


def swapped_prediction(
    scores_alpha: Tensor,
    scores_beta: Tensor,
    q_alpha: Tensor,
    q_beta: Tensor,
    *,
    tau: float = 0.1,
    across_processes: bool = False,
) -> Tensor:
    r"""Cross-entropy of each view's prediction against the other view's assignments (Caron et al., 2020).

    .. math::
        \mathcal{L} = -\frac{1}{2B} \sum_i \sum_k \big( q^\beta_{ik} \log p^\alpha_{ik} +
            q^\alpha_{ik} \log p^\beta_{ik} \big), \qquad
        p_{ik} = \frac{e^{s_{ik} / \tau}}{\sum_l e^{s_{il} / \tau}}

    Args:
        scores_alpha: ``s``, ``(B, K)``, of each row of the first view with each prototype.
        scores_beta: The same rows in the second view.
        q_alpha: Assignments ``(B, K)`` of the first view, a constant as a rule (:func:`~sfa.losses.sinkhorn`).
        q_beta: Those of the second.
        tau: Temperature.
        across_processes: The rows of all processes are one batch (:mod:`sfa.distributed`), and the mean is over all;
            some may hold none.
    """
    n = distributed.count_rows(scores_alpha) if across_processes else len(scores_alpha)
    shapes = [tuple(one.shape) for one in (scores_alpha, scores_beta, q_alpha, q_beta)]
    if len(set(shapes)) > 1 or scores_alpha.dim() != 2 or n < 1:
        listed = ", ".join(map(str, shapes))
        raise InputError(
            f"Scores and assignments of both views of one shape (B, K) with B ≥ 1 are needed, not {listed}."
        )
    check_number("tau", tau, above=0)
    total = _cross_entropy(scores_alpha, q_beta, tau) + _cross_entropy(scores_beta, q_alpha, tau)
    if across_processes:
        total = distributed.all_reduce_sum(total)
    return total / (2 * n)


def _cross_entropy(scores: Tensor, q: Tensor, tau: float) -> Tensor:
    """The sum over rows; half precision is widened to float32, in which it stays under autocast too."""
    wide = torch.promote_types(scores.dtype, torch.float32)
    return -(q * (scores.to(wide) / tau).log_softmax(1)).sum()
