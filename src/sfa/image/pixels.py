"""Pixels as they are stored, whole numbers to 255 with channels last, and as networks take them."""

from __future__ import annotations

import torch
from torch import Tensor

from sfa.errors import InputError


def check_pixels(x: Tensor) -> None:
    """``x`` is ``(n, height, width, channels)`` of uint8, as image sets hold it."""
    if x.dim() != 4 or x.dtype != torch.uint8:
        raise InputError(
            f"Images must be a uint8 tensor (n, height, width, channels), not {x.dtype} of shape {tuple(x.shape)}."
        )


def to_float(x: Tensor) -> Tensor:
    """Images ``(B, H, W, C)`` of uint8 as ``(B, C, H, W)`` of float32 in [0, 1], in the memory order of the pixels.

    That order, ``torch.channels_last``, is the one in which convolutions are fastest.
    """
    check_pixels(x)
    return x.permute(0, 3, 1, 2).to(torch.float32).div_(255)
