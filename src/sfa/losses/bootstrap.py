"""The bootstrap loss of BYOL and BGRL: no negatives, only predictions of a target network's output."""

from __future__ import annotations

import torch
from torch import Tensor

from sfa import distributed
from sfa.errors import InputError


def bootstrap_latent(q: Tensor, z: Tensor, *, across_processes: bool = False) -> Tensor:
    r"""Turn each prediction towards the target's embedding of the same node, in the other view.

    .. math::
        \frac{1}{n} \sum_i \Big( 2 - 2\, \frac{q_i^\top z_i}{\lVert q_i \rVert \lVert z_i \rVert} \Big),

    which is the squared distance of the two directions, from 0 to 4. BGRL's equation leaves out the constant 2. It is
    one direction of two: a method takes it with the views exchanged as well. A row that is zero has no direction, and
    its cosine counts as 0.

    Args:
        q: Predictions ``(n, d)``, made of the online network's embeddings of one view.
        z: The target network's embeddings of the same nodes in the other view, a constant as a rule.
        across_processes: The rows of all processes are one batch (:mod:`sfa.distributed`), and the mean is over all.
    """
    n = distributed.count_rows(q) if across_processes else len(q)
    if q.shape != z.shape or q.dim() != 2 or n < 1:
        raise InputError(
            f"Predictions and targets of one shape (n, d) with n ≥ 1 are needed, not {tuple(q.shape)}, "
            f"{tuple(z.shape)}."
        )
    cosines = (_directions(q) * _directions(z)).sum()
    if across_processes:
        cosines = distributed.all_reduce_sum(cosines)
    return 2 - 2 * cosines / n


def _directions(rows: Tensor) -> Tensor:
    """Rows of length one; rows of length zero as they are, with a gradient that is finite."""
    # Scaled by its largest entry first: squares of float32 numbers below 1e-23 are no numbers any more.
    largest = rows.detach().abs().amax(1, keepdim=True)
    rows = rows / largest.where(largest > 0, 1)
    length: Tensor = torch.linalg.vector_norm(rows, dim=1, keepdim=True)
    return rows / length.where(length > 0, 1)
