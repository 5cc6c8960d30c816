"""Whitening of the whole spectrum: ZCA, and the paper's "Matrix Preconditioning"."""

import torch
from torch import Tensor

from sfa.ranges import Positive, check_number
from sfa.registry import register
from sfa.spectral.base import SpectralMap
from sfa.spectral.feature_map import multiply_by_operator, on_unit_scale
from sfa.spectral.newton_schulz import newton_schulz, regularize


def precondition(h: Tensor, ridge: float = 1e-3, *, detach: bool = False) -> Tensor:
    r"""Precondition a feature map by the LU factors of its Gram matrix (Equation 29).

    .. math::
        H^\top H + \varepsilon I = L_+ U_+, \qquad M = U_+^{-1} L_+^{-1}, \qquad
        \widetilde{H}^\top \widetilde{H} = M H^\top H, \qquad
        \varepsilon = \text{ridge} \cdot \operatorname{tr}(H^\top H) / d

    The paper does not say how ``H~`` is recovered. Here ``H~ = H M^½``, which has that Gram matrix, as ``M`` is a
    function of ``HᵀH``. Singular values become ``σ / √(σ² + ε)``, below 1; ``ε`` is at least ``1e-12`` of the trace.
    """
    check_number("ridge", ridge, above=0)

    def augment(unit: Tensor, scale: Tensor) -> Tensor:
        share = ridge / unit.shape[-1]  # the features of h, also where the Gram matrix of its transpose is smaller

        def operator(gram: Tensor) -> Tensor:
            permutation, lower, upper = torch.linalg.lu(regularize(gram, share))
            inverse = torch.linalg.solve_triangular(lower, permutation.mT, upper=False, unitriangular=True)
            inverse = torch.linalg.solve_triangular(upper, inverse, upper=True)
            return newton_schulz((inverse + inverse.mT) / 2, ridge=0.0).root

        return multiply_by_operator(unit, operator, detach)

    return on_unit_scale(h, augment)


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


@register("spectral", "precondition")
class Precondition(SpectralMap, function=precondition):
    """Matrix preconditioning: flattens the whole spectrum by the inverse of the Gram matrix (LU); no noise."""

    homogeneity = 0

    def __init__(self, ridge: Positive = 1e-3, detach: bool = False) -> None:
        self.set_options(ridge=ridge, detach=detach)


@register("spectral", "whiten")
class Whiten(Precondition, function=whiten):
    """ZCA whitening: centered features without correlation, all of variance one; no noise."""

    min_rows = 2
