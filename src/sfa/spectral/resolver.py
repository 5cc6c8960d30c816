"""From a name to a spectral map."""

from __future__ import annotations

from sfa.errors import unknown_name
from sfa.spectral.base import SpectralMap
from sfa.spectral.costa import Costa
from sfa.spectral.expectation import Expectation
from sfa.spectral.grassmann import Grassmann
from sfa.spectral.maxexp import MaxExp
from sfa.spectral.noise import GaussianNoise
from sfa.spectral.pca import PCA
from sfa.spectral.power_norm import PowerNorm, PowerNormStar
from sfa.spectral.precondition import Precondition
from sfa.spectral.sfa import SpectralFeatureAugmentation
from sfa.spectral.whiten import Whiten

SPECTRAL_MAPS: dict[str, type[SpectralMap]] = {
    "none": SpectralMap,
    "sfa": SpectralFeatureAugmentation,
    "expectation": Expectation,
    "maxexp": MaxExp,
    "power-norm": PowerNorm,
    "power-norm*": PowerNormStar,
    "grassmann": Grassmann,
    "precondition": Precondition,
    "pca": PCA,
    "noise": GaussianNoise,
    "costa": Costa,
    "whiten": Whiten,
}


def resolve(name: str) -> type[SpectralMap]:
    """The class of the spectral map called ``name``."""
    if name not in SPECTRAL_MAPS:
        raise unknown_name("spectral map", name, SPECTRAL_MAPS)
    return SPECTRAL_MAPS[name]
