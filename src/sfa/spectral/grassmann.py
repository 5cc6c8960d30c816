"""Maps that keep the leading directions alone: Grassmann feature maps and principal components."""

from typing import Literal, get_args

import torch
from torch import Tensor

from sfa.errors import unknown_name
from sfa.ranges import FewCount, FewNatural, NonNegative, check_number, check_whole
from sfa.registry import register
from sfa.spectral.base import SpectralMap
from sfa.spectral.feature_map import normal, on_unit_scale, spectral_function

Decomposition = Literal["svd", "randomised"]


def grassmann(
    h: Tensor,
    kappa: int = 15,
    *,
    noise: float = 0.1,
    method: Decomposition = "svd",
    oversampling: int = 5,
    power_iterations: int = 1,
    detach: bool = False,
    generator: torch.Generator | None = None,
) -> Tensor:
    r"""Set the leading singular values of a map to one, with noise, and the rest to zero (Equation 10).

    .. math::
        \widetilde{H} = H B\, V \operatorname{Flat}(\Lambda; \kappa) V^\top
        = U_\kappa \operatorname{diag}(1 + \Delta\kappa) V_\kappa^\top,
        \qquad \Delta\kappa \sim \alpha\, \mathcal{N}(0, I)

    Singular values below rounding of the leading one (100 units of the dtype of ``h``, float32 at least) become zero.
    The gradient is finite on every map, and grows as ``1 / (σ_κ - σ_κ+1)``.

    Args:
        kappa: ``κ``, how many singular values are kept; ``15`` is the paper's best. All, if there are fewer.
        noise: ``α``; ``0`` is the paper's "w/o noise".
        method: Exact (``svd``), or ``randomised``, the paper's "rand. SVD": ``H~ = Q g(Qᵀ H)`` with ``g`` the map above
            and ``Q``, a constant in backward, a random basis of the leading column space (Halko et al., 2011).
        oversampling: Columns of ``Q`` beyond ``κ``.
        power_iterations: Products with ``H Hᵀ`` that turn ``Q`` to the leading directions; fewer leave it more random.
    """
    check_whole("kappa", kappa, 1)
    check_whole("oversampling", oversampling, 0)
    check_whole("power_iterations", power_iterations, 0)
    check_number("noise", noise)
    if method not in get_args(Decomposition):
        raise unknown_name("method of decomposition", method, get_args(Decomposition))

    def augment(unit: Tensor, scale: Tensor) -> Tensor:
        kept = min(kappa, *unit.shape[-2:])
        flat = 1 + noise * normal((*unit.shape[:-2], kept), unit, generator) if noise else unit.new_ones(kept)
        rounding = 100 * torch.finfo(h.dtype if h.dtype == torch.float64 else torch.float32).eps

        def push_forward(sigma: Tensor) -> tuple[Tensor, Tensor]:
            f = torch.zeros_like(sigma)
            f[..., :kept] = flat
            return torch.where(sigma > rounding * sigma[..., :1], f, 0), torch.zeros_like(sigma)

        if method == "svd":
            return spectral_function(unit, push_forward, detach=detach)
        source, columns = unit.detach(), min(kept + oversampling, *unit.shape[-2:])
        q = torch.linalg.qr(source @ normal((*unit.shape[:-2], unit.shape[-1], columns), unit, generator)).Q
        for _ in range(power_iterations):
            q = torch.linalg.qr(source @ (source.mT @ q)).Q
        return q @ spectral_function(q.mT @ unit, push_forward, detach=detach)  # type: ignore[no-any-return]

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


@register("spectral", "grassmann")
class Grassmann(SpectralMap, function=grassmann):
    """Grassmann feature map: sets the κ leading singular values to one plus noise, and the rest to zero."""

    deterministic = False
    homogeneity = 0

    def __init__(
        self,
        kappa: FewCount = 15,
        noise: NonNegative = 0.1,
        method: Decomposition = "svd",
        oversampling: FewNatural = 5,
        power_iterations: FewNatural = 1,
        detach: bool = False,
    ) -> None:
        randomized = {"oversampling": oversampling, "power_iterations": power_iterations}
        self.set_options(kappa=kappa, noise=noise, method=method, **randomized, detach=detach)


@register("spectral", "pca")
class PCA(SpectralMap, function=pca):
    """Principal components: keeps the κ leading ones of the centered map and drops the rest; no noise."""

    def __init__(self, kappa: FewCount = 20, detach: bool = False) -> None:
        self.set_options(kappa=kappa, detach=detach)
