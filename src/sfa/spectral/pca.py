"""Reconstruction from principal components, a rival of SFA: the trailing directions are dropped."""

from __future__ import annotations

import torch
from torch import Tensor

from sfa.ranges import Count, check_whole
from sfa.registry import register
from sfa.spectral.base import SpectralMap
from sfa.spectral.feature_map import on_unit_scale
from sfa.spectral.spectral_function import spectral_function


def pca(h: Tensor, kappa: int = 20, *, detach: bool = False) -> Tensor:
    r"""Rebuild a feature map from its leading principal components (section "Matrix Preconditioning").

    .. math::
        H - \mathbf{1}\mu^\top = U \Sigma V^\top, \qquad
        \widetilde{H} = \mathbf{1}\mu^\top + U_\kappa \Sigma_\kappa V_\kappa^\top

    The gradient is that of :func:`sfa.spectral.spectral_function.spectral_function`: finite on every map.

    Args:
        h: Feature map(s) of shape ``(..., n, d)``.
        kappa: ``κ``, how many components are kept; ``20`` is the paper's best. All, if there are fewer.
        detach: Treat the projector ``V_κ V_κᵀ`` as a constant. By default the gradient flows through it.

    Returns:
        ``h_tilde`` with the shape and dtype of ``h``, computed in float64.
    """
    check_whole("kappa", kappa, 1)

    def keep_leading(sigma: Tensor) -> tuple[Tensor, Tensor]:
        kept = (torch.arange(sigma.shape[-1], device=sigma.device) < kappa).to(sigma.dtype).expand_as(sigma)
        return sigma * kept, kept

    def augment(unit: Tensor, scale: Tensor) -> Tensor:
        mean = unit.mean(dim=-2, keepdim=True)
        return (mean + spectral_function(unit - mean, keep_leading, detach=detach)) * scale

    return on_unit_scale(h, augment)


@register("spectral", "pca")
class PCA(SpectralMap):
    """Principal components: keeps the κ leading ones of the centred map and drops the rest; no noise."""

    def __init__(self, kappa: Count = 20, detach: bool = False) -> None:
        super().__init__()
        check_whole("kappa", kappa, 1)
        self.kappa, self.detach = kappa, detach

    def augment(self, h: Tensor, generator: torch.Generator | None = None) -> Tensor:
        return pca(h, self.kappa, detach=self.detach)
