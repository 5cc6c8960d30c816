"""InfoNCE in one direction: each anchor looks for its positive."""

from functools import partial
from typing import Literal, get_args

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from sfa.errors import InputError, unknown_name
from sfa.matrices import check_one_shape, row_chunks
from sfa.ranges import check_number

Negatives = Literal["positives", "anchors"]

recompute = partial(checkpoint, use_reentrant=False, preserve_rng_state=False)
"""Call a function, and again in backward instead of keeping what it computes."""


def info_nce(
    anchors: Tensor,
    positives: Tensor,
    *,
    negatives: Negatives = "positives",
    positive_in_denominator: bool = True,
    tau: float = 1.0,
    of_each: bool = False,
) -> Tensor:
    r"""Draw each anchor ``a_i`` nearer to its positive ``p_i`` than to negatives, which are other rows.

    From `"Graph Contrastive Learning with Augmentations" <https://arxiv.org/abs/2010.13902>`_ (You et al., 2020).

    .. math::
        L = \frac1n \sum_i \Big( -\frac{a_i^\top p_i}{\tau} + \log \Big( e^{a_i^\top p_i / \tau}
            + \sum_{j \neq i} e^{a_i^\top n_j / \tau} \Big) \Big)

    with rows of length 1. :func:`~sfa.losses.nt_xent` has both kinds of negatives and the mean of both directions, and
    is faster where that is wanted; here one side can be a target that learns nothing. Similarities are computed some
    rows at a time, and again in backward: the loss is exact, and memory grows with ``n d``.

    Args:
        anchors, positives: Rows ``(n, d)`` of the same nodes or graphs; normalized here.
        negatives: The ``positives`` of other anchors, or the other ``anchors``.
        positive_in_denominator: Keep the first term under the logarithm. Without it, as in the code of GraphCL, the
            loss can fall below 0, and its pull at a positive does not fade once that is found.
        tau: Temperature.
        of_each: Return the loss of each anchor, ``(n,)``, instead of their mean.
    """
    check_one_shape("Anchors and positives", anchors, positives, rows=len(anchors))
    if len(anchors) == 1 and not positive_in_denominator:
        raise InputError("A batch of one has no negatives, and this loss needs some: give it two or more.")
    if negatives not in get_args(Negatives):
        raise unknown_name("kind of negatives", negatives, get_args(Negatives))
    check_number("tau", tau, above=0)
    dtype = torch.promote_types(torch.promote_types(anchors.dtype, positives.dtype), torch.float32)
    with torch.autocast(anchors.device.type, enabled=False):
        a, p = _unit_rows(anchors.to(dtype)), _unit_rows(positives.to(dtype))
        others = p if negatives == "positives" else a
        losses = [
            recompute(_losses, a[rows] / tau, p[rows], others, rows.start, positive_in_denominator)
            for rows in row_chunks((len(a), len(a)))
        ]
        return torch.cat(losses) if of_each else torch.stack([some.sum() for some in losses]).sum() / len(a)


def _unit_rows(z: Tensor) -> Tensor:
    """Return rows of length one; those of length zero, of empty graphs say, as they are, with a finite gradient."""
    length: Tensor = torch.linalg.vector_norm(z, dim=1, keepdim=True)
    return z / length.where(length > 0, 1)


def _losses(a: Tensor, p: Tensor, others: Tensor, first: int, positive_in_denominator: bool) -> Tensor:
    """Compute the losses of anchors from number ``first`` on, whose own column holds the positive or nothing."""
    positive = torch.linalg.vecdot(a, p)
    own = positive if positive_in_denominator else torch.full_like(positive, -torch.inf)
    losses: Tensor = (a @ others.mT).diagonal_scatter(own, first).logsumexp(1) - positive
    return losses
