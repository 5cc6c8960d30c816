"""InfoNCE in one direction: anchors look for their positives, and the positives look for nothing."""

from __future__ import annotations

from typing import Literal, get_args

import torch
from torch import Tensor
from torch.nn.functional import normalize
from torch.utils.checkpoint import checkpoint

from sfa.errors import InputError, unknown_name
from sfa.matrices import row_chunks
from sfa.ranges import check_number

Negatives = Literal["positives", "anchors"]


def info_nce(anchors: Tensor, positives: Tensor, *, negatives: Negatives = "positives", tau: float = 1.0) -> Tensor:
    r"""Each anchor ``a_i`` should be nearer to its positive ``p_i`` than to negatives, which are other rows.

    .. math::
        L = \frac1n \sum_i \Big( -\frac{a_i^\top p_i}{\tau} + \log \Big( e^{a_i^\top p_i / \tau}
            + \sum_{j \neq i} e^{a_i^\top n_j / \tau} \Big) \Big)

    with rows of length 1 and the negatives ``n`` taken from the positives or from the anchors themselves.
    :func:`~sfa.losses.nt_xent` has both kinds in one sum and the mean of both directions, and is faster where that is
    wanted; here one side can be a target that learns nothing.

    Args:
        anchors: Rows ``(n, d)``; normalised here.
        positives: The same nodes, ``(n, d)``.
        negatives: ``positives``: the positives of other anchors; ``anchors``: the other anchors.
        tau: Temperature.

    Returns:
        A scalar, exact. Similarities are computed some rows at a time, and again on the way back: memory grows with
        ``n d``.
    """
    _check(anchors, positives, negatives, tau)
    dtype = torch.promote_types(torch.promote_types(anchors.dtype, positives.dtype), torch.float32)
    with torch.autocast(anchors.device.type, enabled=False):
        a, p = normalize(anchors.to(dtype), dim=1), normalize(positives.to(dtype), dim=1)
        others = p if negatives == "positives" else a
        sums = [
            checkpoint(
                _sum_of_losses,
                a[rows] / tau,
                p[rows],
                others,
                rows.start,
                use_reentrant=False,
                preserve_rng_state=False,
            )
            for rows in row_chunks((len(a), len(a)))
        ]
        loss: Tensor = torch.stack(sums).sum() / len(a)
    return loss


def _sum_of_losses(a: Tensor, p: Tensor, others: Tensor, first: int) -> Tensor:
    """Of some anchors, from number ``first`` on: their own column holds the positive, whatever the others are."""
    positive = torch.linalg.vecdot(a, p)
    logits = (a @ others.mT).diagonal_scatter(positive, first)
    losses: Tensor = logits.logsumexp(1) - positive
    return losses.sum()


def _check(anchors: Tensor, positives: Tensor, negatives: Negatives, tau: float) -> None:
    if anchors.shape != positives.shape or anchors.dim() != 2 or len(anchors) == 0:
        raise InputError(
            "Anchors and positives of one shape (n, d) with n ≥ 1 are needed, not "
            f"{tuple(anchors.shape)}, {tuple(positives.shape)}."
        )
    if negatives not in get_args(Negatives):
        raise unknown_name("kind of negatives", negatives, get_args(Negatives))
    check_number("tau", tau, above=0)
