"""From a name to a spectral map."""

from __future__ import annotations

from sfa.errors import unknown_name
from sfa.spectral.base import SpectralMap
from sfa.spectral.power_iteration import SpectralFeatureAugmentation

SPECTRAL_MAPS: dict[str, type[SpectralMap]] = {
    "none": SpectralMap,
    "sfa": SpectralFeatureAugmentation,
}


def resolve(name: str) -> type[SpectralMap]:
    """The class of the spectral map called ``name``."""
    if name not in SPECTRAL_MAPS:
        raise unknown_name("spectral map", name, SPECTRAL_MAPS)
    return SPECTRAL_MAPS[name]
