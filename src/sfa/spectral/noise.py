"""Random maps that balance nothing: Gaussian noise, and COSTA's random combinations of rows, alike for both views."""

from typing import Annotated, Any

import torch
from annotated_types import Interval
from torch import Tensor

from sfa import distributed
from sfa.errors import InputError
from sfa.ranges import NonNegative, check_number
from sfa.registry import register
from sfa.spectral.base import SpectralMap
from sfa.spectral.feature_map import check_feature_map, narrow, normal, on_unit_scale

_BLOCK = 64  # rows of COSTA's random matrix that exist at a time


def add_noise(
    h: Tensor, strength: float = 0.1, *, across_processes: bool = False, generator: torch.Generator | None = None
) -> Tensor:
    r"""Add Gaussian noise to every entry of a feature map: :math:`\mathcal{A}_F` of the paper's ablation study.

    .. math:: \widetilde{H} = H + s \operatorname{rms}(H)\, E, \qquad E_{ij} \sim \mathcal{N}(0, 1)

    The root mean square is a constant in backward. If ``across_processes``, the rows on all processes are one map, and
    each draws noise of its own from any generator.
    """
    check_number("strength", strength)
    if not (across_processes and distributed.world_size() > 1):

        def augment(unit: Tensor, scale: Tensor) -> Tensor:
            rms = unit.detach().square().mean(dim=(-2, -1), keepdim=True).sqrt()
            return (unit + strength * rms * normal(unit.shape, unit, generator)) * scale

        return on_unit_scale(h, augment)

    check_feature_map(h)
    squares = h.detach().double().square().sum(dim=(-2, -1), keepdim=True)  # float64 has the range
    entries = torch.full_like(squares, h.shape[-2] * h.shape[-1])
    squares, entries = distributed.all_reduce_sum(torch.stack([squares, entries]))
    rms = (squares / entries).sqrt()  # (..., 1, 1), of the rows of all processes
    seed = torch.randint(2**62, (), generator=generator, device=h.device)
    own = torch.Generator(h.device).manual_seed(int(seed) + distributed.rank())
    return on_unit_scale(h, lambda unit, scale: unit * scale + strength * rms * normal(unit.shape, unit, own))


@register("spectral", "noise")
class GaussianNoise(SpectralMap, function=add_noise, spans_processes=True):
    """Gaussian noise on every feature, in proportion to the size of the map; the spectrum is not balanced."""

    deterministic = False

    def __init__(self, strength: NonNegative = 0.1) -> None:
        self.set_options(strength=strength)


def costa(h: Tensor, ratio: float = 0.5, *, generator: torch.Generator | None = None) -> Tensor:
    r"""Replace the ``n`` rows of a feature map by ``m = max(1, round(ratio · n))`` random combinations of them.

    From `"COSTA: Covariance-Preserving Feature Augmentation for Graph Contrastive Learning"
    <https://arxiv.org/abs/2206.04726>`_ (Zhang et al., 2022), with a ``ratio`` of 0.5.

    .. math::
        \widetilde{H} = P H, \qquad P \in \mathbb{R}^{m \times n}, \quad P_{ij} \sim \mathcal{N}(0, 1/m), \qquad
        \mathbb{E}\, \widetilde{H}^\top \widetilde{H} = H^\top H

    The spectrum is not balanced. Two views need the same ``P`` for their rows to match: :class:`Costa` sees to that.
    ``P`` is drawn in blocks of rows from a seed, and again in backward. Half precision is accumulated in float32.
    """
    check_feature_map(h)
    check_number("ratio", ratio, above=0, at_most=1)
    if h.numel() == 0:
        return h
    rows, n = max(1, round(ratio * h.shape[-2])), h.shape[-2]
    seeds = torch.randint(2**62, (h.shape[:-2].numel(),), generator=generator, device=h.device).tolist()
    with torch.autocast(h.device.type, enabled=False):
        maps = h.to(torch.float64 if h.dtype == torch.float64 else torch.float32).reshape(-1, *h.shape[-2:])
        combined: Tensor = _MultiplyByRandomMatrix.apply(maps, seeds, (rows, n), False)  # type: ignore[no-untyped-call]
        return narrow(combined.reshape(*h.shape[:-2], rows, h.shape[-1]), h.dtype)


class _MultiplyByRandomMatrix(torch.autograd.Function):
    """``P_b h_b``, or ``P_bᵀ h_b``, of every map of a batch ``(b, n, d)``, for one seed of ``P_b`` each."""

    @staticmethod
    def forward(h: Tensor, seeds: list[int], shape: tuple[int, int], transposed: bool) -> Tensor:
        product = h.new_zeros(h.shape[0], shape[transposed], h.shape[-1])
        for into, h_b, seed in zip(product, h, seeds, strict=True):
            generator = torch.Generator(h.device).manual_seed(seed)
            for start in range(0, shape[0], _BLOCK):
                rows = slice(start, min(start + _BLOCK, shape[0]))
                block = torch.randn(rows.stop - start, shape[1], generator=generator, dtype=h.dtype, device=h.device)
                block /= shape[0] ** 0.5
                if transposed:
                    into.addmm_(block.mT, h_b[rows])
                else:
                    torch.mm(block, h_b, out=into[rows])
        return product

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        _, ctx.seeds, ctx.shape, ctx.transposed = inputs

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None, None, None]:
        back = _MultiplyByRandomMatrix.apply(grads[0], ctx.seeds, ctx.shape, not ctx.transposed)  # type: ignore[no-untyped-call]
        return back, None, None, None


@register("spectral", "costa")
class Costa(SpectralMap, function=costa):
    """COSTA: replaces the rows of both views by the same random combinations of them, half as many."""

    deterministic = False
    keeps_rows = False
    shares_draws = True
    fullgraph = False  # as no generator can be made within one

    def __init__(self, ratio: Annotated[float, Interval(gt=0, le=1)] = 0.5) -> None:
        self.set_options(ratio=ratio)

    def forward_all(self, *maps: Tensor, generator: torch.Generator | None = None) -> tuple[Tensor, ...]:
        """Multiply all maps of a step by one random matrix: side by side they are one map."""
        if not self.training:
            return maps
        for h in maps:
            check_feature_map(h)
        if len({h.shape[:-1] for h in maps}) > 1:
            shapes = " and ".join(str(tuple(h.shape)) for h in maps)
            raise InputError(f"COSTA combines the rows of all maps alike, so they need the same rows, not {shapes}.")
        parts = self(torch.cat(maps, dim=-1), generator).split([h.shape[-1] for h in maps], dim=-1)
        return tuple(narrow(part, h.dtype) for part, h in zip(parts, maps, strict=True))
