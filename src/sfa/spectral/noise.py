"""Gaussian noise on the features, the plainest rival of SFA."""

from __future__ import annotations

import torch
from torch import Tensor

from sfa.ranges import NonNegative
from sfa.spectral.arguments import check_number
from sfa.spectral.base import SpectralMap
from sfa.spectral.feature_map import normal, on_unit_scale


def add_noise(h: Tensor, strength: float = 0.1, *, generator: torch.Generator | None = None) -> Tensor:
    r"""Add Gaussian noise to every entry of a feature map: :math:`\mathcal{A}_F` of the paper's ablation study.

    .. math::
        \widetilde{H} = H + s \operatorname{rms}(H)\, E, \qquad E_{ij} \sim \mathcal{N}(0, 1)

    Its spectrum is not balanced: in expectation ``H~ᵀH~ = HᵀH + s² ‖H‖²/d · I``.

    Args:
        h: Feature map(s) of shape ``(..., n, d)``.
        strength: ``s``, relative to the root mean square of each map, which is a constant in backward.
        generator: Source of the noise, on the device of ``h``; the global one if not given.

    Returns:
        ``h_tilde`` with the shape and dtype of ``h``.
    """
    check_number("strength", strength)

    def augment(unit: Tensor, scale: Tensor) -> Tensor:
        rms = unit.detach().square().mean(dim=(-2, -1), keepdim=True).sqrt()
        return (unit + strength * rms * normal(unit.shape, unit, generator)) * scale

    return on_unit_scale(h, augment)


class GaussianNoise(SpectralMap):
    """Gaussian noise on every feature, in proportion to the size of the map; the spectrum is not balanced.

    It stores its arguments and calls :func:`add_noise`.
    """

    def __init__(self, strength: NonNegative = 0.1) -> None:
        super().__init__()
        check_number("strength", strength)
        self.strength = strength

    def augment(self, h: Tensor, generator: torch.Generator | None = None) -> Tensor:
        return add_noise(h, self.strength, generator=generator)
