"""Colours of images: jitter of brightness, contrast, saturation and hue; greyscale; solarisation.

Images are ``(B, C, H, W)`` in ``[0, 1]``, of three channels (red, green, blue) or one (grey), and are never changed in
place. Operations are those of Pillow and torchvision, without their rounding to 8 bits in between.
"""

from __future__ import annotations

import torch
from torch import Tensor

JITTERS = ("brightness", "contrast", "saturation", "hue")
"""The four parts of a jitter; an order is a permutation of places in this tuple."""
BRIGHTNESS, CONTRAST, SATURATION, HUE = range(len(JITTERS))

LUMA = (0.299, 0.587, 0.114)
"""Weights of red, green and blue in a grey (ITU-R BT.601)."""


def luma(images: Tensor) -> Tensor:
    """``(B, 1, H, W)``: how bright each pixel is; of grey images, the images themselves."""
    if images.shape[1] == 1:
        return images
    red, green, blue = images.unbind(1)
    return (red * LUMA[0]).add_(green, alpha=LUMA[1]).add_(blue, alpha=LUMA[2]).unsqueeze(1)


def greyed(images: Tensor) -> Tensor:
    """Without colour: every channel is the :func:`luma`."""
    return luma(images).expand_as(images)


def solarised(images: Tensor) -> Tensor:
    """With every value from 0.5 on inverted: 1 less the value is then the smaller of the two."""
    return torch.minimum(images, 1 - images)


def jittered(images: Tensor, factors: Tensor, orders: Tensor) -> Tensor:
    r"""Brightness, contrast, saturation and hue changed one after the other, in each image's own order.

    The first three blend an image with another, :math:`x \leftarrow \mathrm{clamp}(f x + (1 - f) y)`, where :math:`y`
    is black for the brightness, the mean :func:`luma` of the image for the contrast and the luma of each pixel for the
    saturation. Grey images have neither saturation nor hue.

    Args:
        images: ``(B, C, H, W)``.
        factors: ``(B, 4)``, one for each of :data:`JITTERS`: 1 changes nothing; the hue is moved on by its factor, in
            turns, and 0 changes nothing.
        orders: ``(B, 4)`` int64, permutations of ``0 … 3``: what comes first, second, third, last.
    """
    coloured = images.shape[1] == 3
    images = images.clone()
    for kinds, own, of_mean, of_luma in zip(orders.unbind(1), *_shares(factors, orders, coloured), strict=True):
        grey = luma(images)
        mean = grey.mean((2, 3), keepdim=True)
        images.mul_(own).addcmul_(grey, of_luma).add_(mean * of_mean).clamp_(0, 1)
        rows = (kinds == HUE).nonzero().squeeze(1)
        if coloured and len(rows):
            turned = hue_turned(images.index_select(0, rows), factors[:, HUE].index_select(0, rows))
            images.index_copy_(0, rows, turned)
    return images


def _shares(factors: Tensor, orders: Tensor, coloured: bool) -> tuple[Tensor, Tensor, Tensor]:
    """Of an image, of its mean and of its luma in what follows at each of the four places, ``(4, B, 1, 1, 1)``."""
    idle = (orders == HUE) if coloured else (orders >= SATURATION)
    own = factors.gather(1, orders).masked_fill(idle, 1)
    shares = (own, *((1 - own) * (orders == kind) for kind in (CONTRAST, SATURATION)))
    own, of_mean, of_luma = (share.T[:, :, None, None, None] for share in shares)
    return own, of_mean, of_luma


def hue_turned(images: Tensor, turns: Tensor) -> Tensor:
    r"""The hue of every pixel moved on by ``turns`` ``(B,)`` of the colour circle; saturation and value (HSV) stay.

    With :math:`M` and :math:`m` the greatest and least channel of a pixel, and its new hue :math:`h \in [0, 6)`,

    .. math::
        \mathrm{red} = m + (M - m)\,[\,|h - 3| - 1\,]_0^1, \quad
        \mathrm{green} = m + (M - m)\,[\,2 - |h - 2|\,]_0^1, \quad
        \mathrm{blue} = m + (M - m)\,[\,2 - |h - 4|\,]_0^1

    which is the way to HSV and back without its six cases.
    """
    red, green, blue = images.unbind(1)
    least = images.amin(1)
    chroma = images.amax(1).sub_(least)
    # In sixths of a turn the old hue is 3 ± (2 - q), minus where green exceeds blue, in all six sextants. The hue of a
    # pixel without chroma, q = 0 / tiny, counts for nothing.
    q = (green + blue).sub_(red).sub_(least).div_(chroma.clamp_min(torch.finfo(images.dtype).tiny))
    hue = (2 - q).copysign_(blue - green).div_(6).add_(turns[:, None, None] + 0.5)
    hue = hue.sub_(hue.floor()).mul_(6)
    ramps = ((hue - 3).abs_().sub_(1), 2 - (hue - 2).abs_(), 2 - (hue - 4).abs_())
    return torch.stack([torch.addcmul(least, chroma, ramp.clamp_(0, 1)) for ramp in ramps], 1)
