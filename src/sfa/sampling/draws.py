"""Whole numbers drawn uniformly, each below a bound of its own."""

from __future__ import annotations

import torch
from torch import Tensor


def below(bounds: Tensor, generator: torch.Generator) -> Tensor:
    """For each of the ``bounds`` ≥ 1, of any shape, a number from 0 to the bound minus 1.

    One of 63 random bits each, so that a bound ``b`` makes the likeliest number at most ``b / 2⁶³`` likelier.
    """
    return torch.randint(2**63 - 1, bounds.shape, generator=generator) % bounds


def distinct_below(bounds: Tensor, count: int, generator: torch.Generator) -> Tensor:
    """For each of ``k`` bounds ≥ ``count``, so many different numbers below it: ``(count, k)``, every set as likely.

    Floyd's algorithm, for all bounds at once: for ``j = b - count, …, b - 1`` draw a number from 0 to ``j`` and take
    it, or ``j`` itself if it was taken before. The cost does not depend on the bounds.
    """
    last = bounds - count + torch.arange(count)[:, None]
    picks = below(last + 1, generator)
    for i in range(1, count):
        taken = (picks[:i] == picks[i]).any(0)
        picks[i] = torch.where(taken, last[i], picks[i])
    return picks
