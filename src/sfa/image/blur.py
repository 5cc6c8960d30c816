"""Gaussian blur of images, each with a width of its own."""

from __future__ import annotations

import torch
from torch import Tensor

from sfa.image.resampling import resampled


def blurred(images: Tensor, sigma: Tensor, reach: int) -> Tensor:
    """Every channel convolved with a Gaussian; beyond its borders an image goes on as the pixels there, as in Pillow.

    The kernel is not cut to a tenth of the image's side, as it was in SimCLR's code for images of 224 pixels: of 32
    pixels that is 3, which makes blurs from ``sigma`` 1 on all alike. The recipes for CIFAR blur by Pillow, uncut.

    Args:
        images: ``(B, C, H, W)``, floating point, of any size.
        sigma: Standard deviations in pixels, ``(B,)``, above 0.
        reach: Pixels on each side of a pixel that count for it; four standard deviations leave out 6e-5 of the weight.
    """
    steps = torch.arange(-reach, reach + 1, dtype=images.dtype, device=images.device)
    kernels = (-0.5 * (steps / sigma.to(images.dtype)[:, None]).square()).softmax(1)
    rows, columns = (_banded(kernels, size) for size in images.shape[2:])
    return resampled(images, rows, columns).clamp_(0, 1)


def _banded(kernels: Tensor, size: int) -> Tensor:
    """``(B, size, size)``: the matrices that convolve a line of pixels with kernels ``(B, 2 reach + 1)``."""
    width = kernels.shape[1]
    pixels = torch.arange(size, device=kernels.device)
    steps = torch.arange(width, device=kernels.device) - width // 2
    falls_on = (pixels + steps[:, None]).clamp_(0, size - 1)
    places = (falls_on[:, :, None] == pixels).to(kernels.dtype).view(width, size * size)
    return (kernels @ places).view(len(kernels), size, size)
