"""Random views of images, all images of a batch at once, on their device, each with parameters of its own."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor
from torch_geometric.data import Data

from sfa.augment.base import Augmentation
from sfa.augment.strengths import STRENGTHS, Strength, Strengths
from sfa.errors import InputError, unknown_name
from sfa.image.blur import blurred
from sfa.image.colour import greyed, jittered, solarised
from sfa.image.crops import TRIES, boxes_of, cropped
from sfa.image.pixels import to_float
from sfa.registry import register

_DRAWS = {
    "tries": 2 * TRIES,
    "places": 2,
    "flip": 1,
    "jitter": 1,
    "factors": 4,
    "orders": 4,
    "grey": 1,
    "blur": 1,
    "sigma": 1,
    "solarise": 1,
}
"""How many random numbers an image takes for what, whether it needs them or not."""


@register("augmentation", "image")
class ImageViews(Augmentation):
    """Crop, flip, jitter, blur and solarize images at random, each with parameters of its own (:func:`random_view`).

    A batch of images ``x`` ``(b, height, width, channels)`` in uint8 becomes two views ``(b, channels, height, width)``
    in [0, 1].

    Args:
        strength: How strongly, by a name of :data:`~sfa.augment.strengths.STRENGTHS`; or a pair of
            :class:`~sfa.augment.strengths.Strengths`, of view alpha and beta.
    """

    level = "image"

    def __init__(self, strength: Strength | tuple[Strengths, Strengths] = "strong") -> None:
        if isinstance(strength, str) and strength not in STRENGTHS:
            raise unknown_name("strength", strength, STRENGTHS)
        are_pair = isinstance(strength, tuple | list) and [type(one) for one in strength] == [Strengths, Strengths]
        if not isinstance(strength, str) and not are_pair:
            raise InputError(f"strength is a name or a pair of Strengths, of view alpha and beta, not {strength!r}.")
        self.strength = strength
        self._strengths = STRENGTHS[strength] if isinstance(strength, str) else strength

    def view(self, data: Data | Tensor, generator: torch.Generator | None = None, index: int = 0) -> Tensor:
        images = to_float(data.x) if isinstance(data, Data) else data
        return random_view(images, self._strengths[index], generator)

    def __call__(self, data: Data | Tensor, generator: torch.Generator | None = None) -> tuple[Tensor, Tensor]:
        return super().__call__(to_float(data.x) if isinstance(data, Data) else data, generator)  # converted once


@torch.no_grad()
def random_view(images: Tensor, strengths: Strengths, generator: torch.Generator | None = None) -> Tensor:
    """A view of each image: crop, colour jitter, greyscale, blur, solarisation and flip, in this order.

    It is the augmentation of SimCLR, BYOL and Barlow Twins with the conventions of torchvision: see
    :func:`~sfa.image.crops.boxes_of`, :func:`~sfa.image.colour.jittered` and :func:`~sfa.image.blur.blurred`. It is
    drawn for each image alone whether, how far and in which order its colours change. An operation is computed for the
    images that drew it, and for no others.

    An image takes a row of random numbers, always as many. Its view depends on these and on the image, not on what else
    is in the batch; on a CPU the first images of a batch get the views that they would get without the rest.

    Args:
        images: ``(B, C, H, W)`` in ``[0, 1]``, floating point, of one channel or three.
        strengths: What may happen, how likely and how far; see :data:`STRENGTHS`.
        generator: Source of randomness, on the device of the images.

    Returns:
        ``(B, C, H, W)`` in ``[0, 1]``, of the type of the images, in memory format channels_last, without gradient; the
        images themselves if the strengths change nothing. Types below float32 are computed in float32.
    """
    _check(images)
    if strengths.changes_nothing:
        return images
    numbers = torch.rand(len(images), sum(_DRAWS.values()), device=images.device, generator=generator)
    draws = dict(zip(_DRAWS, torch.split(numbers, list(_DRAWS.values()), 1), strict=True))
    with torch.autocast(images.device.type, enabled=False):
        view = images.to(torch.promote_types(images.dtype, torch.float32))
        view = _cropped(view, draws, strengths)
        view = _jittered(view, draws, strengths)
        view = _for_some(view, draws["grey"], strengths.grey, lambda some, _: greyed(some))
        view = _blurred(view, draws, strengths)
        view = _for_some(view, draws["solarise"], strengths.solarise, lambda some, _: solarised(some))
    return view.to(images.dtype).contiguous(memory_format=torch.channels_last)


def _cropped(view: Tensor, draws: dict[str, Tensor], strengths: Strengths) -> Tensor:
    """A new tensor. The flip is here, though it is said to come last: it is free, and what is between is the same."""
    if strengths.crop is None and not strengths.flip:
        return view.clone(memory_format=torch.contiguous_format)
    height, width = view.shape[2:]
    if strengths.crop is None:
        boxes = torch.tensor([0, 0, height, width], device=view.device).expand(len(view), 4)
    else:
        boxes = boxes_of(draws["tries"].view(-1, 2, TRIES), draws["places"], (height, width), strengths.crop)
    return cropped(view, boxes, draws["flip"].squeeze(1) < strengths.flip)


def _jittered(view: Tensor, draws: dict[str, Tensor], strengths: Strengths) -> Tensor:
    blends = (strengths.brightness, strengths.contrast, strengths.saturation)
    low = draws["factors"].new_tensor([*(max(0.0, 1 - blend) for blend in blends), -strengths.hue])
    high = draws["factors"].new_tensor([*(1 + blend for blend in blends), strengths.hue])
    factors = (low + (high - low) * draws["factors"]).to(view.dtype)
    orders = draws["orders"].argsort(1)
    return _for_some(view, draws["jitter"], strengths.jitter, lambda some, i: jittered(some, factors[i], orders[i]))


def _blurred(view: Tensor, draws: dict[str, Tensor], strengths: Strengths) -> Tensor:
    low, high = strengths.sigma
    sigma, reach = low + (high - low) * draws["sigma"].squeeze(1), math.ceil(4 * high)
    return _for_some(view, draws["blur"], strengths.blur, lambda some, i: blurred(some, sigma[i], reach))


def _for_some(
    images: Tensor, numbers: Tensor, probability: float, change: Callable[[Tensor, Tensor], Tensor]
) -> Tensor:
    """Change, in place, the images whose number is below the probability; ``change`` is told which ones they are."""
    if not probability:
        return images
    rows = (numbers.squeeze(1) < probability).nonzero().squeeze(1)
    return images.index_copy_(0, rows, change(images.index_select(0, rows), rows))


def _check(images: Tensor) -> None:
    if images.dim() != 4 or images.shape[1] not in (1, 3) or not images.is_floating_point():
        raise InputError(
            "Images to augment are floating point (B, C, H, W) with one channel or three, not "
            f"{images.dtype} {tuple(images.shape)}."
        )
