"""A function of the singular values of a map, with a gradient that repeated and zero singular values do not break."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable


def spectral_function(
    h: Tensor, push_forward: Callable[[Tensor], tuple[Tensor, Tensor]], *, detach: bool = False
) -> Tensor:
    r"""Compute ``H~ = U f(Σ) Vᵀ`` for ``H = U Σ Vᵀ``, differentiated as a whole and not through ``U`` and ``V``.

    The paper notes that SVD's backward is undefined for repeated and zero singular values; that of ``H~`` hardly ever
    is. With ``P = Uᵀ dH V``,

    .. math::
        (U^\top d\widetilde{H}\, V)_{ij} = \frac{P_{ij} + P_{ji}}{2} \frac{f_i - f_j}{\sigma_i - \sigma_j}
        + \frac{P_{ij} - P_{ji}}{2} \frac{f_i + f_j}{\sigma_i + \sigma_j},

    with ``f'`` on the diagonal; the part of ``dH`` outside the span of ``U`` (or of ``V``) is multiplied by
    ``f_j / σ_j``. The map is its own adjoint: backward applies it to the gradient. A quotient whose denominator ``δ``
    vanishes is damped towards the slope of ``f``, ``(δ Δf + ε² f') / (δ² + ε²)`` with ``ε`` ``5e-7`` of the leading
    value in float64: right for smooth ``f``, and finite where ``f`` jumps between two equal singular values.

    Args:
        h: Feature map(s) ``(..., n, d)``. One that is not finite gives NaN; LAPACK would raise an exception.
        push_forward: ``σ ↦ (f, f')`` for ``σ`` ``(..., r)`` in descending order. ``f`` may depend on the index too.
        detach: Treat ``W = V (f/σ) Vᵀ`` of ``H~ = H W`` as a constant in backward.
    """
    with torch.no_grad():
        finite = h.isfinite().all(dim=-1, keepdim=True).all(dim=-2, keepdim=True)
        u, sigma, vh = torch.linalg.svd(torch.where(finite, h, 0), full_matrices=False)
        u = torch.where(finite, u, torch.nan)
        f, slope = push_forward(sigma)
    return _SpectralFunction.apply(h, u, sigma, vh, f, slope, detach)  # type: ignore[no-any-return, no-untyped-call]


class _SpectralFunction(torch.autograd.Function):
    """``U f Vᵀ`` as a function of ``h``, whose decomposition is given."""

    @staticmethod
    def forward(h: Tensor, u: Tensor, sigma: Tensor, vh: Tensor, f: Tensor, slope: Tensor, detach: bool) -> Tensor:
        return (u * f.unsqueeze(-2)) @ vh

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        _, *decomposition, ctx.detach = inputs
        ctx.save_for_backward(*decomposition)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        u, sigma, vh, f, slope = ctx.saved_tensors
        leading = sigma[..., :1]
        damping = torch.finfo(sigma.dtype).eps ** 0.4 * torch.where(leading > 0, leading, 1)
        ratio = damped(f, sigma, slope, damping).unsqueeze(-2)
        grad_v = grad @ vh.mT  # (..., n, r)
        if ctx.detach:
            return (grad_v * ratio) @ vh, *[None] * 6

        def pairs(x: Tensor, sign: int) -> Tensor:
            return x.unsqueeze(-1) + sign * x.unsqueeze(-2)  # (..., r, r)

        p, limit, damping = u.mT @ grad_v, pairs(slope, 1) / 2, damping.unsqueeze(-1)
        symmetric = damped(pairs(f, -1), pairs(sigma, -1), limit, damping)
        skew = damped(pairs(f, 1), pairs(sigma, 1), limit, damping)
        differential = u @ (((p + p.mT) / 2 * symmetric + (p - p.mT) / 2 * skew) @ vh)
        n, d = grad.shape[-2:]
        if n > d:
            differential = differential + ((grad_v - u @ p) * ratio) @ vh
        if d > n:
            differential = differential + u @ (ratio.mT * (u.mT @ grad - p @ vh))
        return differential, *[None] * 6


def damped(numerator: Tensor, denominator: Tensor, limit: Tensor, damping: Tensor) -> Tensor:
    """Compute ``numerator / denominator``, passing to ``limit`` where the denominator is below ``damping``."""
    return (denominator * numerator + damping**2 * limit) / (denominator**2 + damping**2)
