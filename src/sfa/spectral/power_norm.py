"""Power Norm. and Power Norm.*: the spectrum flattened by roots, with noise in the mixture or the size."""

from __future__ import annotations

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
    generator: torch.Generator | None = None,
) -> Tensor:
    r"""Flatten the spectrum of a feature map by a noisy mixture of roots (Power Norm., "Matrix Square Root").

    .. math::
        \widetilde{H} = H B \bigl((1-\beta') A^{1/2} + \beta' A^{3/4}\bigr)
        = H \bigl((1-\beta') A^{-1/2} + \beta' A^{-1/4}\bigr), \qquad
        A = (H^\top H + \varepsilon I)^{1/2},\ \varepsilon = \text{ridge} \cdot \operatorname{tr} H^\top H

    with ``β' = β + Δβ`` clamped to ``[0, 1]`` and ``Δβ ∼ α N(0, 1)``. The roots are three Newton–Schulz iterations.
    ``σ^½`` has infinite slope at zero, so maps without full rank have no gradient; the ridge gives them one.

    Args:
        h: Feature map(s) ``(..., n, d)``; every map of a batch gets a draw of its own.
        beta: ``β``, from the square root (0) to the power ¾ (1). The paper gives no value.
        noise: ``α``, the standard deviation of ``Δβ``; ``0`` is the paper's "w/o noise".
        ridge: ``ε`` as a share of ``tr HᵀH``: singular values below ``√ridge ‖σ‖`` are taken as zero.
        detach: Treat the operator ``W`` of ``h_tilde = h W`` as a constant. By default the gradient flows through it.
        generator: Source of ``Δβ``, on the device of ``h``; the global one if not given.
    """
    _check(beta, noise, ridge)

    def augment(unit: Tensor, scale: Tensor) -> Tensor:
        noisy = (beta + noise * normal(scale.shape, scale, generator)).clamp(0, 1) if noise else beta
        return _flatten(unit, scale, noisy, ridge, detach)

    return on_unit_scale(h, augment)


def power_norm_star(
    h: Tensor,
    beta: float = 0.5,
    *,
    noise: float = 0.1,
    ridge: float = 1e-10,
    detach: bool = False,
    generator: torch.Generator | None = None,
) -> Tensor:
    r"""Flatten the spectrum of a feature map by a mixture of roots, and scale it at random (Power Norm.*).

    .. math::
        \widetilde{H} = (1 + \Delta\beta^*)\, H \bigl((1-\beta) A^{-1/2} + \beta A^{-1/4}\bigr)

    with ``1 + Δβ*`` clamped to ``[0, 2]``: the reading of the paper's text that puts the noise on the leading singular
    values, as its figure says. All else is as in :func:`power_norm`.
    """
    _check(beta, noise, ridge)

    def augment(unit: Tensor, scale: Tensor) -> Tensor:
        flat = _flatten(unit, scale, beta, ridge, detach)
        return flat * (1 + noise * normal(scale.shape, scale, generator)).clamp(0, 2) if noise else flat

    return on_unit_scale(h, augment)


def _flatten(unit: Tensor, scale: Tensor, beta: Tensor | float, ridge: float, detach: bool) -> Tensor:
    """Compute ``H ((1-β) A^(-1/2) + β A^(-1/4))`` for ``H = scale · unit``, hence ``A = scale · (its own)``."""

    def operator(gram: Tensor) -> Tensor:
        a = newton_schulz(gram, ridge=max(ridge, smallest_ridge(gram))).root
        half = newton_schulz(a, ridge=0.0)
        quarter = newton_schulz(half.root, ridge=0.0)
        return (1 - beta) * scale**0.5 * half.inverse_root + beta * scale**0.75 * quarter.inverse_root

    return multiply_by_operator(unit, operator, detach)


def _check(beta: float, noise: float, ridge: float) -> None:
    check_number("beta", beta, at_most=1)
    check_number("noise", noise)
    check_number("ridge", ridge, above=0)


@register("spectral", "power-norm")
class PowerNorm(SpectralMap):
    """Power Norm.: a mixture of σ^½ and σ^¾ in place of σ, with noisy weights; no noise at σ = 1."""

    deterministic = False
    homogeneity = None

    def __init__(
        self, beta: Share = 0.5, noise: NonNegative = 0.1, ridge: Positive = 1e-10, detach: bool = False
    ) -> None:
        super().__init__()
        self.set_options(beta=beta, noise=noise, ridge=ridge, detach=detach)

    def augment(self, h: Tensor, generator: torch.Generator | None = None) -> Tensor:
        return power_norm(h, **self.options, generator=generator)


@register("spectral", "power-norm*")
class PowerNormStar(PowerNorm):
    """Power Norm.*: a mixture of σ^½ and σ^¾ in place of σ, scaled at random; noise on the leading values."""

    def augment(self, h: Tensor, generator: torch.Generator | None = None) -> Tensor:
        return power_norm_star(h, **self.options, generator=generator)
