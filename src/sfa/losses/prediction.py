"""Losses that predict one view from the other without negatives: those of BYOL and BGRL, and of SwAV."""

import torch
from torch import Tensor

from sfa import distributed
from sfa.matrices import check_one_shape
from sfa.ranges import check_number


def bootstrap_latent(q: Tensor, z: Tensor, *, across_processes: bool = False) -> Tensor:
    r"""Turn each prediction ``q`` towards the target's embedding ``z`` of the same node in the other view.

    From `"Bootstrap Your Own Latent" <https://arxiv.org/abs/2006.07733>`_ (BYOL) and, without the 2, `"Large-Scale
    Representation Learning on Graphs via Bootstrapping" <https://arxiv.org/abs/2102.06514>`_ (BGRL).

    .. math::
        \frac{1}{n} \sum_i \Big( 2 - 2\, \frac{q_i^\top z_i}{\lVert q_i \rVert \lVert z_i \rVert} \Big),

    which is the squared distance of the two directions, from 0 to 4. It is one direction of two: a method adds it with
    the views exchanged. A row that is zero has no direction, and its cosine counts as 0.
    """
    n = distributed.count_rows(q) if across_processes else len(q)
    check_one_shape("Predictions and targets", q, z, rows=n)
    cosines = (_directions(q) * _directions(z)).sum()
    return 2 - 2 * (distributed.all_reduce_sum(cosines) if across_processes else cosines) / n


def _directions(rows: Tensor) -> Tensor:
    """Return rows of length one; rows of length zero as they are, with a gradient that is finite."""
    # Scaled by its largest entry first: squares of float32 numbers below 1e-23 underflow to zero.
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

    From `"Unsupervised Learning of Visual Features by Contrasting Cluster Assignments"
    <https://arxiv.org/abs/2006.09882>`_ (SwAV, Caron et al., 2020).

    .. math::
        \mathcal{L} = -\frac{1}{2B} \sum_i \sum_k \big( q^\beta_{ik} \log p^\alpha_{ik} +
            q^\alpha_{ik} \log p^\beta_{ik} \big), \qquad
        p_{ik} = \frac{e^{s_{ik} / \tau}}{\sum_l e^{s_{il} / \tau}}

    for scores ``s`` ``(B, K)`` of each row with each prototype, and assignments ``q`` ``(B, K)``, constants as a rule
    (:func:`~sfa.losses.sinkhorn`).
    """
    n = distributed.count_rows(scores_alpha) if across_processes else len(scores_alpha)
    what = "Scores and assignments of both views"
    check_one_shape(what, scores_alpha, scores_beta, q_alpha, q_beta, rows=n, dims="B, K")
    check_number("tau", tau, above=0)
    total = _cross_entropy(scores_alpha, q_beta, tau) + _cross_entropy(scores_beta, q_alpha, tau)
    return (distributed.all_reduce_sum(total) if across_processes else total) / (2 * n)


def _cross_entropy(scores: Tensor, q: Tensor, tau: float) -> Tensor:
    """Sum over rows; half precision is widened to float32, in which it stays under autocast too."""
    wide = torch.promote_types(scores.dtype, torch.float32)
    return -(q * (scores.to(wide) / tau).log_softmax(1)).sum()
