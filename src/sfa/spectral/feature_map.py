"""Helpers of all spectral maps: a check, float64 on unit scale, random numbers, operators from the Gram matrix."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from sfa.errors import InputError


def check_feature_map(h: Tensor) -> None:
    """Raise unless ``h`` is a floating-point tensor ``(..., n, d)``."""
    if h.dim() < 2 or not h.is_floating_point():
        raise InputError(f"A feature map is a floating-point tensor (..., n, d), not {h.dtype} {tuple(h.shape)}.")


def normal(shape: Sequence[int], like: Tensor, generator: torch.Generator | None) -> Tensor:
    """Draw standard normal numbers with the dtype and device of ``like``."""
    # The keyword alone, even as None, would keep torch.compile from maps whose width varies.
    source: dict[str, Any] = {} if generator is None else {"generator": generator}
    return torch.randn(*shape, dtype=like.dtype, device=like.device, **source)


def largest_entry(x: Tensor) -> Tensor:
    """Return the largest absolute entry of each matrix, ``(..., 1, 1)``, as a constant; 1 if all are zero."""
    largest = x.detach().abs().amax(dim=(-2, -1), keepdim=True)
    return torch.where(largest > 0, largest, 1)


def on_unit_scale(h: Tensor, function: Callable[[Tensor, Tensor], Tensor]) -> Tensor:
    """Compute ``function(h / scale, scale)`` in float64, and return it in the dtype of ``h``; an empty map as it is.

    A Gram matrix squares the singular values: in float32 those below ``1e-4`` of the leading one would be noise, and
    entries of ``1e±20`` would overflow or vanish. So the work is done in float64 (float32 on MPS, which has no other),
    without autocast, on a map whose largest entry is 1. ``scale`` ``(..., 1, 1)`` is a constant.
    """
    check_feature_map(h)
    if h.numel() == 0:
        return h
    with torch.autocast(h.device.type, enabled=False):
        wide = h.to(torch.float32 if h.device.type == "mps" else torch.float64)
        scale = largest_entry(wide)
        return function(wide / scale, scale).to(h.dtype)


def trace(m: Tensor) -> Tensor:
    """Return the traces of ``(..., d, d)`` matrices, of shape ``(..., 1, 1)``."""
    return m.diagonal(dim1=-2, dim2=-1).sum(-1)[..., None, None]


def identity(m: Tensor) -> Tensor:
    """Return the identity matrix of the size, dtype and device of ``m``."""
    return torch.eye(m.shape[-1], dtype=m.dtype, device=m.device)


def multiply_by_operator(h: Tensor, operator: Callable[[Tensor], Tensor], detach: bool) -> Tensor:
    """Compute ``h W`` with ``W = operator(hᵀh)``, a matrix function of the Gram matrix.

    ``U Σ w(Σ²) Vᵀ`` is also ``w(H Hᵀ) H``, so the smaller of the two Gram matrices is taken. A constant ``W``
    (``detach``) is always the one on the right: the two have the same value but, as constants, not the same gradient.
    """
    if detach:
        return h @ operator(_gram(h.detach()))
    if h.shape[-2] < h.shape[-1]:
        return (h.mT @ operator(_gram(h.mT))).mT
    return h @ operator(_gram(h))


def _gram(h: Tensor) -> Tensor:
    """Compute ``hᵀh`` of a map on unit scale; the identity for a map that is zero up to rounding."""
    g = h.mT @ h
    rounding = h.shape[-2] * h.shape[-1] * (4 * torch.finfo(h.dtype).eps) ** 2
    return torch.where(trace(g.detach()) <= rounding, identity(g), g)
