"""Random resized crops: a piece of each image, enlarged to the size of the image."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from sfa.image.resampling import resampled

TRIES = 10
ASPECTS = (3 / 4, 4 / 3)
"""Least and greatest width over height of a crop."""


def boxes_of(tries: Tensor, places: Tensor, size: tuple[int, int], scale: tuple[float, float]) -> Tensor:
    """Boxes of crops ``(B, 4)`` int64, each ``(top, left, height, width)``, from numbers uniform in ``[0, 1)``.

    As in torchvision's RandomResizedCrop: the area is uniform in ``scale`` of the image's, the aspect log-uniform in
    :data:`ASPECTS`, both sides are rounded; of up to 10 tries the first that fits into the image is taken, at a place
    that is uniform among all. If none fits, it is the largest box in the middle whose aspect is allowed.

    Args:
        tries: Of area and aspect, ``(B, 2, 10)``.
        places: Of top and left, ``(B, 2)``.
        size: Height and width of the images.
        scale: Least and greatest share of the area.
    """
    bounds = places.new_tensor(size)
    area = math.prod(size) * (scale[0] + (scale[1] - scale[0]) * tries[:, 0])
    aspect = ASPECTS[0] * (ASPECTS[1] / ASPECTS[0]) ** tries[:, 1]
    sides = torch.stack([(area / aspect).sqrt(), (area * aspect).sqrt()], 2).round()
    fits = ((sides >= 1) & (sides <= bounds)).all(2)
    first = fits.to(torch.uint8).argmax(1)[:, None, None].expand(-1, 1, 2)
    sides = sides.gather(1, first).squeeze(1)
    starts = (places * (bounds - sides + 1)).floor()

    middle = bounds.new_tensor(_largest(*size))
    none_fits = ~fits.any(1, keepdim=True)
    sides = sides.where(~none_fits, middle)
    starts = starts.where(~none_fits, ((bounds - middle) / 2).floor())
    return torch.cat([starts, sides], 1).long()


def _largest(height: int, width: int) -> tuple[int, int]:
    return min(height, round(width / ASPECTS[0])), min(width, round(height * ASPECTS[1]))


def cropped(images: Tensor, boxes: Tensor, flipped: Tensor) -> Tensor:
    """The pieces in the boxes, enlarged to the size of the images by bicubic interpolation, mirrored where asked.

    The interpolation is Pillow's (Keys' cubic with a = -1/2; at the border of a box the weights of the pixels inside
    are scaled to sum 1); nothing outside a box is looked at. Values are clamped to ``[0, 1]``. A box of the whole image
    changes nothing.

    Args:
        images: ``(B, C, H, W)``, floating point.
        boxes: ``(B, 4)`` int64: top, left, height, width, each box within the image.
        flipped: ``(B,)`` bool: mirrored left to right.
    """
    top, left, height, width = boxes.unbind(1)
    rows = _cubic(top, height, images.shape[2], torch.zeros_like(flipped), images.dtype)
    columns = _cubic(left, width, images.shape[3], flipped, images.dtype)
    return resampled(images, rows, columns).clamp_(0, 1)


def _cubic(start: Tensor, length: Tensor, size: int, backwards: Tensor, dtype: torch.dtype) -> Tensor:
    """``(B, size, size)``: weights of the pixels of a line for those of its piece enlarged to the size of the line."""
    start, length = (bound.to(dtype)[:, None] for bound in (start, length))
    pixels = torch.arange(size, dtype=dtype, device=start.device)
    goals = torch.where(backwards[:, None], size - 1 - pixels, pixels)
    centres = (goals + 0.5) * (length / size) - 0.5
    before = centres.floor()
    t = centres - before
    weights = torch.stack(
        [((1 - 0.5 * t) * t - 0.5) * t, (1.5 * t - 2.5) * t**2 + 1, ((2 - 1.5 * t) * t + 0.5) * t, (t - 1) * t**2 / 2],
        2,
    )
    neighbours = before[:, :, None] + torch.arange(-1, 3, dtype=dtype, device=start.device)
    weights = weights * ((neighbours >= 0) & (neighbours < length[:, :, None]))
    weights = weights / weights.sum(2, keepdim=True)
    places = (neighbours + start[:, :, None]).clamp_(0, size - 1).long()
    return weights.new_zeros(len(start), size, size).scatter_add_(2, places, weights)
