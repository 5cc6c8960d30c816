"""Random views of images, all images of a batch at once, on their device, each with parameters of its own."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

import torch
from torch import Tensor
from torch_geometric.data import Data

from sfa.augment.base import Augmentation
from sfa.augment.image_ops import TRIES, blur_images, crop_boxes, crop_images, jitter_colors, solarize, to_gray
from sfa.errors import InputError, unknown_name
from sfa.matrices import check_tensor
from sfa.nn.image_encoder import to_float
from sfa.ranges import check_number
from sfa.registry import register

Strength = Literal["strong", "asymmetric", "weak", "byol", "digits", "identity"]


@dataclass(frozen=True)
class Strengths:
    """Probabilities and ranges of the changes of an image; the defaults are those of SimCLR."""

    crop: tuple[float, float] | None = (0.08, 1.0)  # share of the area that a crop keeps; None: the whole image
    flip: float = 0.5  # probability of a horizontal flip
    jitter: float = 0.8  # probability that colors are jittered, by the next four
    brightness: float = 0.8  # its factor is uniform in [max(0, 1 - brightness), 1 + brightness]
    contrast: float = 0.8  # its factor likewise
    saturation: float = 0.8  # its factor likewise
    hue: float = 0.2  # its shift is uniform in [-hue, hue], in turns of the color circle; at most a half
    grey: float = 0.2  # probability of grayscale
    blur: float = 0.5  # probability of a Gaussian blur
    sigma: tuple[float, float] = (0.1, 2.0)  # least and greatest standard deviation of the blur, in pixels
    solarise: float = 0.0  # probability that the bright pixels, from 0.5 on, are inverted

    def __post_init__(self) -> None:
        for name in ("flip", "jitter", "grey", "blur", "solarise"):
            check_number(name, getattr(self, name), at_most=1)
        for name in ("brightness", "contrast", "saturation"):
            check_number(name, getattr(self, name))
        check_number("hue", self.hue, at_most=0.5)
        for name, pair, most in (("crop", (1, 1) if self.crop is None else self.crop, 1), ("sigma", self.sigma, None)):
            for bound in pair if isinstance(pair, tuple) else ():
                check_number(name, bound, above=0, at_most=most)
            if not isinstance(pair, tuple) or len(pair) != 2 or pair[0] > pair[1]:
                needed = "a pair of numbers, the least number and then the greatest"
                raise InputError(f"{name} must be {needed}, not {pair!r}.")

    @property
    def changes_nothing(self) -> bool:
        return self.crop is None and not (self.flip or self.jitter or self.grey or self.blur or self.solarise)


_STRONG = Strengths()
_WEAK = replace(_STRONG, brightness=0.4, contrast=0.4, saturation=0.4, hue=0.1)
_BYOL = replace(_WEAK, saturation=0.2)
_PLAIN = replace(_BYOL, blur=0.0)
_DIGITS = replace(_WEAK, crop=(0.5, 1.0), flip=0.0, saturation=0.0, hue=0.0, grey=0.0, blur=0.2, sigma=(0.1, 0.7))
_IDENTITY = Strengths(crop=None, flip=0.0, jitter=0.0, grey=0.0, blur=0.0)

STRENGTHS: dict[Strength, tuple[Strengths, Strengths]] = {
    # SimCLR (Chen et al., 2020) at its strength 1 of color, and SwAV.
    "strong": (_STRONG, _STRONG),
    # BYOL's without the blur, which takes too much of 32 pixels: so solo-learn on CIFAR (da Costa et al., 2022).
    "asymmetric": (_PLAIN, replace(_PLAIN, solarise=0.2)),
    # SimSiam (Chen and He, 2021), MoCo v2: half the color.
    "weak": (_WEAK, _WEAK),
    # BYOL (Grill et al., 2020, Table 6) and Barlow Twins (Zbontar et al., 2021).
    "byol": (replace(_BYOL, blur=1.0), replace(_BYOL, blur=0.1, solarise=0.2)),
    # Gray digits of 8 pixels: larger crops, no flip (a mirrored digit is another sign), a slight blur.
    "digits": (_DIGITS, _DIGITS),
    "identity": (_IDENTITY, _IDENTITY),
}
"""Published strengths of view alpha and of view beta. The papers of SimSiam and SwAV crop to 0.2 and 0.14 or more."""

# How many random numbers an image takes for what, whether it needs them or not.
_DRAWS = {"tries": 2 * TRIES, "places": 2, "flip": 1, "jitter": 1, "factors": 4, "orders": 4}
_DRAWS |= {"grey": 1, "blur": 1, "sigma": 1, "solarise": 1}


@register("augmentation", "image")
class ImageViews(Augmentation):
    """Crop, flip, jitter, blur and solarize images at random, each with parameters of its own (:func:`random_view`).

    Args:
        strength: How strongly, by a name of :data:`STRENGTHS`; or a pair of :class:`Strengths`, of view alpha and beta.
    """

    task = "image"

    def __init__(self, strength: Strength | tuple[Strengths, Strengths] = "strong") -> None:
        if isinstance(strength, str) and strength not in STRENGTHS:
            raise unknown_name("strength", strength, STRENGTHS)
        pair = STRENGTHS[strength] if isinstance(strength, str) else strength
        if not isinstance(pair, tuple | list) or [type(one) for one in pair] != [Strengths, Strengths]:
            raise InputError(f"strength is a name or a pair of Strengths, of view alpha and beta, not {strength!r}.")
        self.strength, self._strengths = strength, pair

    def view(self, data: Data | Tensor, generator: torch.Generator | None = None, index: int = 0) -> Tensor:
        images = to_float(data.x) if isinstance(data, Data) else data
        return random_view(images, self._strengths[index], generator)

    def __call__(self, data: Data | Tensor, generator: torch.Generator | None = None) -> tuple[Tensor, Tensor]:
        return super().__call__(to_float(data.x) if isinstance(data, Data) else data, generator)  # converted once


@torch.no_grad()
def random_view(images: Tensor, strengths: Strengths, generator: torch.Generator | None = None) -> Tensor:
    """Make a view of each image: crop, color jitter, grayscale, blur, solarization and flip, in this order.

    Images are floating point ``(B, C, H, W)`` in ``[0, 1]``, of one channel or three, and so are the views, in
    channels_last and without gradient. Each image takes as many random numbers, whatever the rest of the batch.
    """
    what = "Images to augment are floating point (B, C, H, W) with one channel or three"
    check_tensor(images, what, dims=4)
    if images.dim() != 4 or images.shape[1] not in (1, 3):
        raise InputError(f"{what}, not {images.dtype} {tuple(images.shape)}.")
    if strengths.changes_nothing:
        return images
    numbers = torch.rand(len(images), sum(_DRAWS.values()), device=images.device, generator=generator)
    draws = dict(zip(_DRAWS, torch.split(numbers, list(_DRAWS.values()), 1), strict=True))

    def change_some(name: str, change: Callable[[Tensor, Tensor], Tensor]) -> None:
        if probability := getattr(strengths, name):
            rows = (draws[name].squeeze(1) < probability).nonzero().squeeze(1)
            view.index_copy_(0, rows, change(view.index_select(0, rows), rows))

    with torch.autocast(images.device.type, enabled=False):
        view = images.to(torch.promote_types(images.dtype, torch.float32))
        height, width = view.shape[2:]
        boxes = torch.tensor([0, 0, height, width], device=view.device).expand(len(view), 4)
        if strengths.crop is not None:
            boxes = crop_boxes(draws["tries"].view(-1, 2, TRIES), draws["places"], (height, width), strengths.crop)
        if strengths.crop is None and not strengths.flip:
            view = view.clone(memory_format=torch.contiguous_format)
        else:  # the flip comes last in effect: here it is free, and commutes with the rest
            view = crop_images(view, boxes, draws["flip"].squeeze(1) < strengths.flip)
        blends = (strengths.brightness, strengths.contrast, strengths.saturation)
        low = numbers.new_tensor([*(max(0.0, 1 - blend) for blend in blends), -strengths.hue])
        high = numbers.new_tensor([*(1 + blend for blend in blends), strengths.hue])
        factors, orders = (low + (high - low) * draws["factors"]).to(view.dtype), draws["orders"].argsort(1)
        change_some("jitter", lambda some, i: jitter_colors(some, factors[i], orders[i]))
        change_some("grey", lambda some, _: to_gray(some))
        least, most = strengths.sigma
        sigma, reach = least + (most - least) * draws["sigma"].squeeze(1), math.ceil(4 * most)
        change_some("blur", lambda some, i: blur_images(some, sigma[i], reach))
        change_some("solarise", lambda some, _: solarize(some))
    return view.to(images.dtype).contiguous(memory_format=torch.channels_last)
