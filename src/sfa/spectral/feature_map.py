"""Helpers of all spectral maps: checks, float64 on unit scale, draws, functions of Gram matrix and singular values."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn.functional import pad

from sfa import distributed
from sfa.matrices import check_tensor

HALF = (torch.float16, torch.bfloat16)
ROWS = 1024  # of a map that are converted to float64 at once: they stay near the processor
STRIP = 64  # rows of a Gram matrix; less than half of the other triangle is computed in vain


def check_feature_map(h: object, what: str = "A feature map") -> None:
    """Raise unless ``h`` is a dense floating-point tensor ``(..., n, d)`` that holds values."""
    check_tensor(h, f"{what} is a floating-point tensor (..., n, d)", dims=2)


def narrow(x: Tensor, dtype: torch.dtype) -> Tensor:
    """Convert to ``dtype``; a finite number beyond the range of half precision becomes the largest one."""
    if dtype in HALF and x.dtype not in HALF:
        limit = torch.finfo(dtype).max
        x = torch.where(x.isinf(), x, x.clamp(-limit, limit))
    return x.to(dtype)


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
        return narrow(function(wide / scale, scale), h.dtype)


def trace(m: Tensor) -> Tensor:
    """Return the traces of ``(..., d, d)`` matrices, of shape ``(..., 1, 1)``."""
    return m.diagonal(dim1=-2, dim2=-1).sum(-1)[..., None, None]


def identity(m: Tensor) -> Tensor:
    """Return the identity matrix of the size, dtype and device of ``m``."""
    return torch.eye(m.shape[-1], dtype=m.dtype, device=m.device)


def gram_matrix(h: Tensor, *, spread: bool) -> tuple[Tensor, Tensor]:
    """Compute ``(H/c)ᵀ(H/c)``, of trace 1, and ``c`` ``(..., 1, 1)``, a constant, both in float64.

    If the rows are ``spread`` over processes, their Gram matrices are summed.
    """
    scale = torch.ones((), dtype=torch.float64, device=h.device)
    if h.dtype == torch.float64 and not spread:  # squares of other types fit float64
        scale = largest_entry(h)
        h = h / scale
    lower = torch.zeros((), dtype=torch.float64, device=h.device)
    for rows in torch.split(h, ROWS, dim=-2):
        lower = lower + lower_triangle(rows.mT.contiguous().double())
    gram = distributed.all_reduce_sum(lower.tril() + lower.tril(-1).mT, spread)
    size = trace(gram.detach())
    size = torch.where(size > 0, size, 1)
    return gram / size, scale * size.sqrt()


def lower_triangle(x: Tensor) -> Tensor:
    """Compute ``x xᵀ`` in strips of rows, each up to the diagonal; what lies right of its block there stays zero."""
    strips, end = [], 0
    for rows in torch.split(x, STRIP, dim=-2):
        end += rows.shape[-2]
        strips.append(pad(rows @ x[..., :end, :].mT, (0, x.shape[-2] - end)))
    return torch.cat(strips, dim=-2)


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


def pairs(x: Tensor, sign: int) -> Tensor:
    """Return the sums, or the differences, of all pairs of values ``(..., r)``: ``(..., r, r)``."""
    return x.unsqueeze(-1) + sign * x.unsqueeze(-2)
