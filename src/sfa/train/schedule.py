"""Learning rate as a function of the epoch."""

from __future__ import annotations

import math


def learning_rate(
    epoch: float,
    *,
    peak: float,
    epochs: int,
    warmup: int = 0,
    warmup_from: float | None = None,
    cosine: bool = False,
) -> float:
    """The rate at ``epoch`` (counted from 0): a linear rise over ``warmup`` epochs, then constant or a cosine to 0.

    Steps within an epoch are fractions of it. The rise begins at ``warmup_from`` and is at its peak when the warm-up
    ends; if that is not given, it begins one epoch in and is at its peak for the warm-up's last epoch.

    >>> [round(learning_rate(e, peak=1.0, epochs=6, warmup=2, cosine=True), 3) for e in range(6)]
    [0.5, 1.0, 1.0, 0.854, 0.5, 0.146]
    >>> [round(learning_rate(e, peak=1.0, epochs=6, warmup=2, warmup_from=0.2), 3) for e in (0, 0.5, 1, 2)]
    [0.2, 0.4, 0.6, 1.0]
    """
    if epoch < warmup:
        if warmup_from is None:
            return peak * min(1.0, (epoch + 1) / warmup)
        return warmup_from + (peak - warmup_from) * (epoch / warmup)
    if not cosine:
        return peak
    progress = (epoch - warmup) / max(1, epochs - warmup)
    return peak * 0.5 * (1 + math.cos(math.pi * progress))
