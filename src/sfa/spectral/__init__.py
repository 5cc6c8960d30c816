"""Feature map in, feature map out: augmentations that act on the spectrum of a feature map, and their rivals."""

from sfa.spectral.base import SpectralMap
from sfa.spectral.costa import Costa, costa
from sfa.spectral.expectation import Expectation, expectation
from sfa.spectral.grassmann import Grassmann, grassmann
from sfa.spectral.maxexp import MaxExp, maxexp
from sfa.spectral.newton_schulz import Roots, newton_schulz
from sfa.spectral.noise import GaussianNoise, add_noise
from sfa.spectral.pca import PCA, pca
from sfa.spectral.power_norm import PowerNorm, PowerNormStar, power_norm, power_norm_star
from sfa.spectral.precondition import Precondition, precondition
from sfa.spectral.resolver import SPECTRAL_MAPS, resolve
from sfa.spectral.sfa import SpectralFeatureAugmentation, power_iteration
from sfa.spectral.whiten import Whiten, whiten

__all__ = [
    "PCA",
    "SPECTRAL_MAPS",
    "Costa",
    "Expectation",
    "GaussianNoise",
    "Grassmann",
    "MaxExp",
    "PowerNorm",
    "PowerNormStar",
    "Precondition",
    "Roots",
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
    "resolve",
    "whiten",
]
