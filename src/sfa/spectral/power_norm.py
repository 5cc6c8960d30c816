"""The spectrum flattened by roots of the Gram matrix, with noise: MaxExp(F), Power Norm. and Power Norm.*."""

import math
from typing import Any

import torch
from torch import Tensor

from sfa.ranges import FewCount, NonNegative, Positive, Share, check_number, check_whole
from sfa.registry import register
from sfa.spectral.base import SpectralMap
from sfa.spectral.feature_map import identity, multiply_by_operator, normal, on_unit_scale, trace
from sfa.spectral.newton_schulz import newton_schulz, smallest_ridge


def maxexp(
    h: Tensor, eta: int = 15, *, noise: float = 1.5, detach: bool = False, generator: torch.Generator | None = None
) -> Tensor:
    r"""Flatten the spectrum of a feature map by MaxExp(F) with a noisy exponent (Equation 7).

    .. math::
        \widetilde{H} = H B \bigl(I - (I - A / \operatorname{tr} A)^{\eta + \Delta\eta}\bigr)
        = U \bigl(1 - (1 - \Sigma / \textstyle\sum_j \sigma_j)^{\eta + \Delta\eta}\bigr) V^\top, \qquad
        A = (H^\top H)^{1/2},\ B = A^{-1},\ \Delta\eta \sim \alpha\, \mathcal{N}(0, 1)

    ``η + Δη`` is rounded, 1 at least; a ``noise`` ``α = 0`` is the paper's "w/o noise".

    No inverse is taken: with ``X = A / tr A`` and ``R = I - X`` the geometric sum ``p = I + R + … + R^(η-1)`` satisfies
    ``I - R^η = X p``, so ``H B (I - R^η) = H p / tr A``.
    """
    check_whole("eta", eta, 1)
    check_number("noise", noise)
    # A number of doublings known beforehand lets torch.compile keep one graph; ten deviations are never exceeded.
    bits = math.ceil(eta + 10 * noise).bit_length()

    def augment(unit: Tensor, scale: Tensor) -> Tensor:
        exponent = torch.full_like(scale, eta)
        if noise:
            exponent = (eta + noise * normal(scale.shape, scale, generator)).round().clamp(1, 2**bits - 1)

        def operator(gram: Tensor) -> Tensor:
            root, inverse_root, *_ = newton_schulz(gram)
            # The root of G + εI is A; that less ε A⁻¹ is the root of G up to ε², so that zeros of the spectrum stay.
            a = root - smallest_ridge(gram) * trace(gram) * inverse_root
            return _geometric_sum(identity(a) - a / trace(a), exponent.long(), bits) / trace(a)

        return multiply_by_operator(unit, operator, detach)

    return on_unit_scale(h, augment)


def _geometric_sum(r: Tensor, count: Tensor, bits: int) -> Tensor:
    """Compute ``I + r + … + r^(count-1)`` by doubling, over the ``bits`` bits of every map's ``count``."""
    power, total = identity(r).expand_as(r), torch.zeros_like(r)
    for bit in reversed(range(bits)):
        power, total = power @ power, total + power @ total
        odd = (count >> bit) & 1 == 1
        power, total = torch.where(odd, power @ r, power), torch.where(odd, total + power, total)
    return total


@register("spectral", "maxexp")
class MaxExp(SpectralMap, function=maxexp):
    """MaxExp(F): 1 - (1 - σ/Σσ)^η in place of σ, with a noisy exponent; relative noise grows towards the tail."""

    deterministic = False
    homogeneity = 0

    def __init__(self, eta: FewCount = 15, noise: NonNegative = 1.5, detach: bool = False) -> None:
        self.set_options(eta=eta, noise=noise, detach=detach)


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
    r"""Flatten the spectrum of a feature map by a noisy mixture of roots (Power Norm., Equation 8).

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
    r"""Flatten the spectrum of a feature map by a mixture of roots, and scale it at random (Power Norm.*, Eq. 9).

    .. math:: \widetilde{H} = (1 + \Delta\beta^*)\, H \bigl((1-\beta) A^{-1/2} + \beta A^{-1/4}\bigr)

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
