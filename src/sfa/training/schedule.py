"""Learning rate as a function of the epoch."""

from __future__ import annotations

import math


def learning_rate(epoch: float, *, peak: float, epochs: int, warmup: int = 0, cosine: bool = False) -> float:
    """The rate at ``epoch`` (counted from 0): a linear rise over ``warmup`` epochs, then constant or a cosine to 0.

    Steps within an epoch are fractions of it.

    >>> [round(learning_rate(e, peak=1.0, epochs=6, warmup=2, cosine=True), 3) for e in range(6)]
    [0.5, 1.0, 1.0, 0.854, 0.5, 0.146]
    """
    if epoch < warmup:
        return peak * min(1.0, (epoch + 1) / warmup)
    if not cosine:
        return peak
    progress = (epoch - warmup) / max(1, epochs - warmup)
    return peak * 0.5 * (1 + math.cos(math.pi * progress))
