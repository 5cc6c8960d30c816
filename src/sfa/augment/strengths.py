"""How strongly images are augmented: the published strengths, by name."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from sfa.errors import InputError
from sfa.ranges import check_number

Strength = Literal["strong", "asymmetric", "weak", "byol", "digits", "identity"]


@dataclass(frozen=True)
class Strengths:
    """What may happen to an image, how likely and how far; the defaults are those of SimCLR.

    Attributes:
        crop: Least and greatest share of the image's area that a crop keeps; None: the whole image.
        flip: Probability of a horizontal flip.
        jitter: Probability that colours are jittered, by the next four.
        brightness: Its factor is uniform in ``[max(0, 1 - brightness), 1 + brightness]``.
        contrast: Its factor likewise.
        saturation: Its factor likewise.
        hue: Its shift is uniform in ``[-hue, hue]``, in turns of the colour circle; at most a half.
        grey: Probability of greyscale.
        blur: Probability of a Gaussian blur.
        sigma: Least and greatest standard deviation of the blur, in pixels.
        solarise: Probability that the bright pixels, from 0.5 on, are inverted.
    """

    crop: tuple[float, float] | None = (0.08, 1.0)
    flip: float = 0.5
    jitter: float = 0.8
    brightness: float = 0.8
    contrast: float = 0.8
    saturation: float = 0.8
    hue: float = 0.2
    grey: float = 0.2
    blur: float = 0.5
    sigma: tuple[float, float] = (0.1, 2.0)
    solarise: float = 0.0

    def __post_init__(self) -> None:
        for name in ("flip", "jitter", "grey", "blur", "solarise"):
            check_number(name, getattr(self, name), at_most=1)
        for name in ("brightness", "contrast", "saturation"):
            check_number(name, getattr(self, name))
        check_number("hue", self.hue, at_most=0.5)
        if self.crop is not None:
            _check_range("crop", self.crop, at_most=1)
        _check_range("sigma", self.sigma)

    @property
    def changes_nothing(self) -> bool:
        """Whether no image is ever changed."""
        return self.crop is None and not (self.flip or self.jitter or self.grey or self.blur or self.solarise)


def _check_range(name: str, bounds: tuple[float, float], at_most: float | None = None) -> None:
    if not isinstance(bounds, tuple) or len(bounds) != 2:
        raise InputError(f"{name} must be a pair of numbers, the least and the greatest, not {bounds!r}.")
    for bound in bounds:
        check_number(name, bound, above=0, at_most=at_most)
    if bounds[0] > bounds[1]:
        raise InputError(f"{name} must be the least number and then the greatest, not {bounds!r}.")


_STRONG = Strengths()
_WEAK = replace(_STRONG, brightness=0.4, contrast=0.4, saturation=0.4, hue=0.1)
_BYOL = replace(_WEAK, saturation=0.2)
_PLAIN = replace(_BYOL, blur=0.0)
_DIGITS = Strengths(
    crop=(0.5, 1.0),
    flip=0.0,
    brightness=0.4,
    contrast=0.4,
    saturation=0.0,
    hue=0.0,
    grey=0.0,
    blur=0.2,
    sigma=(0.1, 0.7),
)
_IDENTITY = Strengths(crop=None, flip=0.0, jitter=0.0, grey=0.0, blur=0.0)

STRENGTHS: dict[Strength, tuple[Strengths, Strengths]] = {
    "strong": (_STRONG, _STRONG),
    "asymmetric": (_PLAIN, replace(_PLAIN, solarise=0.2)),
    "weak": (_WEAK, _WEAK),
    "byol": (replace(_BYOL, blur=1.0), replace(_BYOL, blur=0.1, solarise=0.2)),
    "digits": (_DIGITS, _DIGITS),
    "identity": (_IDENTITY, _IDENTITY),
}
"""Of view alpha and of view beta.

- ``strong``: SimCLR (Chen et al., 2020) at its strength 1 of colour, and SwAV.
- ``weak``: SimSiam (Chen and He, 2021), MoCo v2: half the colour.
- ``byol``: BYOL (Grill et al., 2020, Table 6) and Barlow Twins (Zbontar et al., 2021): alpha is always blurred, beta
  seldom, and solarised at times.
- ``asymmetric``: the same without the blur, which takes too much of an image of 32 pixels; solo-learn trains both
  methods so on CIFAR (da Costa et al., 2022).
- ``digits``: for grey digits of 8 pixels: larger crops, no flip (a mirrored digit is another sign), a slight blur.
- ``identity``: images as they are.

Crops keep 0.08 of the area or more, as in SimCLR, BYOL and all of solo-learn; the papers of SimSiam and SwAV have 0.2
and 0.14 on ImageNet.
"""
