"""Directions normalized without overflow, and a feature map's projection on them subtracted with little memory."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor


def unit(vector: Tensor) -> Tensor:
    """Scale vectors ``(..., m, 1)`` to length 1, without overflow or underflow; a zero vector stays zero."""
    largest = vector.detach().abs().amax(dim=-2, keepdim=True)
    vector = vector / torch.where(largest > 0, largest, 1)
    length = torch.linalg.vector_norm(vector, dim=-2, keepdim=True)
    return vector / torch.where(length > 0, length, 1)


def subtract_projection(h: Tensor, r: Tensor, weights: Tensor | float, *, is_constant: bool) -> Tensor:
    """Compute ``H - H R T Rᵀ``.

    Args:
        h: Feature map(s) ``(..., n, d)``.
        r: Directions ``R`` as columns, ``(..., d, m)``.
        weights: ``T``, ``(..., m, m)``, or the number ``s`` for ``s I``.
        is_constant: Treat ``R`` and ``T`` as constants in backward, which then needs no tensor of the size of ``h``.
    """
    if not is_constant:
        return _subtract(h, r, weights)
    left: Tensor = _SubtractConstant.apply(h, r, weights)  # type: ignore[no-untyped-call]
    return left


def _subtract(h: Tensor, r: Tensor, weights: Tensor | float) -> Tensor:
    if isinstance(weights, Tensor):
        return h - ((h @ r) @ weights) @ r.mT
    if r.shape[-1] > 1:
        return h - weights * ((h @ r) @ r.mT)
    return torch.addcmul(h, h @ r, r.mT, value=-weights)  # without H r rᵀ as a tensor of its own


class _SubtractConstant(torch.autograd.Function):
    """Compute :func:`_subtract`, a linear map of ``h``; backward is the one with ``Tᵀ``.

    Autograd would keep three tensors of the size of ``h`` for backward; this keeps the directions alone.
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
