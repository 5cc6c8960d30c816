"""Augmentations: callables ``(data, generator) -> (view, view)`` that make two random views of the data."""

from sfa.augment.adaptive import AdaptiveDrop as AdaptiveDrop
from sfa.augment.base import Augmentation as Augmentation
from sfa.augment.base import Compose as Compose
from sfa.augment.base import Identity as Identity
from sfa.augment.diffusion import Diffusion as Diffusion
from sfa.augment.graph import RandomChoice as RandomChoice
from sfa.augment.image import STRENGTHS as STRENGTHS
from sfa.augment.image import ImageViews as ImageViews
from sfa.augment.image import Strengths as Strengths
from sfa.augment.node import DropEdges as DropEdges
from sfa.augment.node import MaskFeatures as MaskFeatures
from sfa.augment.node import ShuffleFeatures as ShuffleFeatures
from sfa.augment.node import UniformDrop as UniformDrop
from sfa.registry import import_modules

import_modules(__name__, __path__)
