"""Augmentations: callables ``(data, generator) -> (view, view)`` that make two random views of the data."""

# isort: off
from sfa.augment.adaptive import AdaptiveDrop as AdaptiveDrop
from sfa.augment.base import Augmentation as Augmentation, Compose as Compose, Identity as Identity
from sfa.augment.diffusion import Diffusion as Diffusion
from sfa.augment.graph import RandomChoice as RandomChoice
from sfa.augment.image import STRENGTHS as STRENGTHS, ImageViews as ImageViews, Strengths as Strengths
from sfa.augment.node import DropEdges as DropEdges, MaskFeatures as MaskFeatures
from sfa.augment.node import ShuffleFeatures as ShuffleFeatures, UniformDrop as UniformDrop
from sfa.registry import import_modules

import_modules(__name__, __path__)
