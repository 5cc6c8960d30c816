"""Several spectral maps in the one slot."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from sfa.errors import InputError
from sfa.spectral.base import SpectralMap


class Sequential(SpectralMap, spans_processes=True):
    """Applies spectral maps one after another, each to all feature maps of a step; without any it is the identity.

    >>> from sfa.spectral import GaussianNoise, SpectralFeatureAugmentation
    >>> layer = Sequential(GaussianNoise(0.1), SpectralFeatureAugmentation())
    >>> h_alpha, h_beta = layer.forward_all(torch.randn(100, 16), torch.randn(100, 16))
    """

    def __init__(self, *maps: SpectralMap) -> None:
        super().__init__()
        for one in maps:
            if not isinstance(one, SpectralMap):
                raise InputError(f"A sequence of spectral maps takes instances of SpectralMap, not {one!r}.")
        self.maps = nn.ModuleList(maps)
        degrees = [one.homogeneity for one in maps]
        self.homogeneity = None if None in degrees else math.prod(degrees)  # type: ignore[arg-type]
        self.shares_draws = all(one.shares_draws or one.deterministic for one in maps)
        for fact in ("keeps_rows", "deterministic", "fullgraph", "spans_processes"):
            setattr(self, fact, all(getattr(one, fact) for one in maps))

    def check_width(self, features: int) -> None:
        for one in self.maps:
            one.check_width(features)  # type: ignore[operator]

    def augment(self, h: Tensor, generator: torch.Generator | None = None) -> Tensor:
        for one in self.maps:
            h = one(h, generator)
        return h

    def forward_all(self, *maps: Tensor, generator: torch.Generator | None = None) -> tuple[Tensor, ...]:
        """Augment all feature maps of one step by the first map, then by the second, and so on."""
        for one in self.maps if self.training else ():
            maps = one.forward_all(*maps, generator=generator)  # type: ignore[operator]
        return maps

    def extra_repr(self) -> str:
        return ""


def as_spectral(spectral: SpectralMap | Sequence[SpectralMap] | None) -> SpectralMap:
    """Return what goes into the slot: the map itself, several that are applied in order, or nothing for ``None``."""
    if isinstance(spectral, SpectralMap):
        return spectral
    if isinstance(spectral, list | tuple):
        return Sequential(*spectral)
    if spectral is None:
        return SpectralMap()
    raise InputError(f"The spectral slot takes an instance of SpectralMap, or a list of them, not {spectral!r}.")
