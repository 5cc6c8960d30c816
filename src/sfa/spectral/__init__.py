"""Augmentations of feature maps that act on their spectrum: SFA and the maps it is compared with.

The paper is `"Spectral Feature Augmentation for Graph Contrastive Learning and Beyond"
<https://arxiv.org/abs/2212.01026>`_ (Zhang et al., AAAI 2023).

Each is a function of feature maps ``h`` ``(..., n, d)`` and a module that applies it while training. Draws come from
``generator``, on the device of ``h``, or from the global one, and every map of a batch gets its own. ``detach`` treats
the operator ``W`` of ``h_tilde = h W`` as a constant; by default the gradient flows through it.
"""

from sfa.registry import import_modules

# A map registers its name when it is imported, and `sfa list spectral` keeps this order.
# isort: off
from sfa.spectral.base import Sequential as Sequential, SpectralMap as SpectralMap
from sfa.spectral.sfa import SpectralFeatureAugmentation as SpectralFeatureAugmentation
from sfa.spectral.sfa import power_iteration as power_iteration
from sfa.spectral.soft_clip import Expectation as Expectation, expectation as expectation
from sfa.spectral.soft_clip import SoftClip as SoftClip, soft_clip as soft_clip
from sfa.spectral.power_norm import MaxExp as MaxExp, maxexp as maxexp
from sfa.spectral.power_norm import PowerNorm as PowerNorm, PowerNormStar as PowerNormStar
from sfa.spectral.power_norm import power_norm as power_norm, power_norm_star as power_norm_star
from sfa.spectral.grassmann import PCA as PCA, Grassmann as Grassmann, grassmann as grassmann, pca as pca
from sfa.spectral.whiten import Precondition as Precondition, Whiten as Whiten
from sfa.spectral.whiten import precondition as precondition, whiten as whiten
from sfa.spectral.noise import GaussianNoise as GaussianNoise, add_noise as add_noise
from sfa.spectral.noise import Costa as Costa, costa as costa
from sfa.spectral.schatten import SchattenPenalty as SchattenPenalty, schatten_penalty as schatten_penalty
from sfa.spectral.newton_schulz import Roots as Roots, newton_schulz as newton_schulz
# isort: on

import_modules(__name__, __path__)
