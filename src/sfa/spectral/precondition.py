"""The paper's section "Matrix Preconditioning": the inverse of the Gram matrix, and principal components."""

from __future__ import annotations

import torch
from torch import Tensor

from sfa.ranges import Count, Positive, check_number, check_whole
from sfa.registry import register
from sfa.spectral.base import SpectralMap
from sfa.spectral.feature_map import multiply_by_operator, on_unit_scale
from sfa.spectral.newton_schulz import newton_schulz, regularize
from sfa.spectral.spectral_function import spectral_function


def precondition(h: Tensor, ridge: float = 1e-3, *, detach: bool = False) -> Tensor:
    r"""Precondition a feature map by the LU factors of its Gram matrix.

    .. math::
        H^\top H + \varepsilon I = L_+ U_+, \qquad M = U_+^{-1} L_+^{-1}, \qquad
        \widetilde{H}^\top \widetilde{H} = M H^\top H, \qquad
        \varepsilon = \text{ridge} \cdot \operatorname{tr}(H^\top H) / d

    The paper does not say how ``H~`` is recovered. Here ``H~ = H M^½``, which has that Gram matrix, as ``M`` is a
    function of ``HᵀH``; the root is a Newton–Schulz iteration. Singular values become ``σ / √(σ² + ε)``, below 1;
    ``ε`` is at least ``1e-12`` of the trace.
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


def pca(h: Tensor, kappa: int = 20, *, detach: bool = False) -> Tensor:
    r"""Rebuild a feature map from its ``κ`` leading principal components; the gradient is finite on every map.

    .. math::
        H - \mathbf{1}\mu^\top = U \Sigma V^\top, \qquad
        \widetilde{H} = \mathbf{1}\mu^\top + U_\kappa \Sigma_\kappa V_\kappa^\top

    ``κ = 20`` is the paper's best. All components are kept if there are fewer.
    """
    check_whole("kappa", kappa, 1)

    def keep_leading(sigma: Tensor) -> tuple[Tensor, Tensor]:
        kept = (torch.arange(sigma.shape[-1], device=sigma.device) < kappa).to(sigma.dtype).expand_as(sigma)
        return sigma * kept, kept

    def augment(unit: Tensor, scale: Tensor) -> Tensor:
        mean = unit.mean(dim=-2, keepdim=True)
        return (mean + spectral_function(unit - mean, keep_leading, detach=detach)) * scale

    return on_unit_scale(h, augment)


@register("spectral", "precondition")
class Precondition(SpectralMap):
    """Matrix preconditioning: flattens the whole spectrum by the inverse of the Gram matrix (LU); no noise."""

    homogeneity = 0

    def __init__(self, ridge: Positive = 1e-3, detach: bool = False) -> None:
        super().__init__()
        self.set_options(ridge=ridge, detach=detach)

    def augment(self, h: Tensor, generator: torch.Generator | None = None) -> Tensor:
        return precondition(h, **self.options)


@register("spectral", "pca")
class PCA(SpectralMap):
    """Principal components: keeps the κ leading ones of the centered map and drops the rest; no noise."""

    def __init__(self, kappa: Count = 20, detach: bool = False) -> None:
        super().__init__()
        self.set_options(kappa=kappa, detach=detach)

    def augment(self, h: Tensor, generator: torch.Generator | None = None) -> Tensor:
        return pca(h, **self.options)
