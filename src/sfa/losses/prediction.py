"""Losses that predict one view from the other without negatives: those of BYOL and BGRL, and of SwAV."""

from __future__ import annotations

import torch
from torch import Tensor

from sfa import distributed
from sfa.matrices import check_one_shape
from sfa.ranges import check_number


def bootstrap_latent(q: Tensor, z: Tensor, *, across_processes: bool = False) -> Tensor:
    r"""Turn each prediction towards the target's embedding of the same node, in the other view.

    From `BYOL <https://arxiv.org/abs/2006.07733>`_ and, without the 2, `BGRL <https://arxiv.org/abs/2102.06514>`_.

    .. math::
        \frac{1}{n} \sum_i \Big( 2 - 2\, \frac{q_i^\top z_i}{\lVert q_i \rVert \lVert z_i \rVert} \Big),

    which is the squared distance of the two directions, from 0 to 4. It is one direction of two: a method takes it with
    the views exchanged as well. A row that is zero has no direction, and its cosine counts as 0.

    Args:
        q: Predictions ``(n, d)``, made of the online network's embeddings of one view.
        z: The target network's embeddings of the same nodes in the other view, a constant as a rule.
        across_processes: The rows of all processes are one batch.
    """
    n = distributed.count_rows(q) if across_processes else len(q)
    check_one_shape("Predictions and targets", q, z, rows=n)
    cosines = (_directions(q) * _directions(z)).sum()
    if across_processes:
        cosines = distributed.all_reduce_sum(cosines)
    return 2 - 2 * cosines / n


def _directions(rows: Tensor) -> Tensor:
    """Return rows of length one; rows of length zero as they are, with a gradient that is finite."""
    # Scaled by its largest entry first: squares of float32 numbers below 1e-23 are no numbers any more.
    largest = rows.detach().abs().amax(1, keepdim=True)
    rows = rows / largest.where(largest > 0, 1)
    length: Tensor = torch.linalg.vector_norm(rows, dim=1, keepdim=True)
    return rows / length.where(length > 0, 1)


def swapped_prediction(
    scores_alpha: Tensor,
    scores_beta: Tensor,
    q_alpha: Tensor,
    q_beta: Tensor,
    *,
    tau: float = 0.1,
    across_processes: bool = False,
) -> Tensor:
    r"""Predict from each view which prototypes the other is assigned to.

    From `SwAV <https://arxiv.org/abs/2006.09882>`_ (Caron et al., 2020).

    .. math::
        \mathcal{L} = -\frac{1}{2B} \sum_i \sum_k \big( q^\beta_{ik} \log p^\alpha_{ik} +
            q^\alpha_{ik} \log p^\beta_{ik} \big), \qquad
        p_{ik} = \frac{e^{s_{ik} / \tau}}{\sum_l e^{s_{il} / \tau}}

    Args:
        scores_alpha, scores_beta: ``s``, ``(B, K)``, of each row of a view with each prototype.
        q_alpha, q_beta: Assignments ``(B, K)`` of both views, constants as a rule (:func:`~sfa.losses.sinkhorn`).
        tau: Temperature.
        across_processes: The rows of all processes are one batch; some may hold none.
    """
    n = distributed.count_rows(scores_alpha) if across_processes else len(scores_alpha)
    what = "Scores and assignments of both views"
    check_one_shape(what, scores_alpha, scores_beta, q_alpha, q_beta, rows=n, dims="B, K")
    check_number("tau", tau, above=0)
    total = _cross_entropy(scores_alpha, q_beta, tau) + _cross_entropy(scores_beta, q_alpha, tau)
    if across_processes:
        total = distributed.all_reduce_sum(total)
    return total / (2 * n)


def _cross_entropy(scores: Tensor, q: Tensor, tau: float) -> Tensor:
    """Sum over rows; half precision is widened to float32, in which it stays under autocast too."""
    wide = torch.promote_types(scores.dtype, torch.float32)
    return -(q * (scores.to(wide) / tau).log_softmax(1)).sum()
