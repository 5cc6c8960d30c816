"""Mean and spread of the channels of an image set, from counts of the 256 values."""

from __future__ import annotations

import math

import torch
from torch import Tensor

HISTOGRAM_BYTES = 1 << 22
"""Of images that are read at a time."""


def histograms(x: Tensor, mask: Tensor | None = None) -> Tensor:
    """How often each value occurs in each channel, ``(C, 256)``, of uint8 images ``(n, H, W, C)``, or those of a mask.

    The images are read in chunks and never copied whole.
    """
    counts = torch.zeros(x.shape[3], 256, dtype=torch.int64)
    chunk = max(1, HISTOGRAM_BYTES // max(1, x[:1].numel()))
    for start in range(0, len(x), chunk):
        part = x[start : start + chunk]
        if mask is not None:
            part = part[mask[start : start + chunk].to(part.device)]
        for channel, count in enumerate(counts):
            count += torch.bincount(part[..., channel].flatten(), minlength=256).cpu()
    return counts


def moments(counts: list[int]) -> tuple[float, float]:
    """Mean and standard deviation, on the scale of [0, 1], of pixels of which the number of each value is given."""
    n = sum(counts)
    total = sum(value * count for value, count in enumerate(counts))
    squares = sum(value * value * count for value, count in enumerate(counts))
    variance = n * squares - total * total  # times n²; whole numbers, so nothing cancels
    return total / n / 255, math.sqrt(variance) / n / 255 if variance else 1.0
