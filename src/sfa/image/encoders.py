"""Encoders of images by name."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Literal

from sfa.errors import unknown_name
from sfa.image.image_encoder import ImageEncoder
from sfa.image.resnet import CIFAR, IMAGENET, ResNet, Stem

EncoderName = Literal["small", "small-strided", "resnet18", "resnet18-imagenet"]

ENCODERS: dict[EncoderName, Callable[[int, int], ImageEncoder]] = {
    "small": partial(ResNet, blocks=(1, 1, 1), stem=Stem()),
    "small-strided": partial(ResNet, blocks=(1, 1, 1), stem=Stem(stride=2)),
    "resnet18": partial(ResNet, blocks=(2, 2, 2, 2), stem=CIFAR),
    "resnet18-imagenet": partial(ResNet, blocks=(2, 2, 2, 2), stem=IMAGENET),
}
"""``small`` is for images of a few pixels, such as digits; ``small-strided`` for those of CIFAR's size without a GPU;
``resnet18`` is that of the published CIFAR recipes and ``resnet18-imagenet`` that of He et al. (2016)."""


def make_encoder(in_channels: int, *, encoder: EncoderName = "small", hidden: int = 32) -> ImageEncoder:
    """A new encoder of images; embeddings are ``4 * hidden`` wide of a small one, ``8 * hidden`` of a ResNet-18."""
    if encoder not in ENCODERS:
        raise unknown_name("encoder", encoder, ENCODERS)
    return ENCODERS[encoder](in_channels, hidden)
