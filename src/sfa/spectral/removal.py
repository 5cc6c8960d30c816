"""What the layer multiplies a feature map with: directions taken out one after another, in a compact form."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor


def unit(vector: Tensor) -> Tensor:
    """``(..., m, 1)`` vectors scaled to length 1, a zero vector left at zero; no overflow or underflow on the way."""
    largest = vector.detach().abs().amax(dim=-2, keepdim=True)
    vector = vector / torch.where(largest > 0, largest, 1)
    length = torch.linalg.vector_norm(vector, dim=-2, keepdim=True)
    return vector / torch.where(length > 0, length, 1)


class Removal(NamedTuple):
    r"""The matrix :math:`W = (I - s\,Q_1 Q_1^\top) \cdots (I - s\,Q_p Q_p^\top)`, kept as :math:`I - R T R^\top`.

    ``R = [Q₁ … Q_p]`` has all directions as its columns, and ``T`` is upper triangular, as in products of Householder
    reflections: ``W`` is never made, and ``H W`` is two thin products however many factors there are.
    """

    directions: Tensor | None = None
    """``R``, ``(..., d, m)``; ``None`` where nothing is removed."""
    weights: Tensor | float = 0.0
    """``T``, ``(..., m, m)``; a number stands for that many times the identity."""

    def followed_by(self, q: Tensor, strength: float) -> Removal:
        """This one times ``I - s Q Qᵀ``, for orthonormal columns ``Q`` ``(..., d, q)``."""
        if self.directions is None:
            return Removal(q, strength)
        t = self._matrix()
        corner = torch.eye(q.shape[-1], dtype=q.dtype, device=q.device).expand(*t.shape[:-2], -1, -1) * strength
        above = torch.cat([t, -strength * (t @ (self.directions.mT @ q))], dim=-1)
        below = torch.cat([corner.new_zeros(*corner.shape[:-1], t.shape[-1]), corner], dim=-1)
        return Removal(torch.cat([self.directions, q], dim=-1), torch.cat([above, below], dim=-2))

    def times(self, v: Tensor) -> Tensor:
        """``W v`` for columns ``v`` ``(..., d, m)``."""
        return v if self.directions is None else v - self.directions @ (self._matrix() @ (self.directions.mT @ v))

    def transposed_times(self, v: Tensor) -> Tensor:
        """``Wᵀ v``."""
        return v if self.directions is None else v - self.directions @ (self._matrix().mT @ (self.directions.mT @ v))

    def applied_to(self, h: Tensor, *, is_constant: bool) -> Tensor:
        """``H W``, with ``W`` a constant in backward if it is to be."""
        if self.directions is None:
            return h
        if not is_constant:
            return _subtract(h, self.directions, self.weights)
        removed: Tensor = _SubtractConstant.apply(h, self.directions, self.weights)  # type: ignore[no-untyped-call]
        return removed

    def to(self, dtype: torch.dtype) -> Removal:
        """The same in another precision."""
        weights = self.weights.to(dtype) if isinstance(self.weights, Tensor) else self.weights
        return self if self.directions is None else Removal(self.directions.to(dtype), weights)

    def _matrix(self) -> Tensor:
        assert self.directions is not None
        if isinstance(self.weights, Tensor):
            return self.weights
        r = self.directions
        eye = torch.eye(r.shape[-1], dtype=r.dtype, device=r.device)
        return (eye * self.weights).expand(*r.shape[:-2], -1, -1)


def _subtract(h: Tensor, r: Tensor, weights: Tensor | float) -> Tensor:
    """``h - h r T rᵀ``; one direction in one pass, without the rank-one matrix as a tensor of its own."""
    if isinstance(weights, Tensor):
        return h - ((h @ r) @ weights) @ r.mT
    if r.shape[-1] > 1:
        return h - weights * ((h @ r) @ r.mT)
    return torch.addcmul(h, h @ r, r.mT, value=-weights)


class _SubtractConstant(torch.autograd.Function):
    """:func:`_subtract` for constant directions: a linear map, and backward is the one with ``Tᵀ``.

    Autograd would need three tensors of the size of ``h`` in backward; this needs one.
    """

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
