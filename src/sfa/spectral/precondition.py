"""Matrix preconditioning, a rival of SFA: the spectrum flattened by the inverse of the Gram matrix."""

from __future__ import annotations

import torch
from torch import Tensor

from sfa.ranges import Positive, check_number
from sfa.registry import register
from sfa.spectral.base import SpectralMap
from sfa.spectral.feature_map import identity, multiply_by_operator, on_unit_scale, trace
from sfa.spectral.newton_schulz import SMALLEST_INVERTED, newton_schulz


def precondition(h: Tensor, ridge: float = 1e-3, *, detach: bool = False) -> Tensor:
    r"""Precondition a feature map by the LU factors of its Gram matrix (section "Matrix Preconditioning").

    .. math::
        H^\top H + \varepsilon I = L_+ U_+, \qquad M = U_+^{-1} L_+^{-1}, \qquad
        \widetilde{H}^\top \widetilde{H} = M H^\top H, \qquad
        \varepsilon = \text{ridge} \cdot \operatorname{tr}(H^\top H) / d

    The paper does not say how ``H~`` is recovered, nor what happens to a Gram matrix that cannot be inverted. Here
    ``H~ = H M^½``: ``M`` is the inverse of the regularised Gram matrix, hence symmetric (its symmetric part is taken,
    against rounding), positive and a function of ``HᵀH``, so that ``H~ᵀH~ = M^½ HᵀH M^½ = M HᵀH`` as asked. The root
    is a Newton–Schulz iteration. Singular values become ``σ / √(σ² + ε)``: near 1 down to ``√ε``, the whole spectrum.

    Args:
        h: Feature map(s) of shape ``(..., n, d)``.
        ridge: What is added to the Gram matrix, as a share of its mean eigenvalue; no less than ``1e-12`` of its trace.
        detach: Treat ``M`` as a constant. By default the gradient flows through it.

    Returns:
        ``h_tilde`` with the shape and dtype of ``h`` and singular values in ``[0, 1)``, computed in float64.
    """
    check_number("ridge", ridge, above=0)

    def augment(unit: Tensor, scale: Tensor) -> Tensor:
        # The features of h, also where the Gram matrix of its transpose is smaller.
        share = max(ridge / unit.shape[-1], SMALLEST_INVERTED)

        def operator(gram: Tensor) -> Tensor:
            return newton_schulz(_inverse_by_lu(gram + share * trace(gram) * identity(gram)), ridge=0.0).root

        return multiply_by_operator(unit, operator, detach)

    return on_unit_scale(h, augment)


def _inverse_by_lu(m: Tensor) -> Tensor:
    """``U⁻¹ L⁻¹ Pᵀ`` for ``m = P L U``, made symmetric."""
    permutation, lower, upper = torch.linalg.lu(m)
    solve = torch.linalg.solve_triangular
    inverse: Tensor = solve(upper, solve(lower, permutation.mT, upper=False, unitriangular=True), upper=True)
    return (inverse + inverse.mT) / 2


@register("spectral", "precondition")
class Precondition(SpectralMap):
    """Matrix preconditioning: flattens the whole spectrum by the inverse of the Gram matrix (LU); no noise."""

    homogeneity = 0

    def __init__(self, ridge: Positive = 1e-3, detach: bool = False) -> None:
        super().__init__()
        check_number("ridge", ridge, above=0)
        self.ridge, self.detach = ridge, detach

    def augment(self, h: Tensor, generator: torch.Generator | None = None) -> Tensor:
        return precondition(h, self.ridge, detach=self.detach)
