"""Mutual information by the Jensen–Shannon divergence, the loss of DGI, MVGRL and InfoGraph."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import logsigmoid
from torch.utils.checkpoint import checkpoint

from sfa.errors import InputError
from sfa.matrices import row_chunks


def jensen_shannon(positive: Tensor, negative: Tensor) -> Tensor:
    r"""Tell pairs that belong together from pairs that do not, by a discriminator's scores of them.

    .. math::
        L = \tfrac12 \Big( \mathbb{E}_{+}\big[ \operatorname{sp}(-s) \big]
            + \mathbb{E}_{-}\big[ \operatorname{sp}(s) \big] \Big), \qquad \operatorname{sp}(s) = \log(1 + e^s)

    With :math:`\sigma(s)` for the probability that a pair belongs together this is the binary cross-entropy of DGI
    (Veličković et al., 2019), where there are as many pairs of either kind. MVGRL and InfoGraph minimise
    :math:`2 L - 2 \log 2`, the estimate of Nowozin, Cseke and Tomioka (2016) with its sign changed: the same loss but
    for the scale. Scores that say nothing (all 0) cost :math:`\log 2`.

    Args:
        positive: Scores of pairs that belong together, of any shape.
        negative: Scores of pairs that do not.

    Returns:
        A scalar. Scores of any size keep it and its gradient finite.
    """
    if positive.numel() == 0 or negative.numel() == 0:
        raise InputError(
            f"Scores of pairs of both kinds are needed, not {positive.numel()} positive and {negative.numel()} "
            "negative ones."
        )
    return -0.5 * (logsigmoid(positive).mean() + logsigmoid(-negative).mean())


def local_global_jensen_shannon(local: Tensor, summaries: Tensor, owner: Tensor) -> Tensor:
    r"""Tell the parts of a whole from the parts of all others by inner products (InfoGraph: Sun et al., 2020, Eq. 4).

    .. math::
        L = \tfrac12 \Big( \frac1n \sum_i \operatorname{sp}\big( -l_i^\top s_{o(i)} \big)
            + \frac{1}{n (b - 1)} \sum_i \sum_{g \neq o(i)} \operatorname{sp}\big( l_i^\top s_g \big) \Big)

    which is :func:`jensen_shannon` of the ``n`` pairs of a part with its own whole and of the ``n (b - 1)`` others.

    Args:
        local: Parts ``(n, d)``: the nodes of a batch of graphs.
        summaries: Wholes ``(b, d)``: the graphs, two or more.
        owner: ``(n,)`` int64, the whole that each part belongs to; a whole may have no part.

    Returns:
        A scalar. Scores are computed some rows at a time, and again on the way back: memory grows with ``(n + b) d``.
    """
    n, b = len(local), len(summaries)
    if local.dim() != 2 or local.shape[1:] != summaries.shape[1:] or owner.shape != (n,) or n < 1 or b < 2:
        raise InputError(
            "Parts (n ≥ 1, d), wholes (b ≥ 2, d) and the whole of each part (n,) are needed, not "
            f"{tuple(local.shape)}, {tuple(summaries.shape)} and {tuple(owner.shape)}."
        )
    dtype = torch.promote_types(torch.promote_types(local.dtype, summaries.dtype), torch.float32)
    with torch.autocast(local.device.type, enabled=False):
        local, summaries = local.to(dtype), summaries.to(dtype)
        sums = [
            checkpoint(
                _sums_of_losses,
                local[rows],
                summaries,
                owner[rows],
                use_reentrant=False,
                preserve_rng_state=False,
            )
            for rows in row_chunks((n, b))
        ]
        positive, negative = torch.stack(sums).sum(0)
    loss: Tensor = 0.5 * (positive / n + negative / (n * (b - 1)))
    return loss


def _sums_of_losses(local: Tensor, summaries: Tensor, owner: Tensor) -> Tensor:
    """``(2,)``: of the pairs of some parts that belong together, and of those that do not."""
    scores, own = local @ summaries.mT, owner[:, None]
    positive = logsigmoid(scores.gather(1, own))
    negative = logsigmoid(-scores.scatter(1, own, -torch.inf))  # one's own whole is no negative, and costs nothing
    return -torch.stack([positive.sum(), negative.sum()])
