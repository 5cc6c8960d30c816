"""COSTA's feature augmentation: random combinations of rows, the same for both views."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

import torch
from annotated_types import Interval
from torch import Tensor

from sfa.errors import InputError
from sfa.ranges import check_number
from sfa.registry import register
from sfa.spectral.base import SpectralMap
from sfa.spectral.feature_map import check_feature_map

_BLOCK = 64  # Rows of the random matrix that exist at a time.


def costa(h: Tensor, ratio: float = 0.5, *, generator: torch.Generator | None = None) -> Tensor:
    r"""Replace the rows of a feature map by fewer random combinations of them.

    From `COSTA <https://arxiv.org/abs/2206.04726>`_ (Zhang et al., 2022).

    .. math::
        \widetilde{H} = P H, \qquad P \in \mathbb{R}^{m \times n}, \quad P_{ij} \sim \mathcal{N}(0, 1/m), \qquad
        \mathbb{E}\, \widetilde{H}^\top \widetilde{H} = H^\top H

    The covariance is kept on average and the spectrum is not balanced. Two views need the same ``P`` for their rows to
    match: :class:`Costa` sees to that. ``P`` never exists as a whole: it is made in blocks of rows from a seed, and
    again in backward. Half precision is accumulated in float32.

    Args:
        h: Feature map(s) ``(..., n, d)``; every map of a batch gets a matrix of its own.
        ratio: ``m / n``, above 0 and at most 1; ``m`` is rounded and 1 at least. ``0.5`` is COSTA's.
        generator: Source of the seed, on the device of ``h``; the global one if not given.
    """
    check_feature_map(h)
    check_number("ratio", ratio, above=0, at_most=1)
    if h.numel() == 0:
        return h
    rows = max(1, round(ratio * h.shape[-2]))
    seeds = torch.randint(2**62, (h.shape[:-2].numel(),), generator=generator, device=h.device).tolist()
    with torch.autocast(h.device.type, enabled=False):
        wide = h.to(torch.float64 if h.dtype == torch.float64 else torch.float32)
        maps = wide.reshape(-1, *h.shape[-2:])
        combined: Tensor = _MultiplyByRandomMatrix.apply(maps, seeds, (rows, h.shape[-2]), False)  # type: ignore[no-untyped-call]
        return combined.reshape(*h.shape[:-2], rows, h.shape[-1]).to(h.dtype)


def _row_blocks(seed: int, shape: tuple[int, int], like: Tensor) -> Iterator[Tensor]:
    """Yield ``P`` of this shape in blocks of rows, the same for the same seed."""
    generator = torch.Generator(like.device).manual_seed(seed)
    rows, columns = shape
    for start in range(0, rows, _BLOCK):
        size = (min(_BLOCK, rows - start), columns)
        yield torch.randn(size, generator=generator, dtype=like.dtype, device=like.device) / rows**0.5


class _MultiplyByRandomMatrix(torch.autograd.Function):
    """``P_b h_b``, or ``P_bᵀ h_b``, for every map of a batch ``(b, n, d)``; each is the other's backward."""

    @staticmethod
    def forward(h: Tensor, seeds: list[int], shape: tuple[int, int], transposed: bool) -> Tensor:
        product = h.new_zeros(h.shape[0], shape[1] if transposed else shape[0], h.shape[-1])
        for into, h_b, seed in zip(product, h, seeds, strict=True):
            start = 0
            for block in _row_blocks(seed, shape, h):
                rows = slice(start, start := start + len(block))
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
class Costa(SpectralMap):
    """COSTA: replaces the rows of both views by the same random combinations of them, half as many."""

    deterministic = False
    keeps_rows = False
    shares_draws = True
    fullgraph = False  # as no generator can be made within one

    def __init__(self, ratio: Annotated[float, Interval(gt=0, le=1)] = 0.5) -> None:
        super().__init__()
        self.set_options(ratio=ratio)

    def augment(self, h: Tensor, generator: torch.Generator | None = None) -> Tensor:
        return costa(h, **self.options, generator=generator)

    def forward_all(self, *maps: Tensor, generator: torch.Generator | None = None) -> tuple[Tensor, ...]:
        """Multiply all maps of a step by one random matrix: side by side they are one map."""
        if not self.training:
            return maps
        if len({h.shape[:-1] for h in maps}) > 1:
            raise InputError(
                "COSTA combines the rows of all feature maps alike, so they need the same rows, not maps of shape "
                f"{' and '.join(str(tuple(h.shape)) for h in maps)}."
            )
        side_by_side = self(torch.cat(maps, dim=-1), generator)
        parts = side_by_side.split([h.shape[-1] for h in maps], dim=-1)
        return tuple(part.to(h.dtype) for part, h in zip(parts, maps, strict=True))
