"""Feature map in, feature map out: augmentations that act on the spectrum of a feature map."""

from sfa.spectral.base import SpectralMap
from sfa.spectral.power_iteration import SpectralFeatureAugmentation, power_iteration
from sfa.spectral.resolver import SPECTRAL_MAPS, resolve

__all__ = ["SPECTRAL_MAPS", "SpectralFeatureAugmentation", "SpectralMap", "power_iteration", "resolve"]
