"""Mutual information by the Jensen–Shannon divergence, the loss of DGI, MVGRL and InfoGraph."""

from __future__ import annotations

from torch import Tensor
from torch.nn.functional import logsigmoid

from sfa.errors import InputError


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
