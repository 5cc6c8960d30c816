"""Augmentations: callables ``(data, generator) -> (view, view)`` that make two random views of the data."""

from sfa.augment.adaptive import AdaptiveDrop
from sfa.augment.base import Augmentation, Compose, Identity
from sfa.augment.diffusion import Diffusion
from sfa.augment.graph import RandomChoice
from sfa.augment.image import STRENGTHS, ImageViews, Strengths
from sfa.augment.node import DropEdges, MaskFeatures, ShuffleFeatures, UniformDrop
from sfa.registry import import_modules

__all__ = [
    "STRENGTHS",
    "AdaptiveDrop",
    "Augmentation",
    "Compose",
    "Diffusion",
    "DropEdges",
    "Identity",
    "ImageViews",
    "MaskFeatures",
    "RandomChoice",
    "ShuffleFeatures",
    "Strengths",
    "UniformDrop",
]

import_modules(__name__, __path__)
