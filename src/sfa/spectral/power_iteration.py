"""Spectral feature augmentation by incomplete power iteration (Algorithm 1 of the paper)."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from sfa.errors import InputError
from sfa.ranges import Natural
from sfa.spectral.base import SpectralMap


def power_iteration(
    h: Tensor,
    iterations: int = 1,
    *,
    strength: float = 1.0,
    detach: bool = True,
    generator: torch.Generator | None = None,
) -> Tensor:
    r"""Flatten and perturb the leading singular values of a feature map (Algorithm 1, Eq. 3).

    Starting from a random direction, a few power iterations turn ``r`` towards the leading right singular vector of
    ``h``; stopped early, it stays random. The part of ``h`` along ``r`` is then subtracted:

    .. math::
        r^{(0)} \sim \mathcal{N}(0, I), \qquad
        r^{(k)} = H^\top H\, r^{(k-1)}, \qquad
        \widetilde{H} = H - s\, \frac{H r^{(k)} r^{(k)\top}}{\lVert r^{(k)} \rVert_2^2}

    The cost is ``2 k + 1`` products of ``h`` with a vector, and one in backward: no ``d × d`` Gram matrix and no SVD.
    ``r`` is normalised in every step, which changes nothing in exact arithmetic and keeps many ``iterations`` and
    entries of ``1e±20`` finite.

    Args:
        h: Feature map(s) of shape ``(..., n, d)``; every map of a batch gets a direction of its own.
        iterations: ``k ≥ 0``. One or two balance the spectrum; ``0`` removes a random direction; many remove the
            leading one alone.
        strength: ``s``, the share of the projection that is subtracted. ``1`` is the paper's.
        detach: Treat ``r`` as a constant, as an augmentation (default), or differentiate through the iteration. The
            paper leaves this open; with the gradient through ``r`` an encoder learns to feed it a spare direction.
        generator: Source of ``r⁽⁰⁾``, on the device of ``h``; the global one if not given.

    Returns:
        ``h_tilde`` with the shape and dtype of ``h``. Half precision is accumulated in float32.
    """
    if h.dim() < 2 or not h.is_floating_point():
        raise InputError(
            f"A feature map is a floating-point tensor (..., n, d), not {h.dtype} of shape {tuple(h.shape)}."
        )
    _check_iterations(iterations)
    if h.numel() == 0:
        return h
    dtype = torch.float64 if h.dtype == torch.float64 else torch.float32
    with torch.autocast(h.device.type, enabled=False):
        h_wide = h.to(dtype)
        source = h_wide.detach() if detach else h_wide
        # The keyword alone, even as None, would keep torch.compile from maps whose width varies.
        source_of_r: dict[str, Any] = {} if generator is None else {"generator": generator}
        r = torch.randn(*h.shape[:-2], h.shape[-1], 1, dtype=dtype, device=h.device, **source_of_r)
        for _ in range(iterations):
            r = _unit(source.mT @ _unit(source @ _unit(r)))
        subtract = _SubtractConstantProjection.apply if detach else _subtract_projection
        return subtract(h_wide, _unit(r), strength).to(h.dtype)


def _unit(vector: Tensor) -> Tensor:
    """``(..., m, 1)`` vectors scaled to length 1, a zero vector left at zero; no overflow or underflow on the way."""
    largest = vector.detach().abs().amax(dim=-2, keepdim=True)
    vector = vector / torch.where(largest > 0, largest, 1)
    length = torch.linalg.vector_norm(vector, dim=-2, keepdim=True)
    return vector / torch.where(length > 0, length, 1)


def _subtract_projection(h: Tensor, r: Tensor, strength: float) -> Tensor:
    """``h - strength · (h r) rᵀ`` in one pass, without the rank-one matrix as a tensor of its own."""
    return torch.addcmul(h, h @ r, r.mT, value=-strength)


class _SubtractConstantProjection(torch.autograd.Function):
    """:func:`_subtract_projection` for a constant ``r``: a symmetric linear map, hence its own backward.

    Autograd would need three tensors of the size of ``h`` in backward; this needs one.
    """

    generate_vmap_rule = True

    @staticmethod
    def forward(h: Tensor, r: Tensor, strength: float) -> Tensor:
        return _subtract_projection(h, r, strength)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, Tensor, float], output: Tensor) -> None:
        _, r, ctx.strength = inputs
        ctx.save_for_backward(r)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None, None]:
        (r,) = ctx.saved_tensors
        return _SubtractConstantProjection.apply(grads[0], r, ctx.strength), None, None  # type: ignore[no-untyped-call]


class SpectralFeatureAugmentation(SpectralMap):
    """Flattens and perturbs the leading singular values while training; the identity in ``eval()``.

    The layer between encoder and projector; it stores its arguments and calls :func:`power_iteration`.

    >>> layer = SpectralFeatureAugmentation(iterations=1)
    >>> layer(torch.randn(100, 16)).shape
    torch.Size([100, 16])
    """

    def __init__(self, iterations: Natural = 1, strength: float = 1.0, detach: bool = True) -> None:
        super().__init__()
        _check_iterations(iterations)
        self.iterations = iterations
        self.strength = strength
        self.detach = detach

    def augment(self, h: Tensor, generator: torch.Generator | None = None) -> Tensor:
        return power_iteration(h, self.iterations, strength=self.strength, detach=self.detach, generator=generator)

    def extra_repr(self) -> str:
        return f"iterations={self.iterations}, strength={self.strength}, detach={self.detach}"


def _check_iterations(iterations: int) -> None:
    if not isinstance(iterations, int) or iterations < 0:
        raise InputError(f"iterations must be a whole number, 0 or more, not {iterations!r}.")
