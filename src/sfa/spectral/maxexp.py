"""MaxExp(F): the spectrum flattened by a soft maximum with a noisy exponent."""

import math

import torch
from torch import Tensor

from sfa.ranges import Count, NonNegative, check_number, check_whole
from sfa.registry import register
from sfa.spectral.base import SpectralMap
from sfa.spectral.feature_map import identity, multiply_by_operator, normal, on_unit_scale, trace
from sfa.spectral.newton_schulz import newton_schulz, smallest_ridge


def maxexp(
    h: Tensor, eta: int = 15, *, noise: float = 1.5, detach: bool = False, generator: torch.Generator | None = None
) -> Tensor:
    r"""Flatten the spectrum of a feature map by MaxExp(F) with a noisy exponent (section "Derivation of MaxExp(F)").

    From `"Spectral Feature Augmentation for Graph Contrastive Learning and Beyond" <https://arxiv.org/abs/2212.01026>`_
    (Zhang et al., AAAI 2023), Equation 7.

    .. math::
        \widetilde{H} = H B \bigl(I - (I - A / \operatorname{tr} A)^{\eta + \Delta\eta}\bigr)
        = U \bigl(1 - (1 - \Sigma / \textstyle\sum_j \sigma_j)^{\eta + \Delta\eta}\bigr) V^\top, \qquad
        A = (H^\top H)^{1/2},\ B = A^{-1},\ \Delta\eta \sim \alpha\, \mathcal{N}(0, 1)

    ``η + Δη`` is rounded, 1 at least; a ``noise`` ``α = 0`` is the paper's "w/o noise". Singular values that hold a
    share of ``1/η`` of the spectrum or more come out above ``1 - 1/e``; the paper flattens the 12 to 15 leading ones.

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

    def __init__(self, eta: Count = 15, noise: NonNegative = 1.5, detach: bool = False) -> None:
        self.set_options(eta=eta, noise=noise, detach=detach)
