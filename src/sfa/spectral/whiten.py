"""ZCA whitening: features without correlation, all of the same variance."""

from __future__ import annotations

import torch
from torch import Tensor

from sfa.ranges import Positive, check_number
from sfa.registry import register
from sfa.spectral.base import SpectralMap
from sfa.spectral.feature_map import multiply_by_operator, on_unit_scale
from sfa.spectral.newton_schulz import newton_schulz, regularize


def whiten(h: Tensor, ridge: float = 1e-3, *, detach: bool = False) -> Tensor:
    r"""Center a feature map and make its covariance the identity (ZCA whitening).

    .. math::
        H_c = H - \tfrac1n \mathbf{1}\mathbf{1}^\top H, \qquad
        C = \tfrac1n H_c^\top H_c + \varepsilon I, \qquad \widetilde{H} = H_c\, C^{-1/2}, \qquad
        \varepsilon = \text{ridge} \cdot \operatorname{tr}(H_c^\top H_c) / (n d)

    Not in the paper: the common way to balance the whole spectrum, here by Newton–Schulz iteration. The singular values
    of the centered map become ``σ / √(σ²/n + ε)``; ``ε`` is at least ``1e-12`` of the sum of variances.
    """
    check_number("ridge", ridge, above=0)

    def augment(unit: Tensor, scale: Tensor) -> Tensor:
        n, d = unit.shape[-2:]

        def operator(gram: Tensor) -> Tensor:
            return newton_schulz(regularize(gram / n, ridge / d), ridge=0.0).inverse_root

        return multiply_by_operator(unit - unit.mean(dim=-2, keepdim=True), operator, detach)

    return on_unit_scale(h, augment)


@register("spectral", "whiten")
class Whiten(SpectralMap):
    """ZCA whitening: centered features without correlation, all of variance one; no noise."""

    homogeneity = 0

    def __init__(self, ridge: Positive = 1e-3, detach: bool = False) -> None:
        super().__init__()
        self.set_options(ridge=ridge, detach=detach)

    def augment(self, h: Tensor, generator: torch.Generator | None = None) -> Tensor:
        return whiten(h, **self.options)
