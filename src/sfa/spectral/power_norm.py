"""Power Norm. and Power Norm.*: the spectrum flattened by roots, with noise in the mixture or the size."""

from typing import Any

import torch
from torch import Tensor

from sfa.ranges import NonNegative, Positive, Share, check_number
from sfa.registry import register
from sfa.spectral.base import SpectralMap
from sfa.spectral.feature_map import multiply_by_operator, normal, on_unit_scale
from sfa.spectral.newton_schulz import newton_schulz, smallest_ridge


def power_norm(
    h: Tensor,
    beta: float = 0.5,
    *,
    noise: float = 0.1,
    ridge: float = 1e-10,
    detach: bool = False,
    star: bool = False,
    generator: torch.Generator | None = None,
) -> Tensor:
    r"""Flatten the spectrum of a feature map by a noisy mixture of roots (Power Norm., "Matrix Square Root").

    From `"Spectral Feature Augmentation for Graph Contrastive Learning and Beyond" <https://arxiv.org/abs/2212.01026>`_
    (Zhang et al., AAAI 2023), Equations 8 and 9.

    .. math::
        \widetilde{H} = H B \bigl((1-\beta') A^{1/2} + \beta' A^{3/4}\bigr)
        = H \bigl((1-\beta') A^{-1/2} + \beta' A^{-1/4}\bigr), \qquad
        A = (H^\top H + \varepsilon I)^{1/2},\ \varepsilon = \text{ridge} \cdot \operatorname{tr} H^\top H

    with ``β' = β + Δβ`` clamped to ``[0, 1]`` and ``Δβ ∼ α N(0, 1)``, ``α`` the ``noise``. The roots are three
    Newton–Schulz iterations. ``σ^½`` has infinite slope at zero, so maps without full rank have no gradient; the ridge
    gives them one, and takes singular values below ``√ridge ‖σ‖`` as zero. With ``star`` it is :func:`power_norm_star`.
    """
    check_number("beta", beta, at_most=1)
    check_number("noise", noise)
    check_number("ridge", ridge, above=0)

    def augment(unit: Tensor, scale: Tensor) -> Tensor:
        draw = noise * normal(scale.shape, scale, generator) if noise else None
        mixture = beta if draw is None or star else (beta + draw).clamp(0, 1)

        def operator(gram: Tensor) -> Tensor:  # of H = scale · unit, hence A = scale · (its own)
            a = newton_schulz(gram, ridge=max(ridge, smallest_ridge(gram))).root
            half = newton_schulz(a, ridge=0.0)
            quarter = newton_schulz(half.root, ridge=0.0)
            return (1 - mixture) * scale**0.5 * half.inverse_root + mixture * scale**0.75 * quarter.inverse_root

        flat = multiply_by_operator(unit, operator, detach)
        return flat if draw is None or not star else flat * (1 + draw).clamp(0, 2)

    return on_unit_scale(h, augment)


def power_norm_star(h: Tensor, beta: float = 0.5, **options: Any) -> Tensor:
    r"""Flatten the spectrum of a feature map by a mixture of roots, and scale it at random (Power Norm.*).

    .. math::
        \widetilde{H} = (1 + \Delta\beta^*)\, H \bigl((1-\beta) A^{-1/2} + \beta A^{-1/4}\bigr)

    with ``1 + Δβ*`` clamped to ``[0, 2]``: the reading of the paper's text that puts the noise on the leading singular
    values, as its figure says. The options are those of :func:`power_norm`.
    """
    return power_norm(h, beta, star=True, **options)


@register("spectral", "power-norm")
class PowerNorm(SpectralMap, function=power_norm):
    """Power Norm.: a mixture of σ^½ and σ^¾ in place of σ, with noisy weights; no noise at σ = 1."""

    deterministic = False
    homogeneity = None

    def __init__(
        self, beta: Share = 0.5, noise: NonNegative = 0.1, ridge: Positive = 1e-10, detach: bool = False
    ) -> None:
        self.set_options(beta=beta, noise=noise, ridge=ridge, detach=detach)


@register("spectral", "power-norm*")
class PowerNormStar(PowerNorm, function=power_norm_star):
    """Power Norm.*: a mixture of σ^½ and σ^¾ in place of σ, scaled at random; noise on the leading values."""
