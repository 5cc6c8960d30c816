"""Normalize directions, multiply projections, and subtract the part of a feature map along some directions."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor

from sfa.spectral.feature_map import identity


def unit(vector: Tensor) -> Tensor:
    """Scale vectors ``(..., m, 1)`` to length 1, without overflow or underflow; a zero vector stays zero."""
    largest = vector.detach().abs().amax(dim=-2, keepdim=True)
    vector = vector / torch.where(largest > 0, largest, 1)
    length = torch.linalg.vector_norm(vector, dim=-2, keepdim=True)
    return vector / torch.where(length > 0, length, 1)


class RankOneProduct(NamedTuple):
    """``W = (I - s Q₁ Q₁ᵀ) ⋯ (I - s Q_p Q_pᵀ)`` in compact WY form ``I - R T Rᵀ``: two thin products make ``H W``."""

    directions: Tensor  # R = [Q₁ … Q_p], (..., d, m)
    weights: Tensor  # T, (..., m, m), upper triangular

    def followed_by(self, q: Tensor, strength: float) -> RankOneProduct:
        """Return this one times ``I - s Q Qᵀ``, for orthonormal columns ``Q`` ``(..., d, q)``."""
        r, t = self
        corner = (identity(q) * strength).expand(*q.shape[:-2], -1, -1)
        above = torch.cat([t, -strength * (t @ (r.mT @ q))], dim=-1)
        below = torch.cat([corner.new_zeros(*corner.shape[:-1], t.shape[-1]), corner], dim=-1)
        return RankOneProduct(torch.cat([r, q], dim=-1), torch.cat([above, below], dim=-2))

    def times(self, v: Tensor, *, transposed: bool = False) -> Tensor:
        """Compute ``W v``, or ``Wᵀ v``, for columns ``v`` ``(..., d, m)``."""
        r, t = self
        return v - r @ ((t.mT if transposed else t) @ (r.mT @ v))

    def to(self, dtype: torch.dtype) -> RankOneProduct:
        """Return the same product in another precision."""
        return RankOneProduct(self.directions.to(dtype), self.weights.to(dtype))


def subtract_projection(h: Tensor, r: Tensor, weights: Tensor | float, *, is_constant: bool) -> Tensor:
    """Compute ``H - H R T Rᵀ`` for ``h`` ``(..., n, d)``, directions ``r`` ``(..., d, m)`` and weights ``T``.

    A number ``s`` stands for the weights ``s I``. If directions and weights are constants (``is_constant``), backward
    keeps no tensor of the size of ``h``.
    """
    if not is_constant:
        return _subtract(h, r, weights)
    return _SubtractConstant.apply(h, r, weights)  # type: ignore[no-any-return, no-untyped-call]


def _subtract(h: Tensor, r: Tensor, weights: Tensor | float) -> Tensor:
    if isinstance(weights, Tensor):
        return h - ((h @ r) @ weights) @ r.mT
    if r.shape[-1] > 1:
        return h - weights * ((h @ r) @ r.mT)
    return torch.addcmul(h, h @ r, r.mT, value=-weights)  # without H r rᵀ as a tensor of its own


class _SubtractConstant(torch.autograd.Function):
    """:func:`_subtract`, a linear map of ``h``; backward is the same with ``Tᵀ``."""

    generate_vmap_rule = True

    @staticmethod
    def forward(h: Tensor, r: Tensor, weights: Tensor | float) -> Tensor:
        return _subtract(h, r, weights)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, Tensor, Tensor | float], output: Tensor) -> None:
        _, r, weights = inputs
        ctx.strength = None if isinstance(weights, Tensor) else weights
        ctx.save_for_backward(r, *([weights] if isinstance(weights, Tensor) else []))

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None, None]:
        r, *weights = ctx.saved_tensors
        transposed = weights[0].mT if weights else ctx.strength
        return _SubtractConstant.apply(grads[0], r, transposed), None, None  # type: ignore[no-untyped-call]
