"""Augmentations of feature maps that act on their spectrum: SFA and the maps it is compared with.

Each is a function of feature maps ``h`` ``(..., n, d)`` and a module that applies it while training. Draws come from
``generator``, on the device of ``h``, or from the global one, and every map of a batch gets its own. ``detach`` treats
the operator ``W`` of ``h_tilde = h W`` as a constant; by default the gradient flows through it.
"""

from sfa.registry import import_modules

# A map registers its name when it is imported, and `sfa list spectral` keeps this order.
# isort: off
from sfa.spectral.base import Sequential, SpectralMap
from sfa.spectral.sfa import SpectralFeatureAugmentation, power_iteration
from sfa.spectral.expectation import Expectation, expectation
from sfa.spectral.soft_clip import SoftClip, soft_clip
from sfa.spectral.maxexp import MaxExp, maxexp
from sfa.spectral.power_norm import PowerNorm, PowerNormStar, power_norm, power_norm_star
from sfa.spectral.grassmann import PCA, Grassmann, grassmann, pca
from sfa.spectral.whiten import Precondition, Whiten, precondition, whiten
from sfa.spectral.noise import GaussianNoise, add_noise
from sfa.spectral.costa import Costa, costa
from sfa.spectral.schatten import SchattenPenalty, schatten_penalty
from sfa.spectral.newton_schulz import Roots, newton_schulz
# isort: on

__all__ = [
    "PCA",
    "Costa",
    "Expectation",
    "GaussianNoise",
    "Grassmann",
    "MaxExp",
    "PowerNorm",
    "PowerNormStar",
    "Precondition",
    "Roots",
    "SchattenPenalty",
    "Sequential",
    "SoftClip",
    "SpectralFeatureAugmentation",
    "SpectralMap",
    "Whiten",
    "add_noise",
    "costa",
    "expectation",
    "grassmann",
    "maxexp",
    "newton_schulz",
    "pca",
    "power_iteration",
    "power_norm",
    "power_norm_star",
    "precondition",
    "schatten_penalty",
    "soft_clip",
    "whiten",
]

import_modules(__name__, __path__)
