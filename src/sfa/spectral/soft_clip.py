"""What SFA does, without its noise: its expectation, and the closed form of many gentle passes."""

import math
from typing import Annotated, Any

import torch
from annotated_types import Ge
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn.functional import pad, softplus

from sfa import distributed
from sfa.errors import InputError
from sfa.ranges import FewCount, FewNatural, Positive, Share, check_number, check_whole
from sfa.registry import register
from sfa.spectral.base import SpectralMap
from sfa.spectral.feature_map import (
    check_feature_map,
    damped,
    gram_matrix,
    narrow,
    on_unit_scale,
    pairs,
    spectral_function,
)

VOLUME = -64 * math.log(1 - 0.125)  # what 64 passes of strength 0.125 remove
STEPS = 24  # Newton's method needs about ln(d) steps to come near the threshold, and 6 more for all digits


def expectation(h: Tensor, iterations: int = 1, *, strength: float = 1.0, passes: int = 1) -> Tensor:
    r"""Subtract from each singular value the fraction that SFA removes on average (Proposition 1).

    .. math:: \mathbb{E}\,\widetilde H = U \operatorname{diag}\big((1 - s\,\lambda_i(k))\,\sigma_i\big) V^\top

    with the exact :math:`\lambda_i`, ``passes`` times (:func:`sfa.theory.leveled`). Not in the paper: compare it with
    :func:`~sfa.spectral.power_iteration` to see what the noise of SFA is worth. It takes an SVD in float64 at each
    call, and the matrix ``W`` of ``h_tilde = h W`` is a constant in backward.
    """
    check_whole("iterations", iterations, 0)
    check_number("strength", strength, at_most=1)
    check_whole("passes", passes, 1)

    def push_forward(sigma: Tensor) -> tuple[Tensor, Tensor]:
        # All d directions count, also those in which a map of fewer rows has nothing.
        known = pad(sigma, (0, h.shape[-1] - sigma.shape[-1]))
        values = _leveled(known, int(iterations), float(strength), int(passes))[..., : sigma.shape[-1]]
        return values, torch.zeros_like(sigma)  # W is a constant: no slope is asked for

    return on_unit_scale(h, lambda unit, scale: scale * spectral_function(unit, push_forward, detach=True))


@torch.library.custom_op("sfa::leveled", mutates_args=())
def _leveled(sigma: Tensor, iterations: int, strength: float, passes: int) -> Tensor:
    """Compute :func:`sfa.theory.leveled`, which is NumPy's: one opaque step of a compiled graph."""
    from sfa.theory import leveled  # imports SciPy, which would be a third of the time that the layer's import takes

    return torch.from_numpy(leveled(sigma, iterations, strength=strength, passes=passes)).to(sigma)


_leveled.register_fake(lambda sigma, *_: torch.empty_like(sigma))


@register("spectral", "expectation")
class Expectation(SpectralMap, function=expectation):
    """The expectation of SFA: its balancing without its noise."""

    min_rows = 2

    def __init__(self, iterations: FewNatural = 1, strength: Share = 1.0, passes: FewCount = 1) -> None:
        self.set_options(iterations=iterations, strength=strength, passes=passes)


def soft_clip(
    h: Tensor,
    order: float = 3.6,
    *,
    volume: float | None = None,
    threshold: float | None = None,
    detach: bool = True,
    across_processes: bool = False,
) -> Tensor:
    r"""Lower singular values above a threshold to it and leave those below: a soft minimum of both.

    .. math::
        \widetilde{H} = U \operatorname{diag}\big((\sigma_i^{-p} + c^{-p})^{-1/p}\big) V^\top, \qquad
        \sum_i \ln \sigma_i - \ln \tilde\sigma_i = \tfrac1p \sum_i \ln\big(1 + (\sigma_i / c)^p\big) = v

    Not in the paper: the spectrum to which many gentle passes of SFA lead, up to a few percent. As each pass divides
    the volume of the map by ``1 / (1 - s)``, the volume fixes the threshold ``c``. See ``docs/theory.md``. The Gram
    matrix is decomposed in float64; singular values below ``√(d eps)`` of the leading one count as zero.

    Args:
        order: ``p ≥ 2``. ``2`` is whitening with a ridge, many are clipping; ``3.6 k`` is closest to SFA.
        volume: ``v``, the logarithm of the volume that is removed. That of 64 passes of strength 0.125 by default.
        threshold: ``c`` itself instead of the volume.
        detach: Treat ``W`` of ``h_tilde = h W`` as a constant, as SFA does (default), or differentiate through it.
        across_processes: The rows of ``h`` on all processes are one map; some processes may hold none.
    """
    check_feature_map(h)
    if not 2 <= order < math.inf:
        raise InputError(f"order must be a number, 2 or more, not {order!r}.")
    if volume is not None and threshold is not None:
        raise InputError(f"Give a volume or a threshold, not both: {volume!r} and {threshold!r}.")
    name, value = ("volume", VOLUME if volume is None else volume) if threshold is None else ("threshold", threshold)
    check_number(name, value, above=0)
    spread = across_processes and distributed.world_size() > 1
    if 0 in ((*h.shape[:-2], h.shape[-1]) if spread else h.shape):
        return h
    with torch.autocast(h.device.type, enabled=False):
        wide = h.to(torch.float64 if h.dtype == torch.float64 else torch.float32)
        gram, scale = gram_matrix(wide.detach() if detach else wide, spread=spread)
        with torch.no_grad():
            finite = gram.isfinite().all(dim=-1, keepdim=True).all(dim=-2, keepdim=True)
            values, v = torch.linalg.eigh(torch.where(finite, gram, 0))  # ascending; LAPACK raises on NaN
            positive = values > h.shape[-1] * torch.finfo(values.dtype).eps * values[..., -1:]
            logs = torch.where(positive, values, 0).log() / 2  # ln σ
            tau = find_threshold(logs, order, value) if name == "volume" else math.log(value) - scale[..., 0].log()
            excess = order * (logs - tau)
            w = torch.where(positive, torch.exp(softplus(excess) / -order), 1)  # (1 + (σ/c)ᵖ)^(-1/p)
            share = torch.where(positive, excess.sigmoid(), 0)  # -d ln w / d ln σ
            v = torch.where(finite, v, torch.nan)
        operator = _Operator.apply(gram, values, v, w, share, name == "volume")  # type: ignore[no-untyped-call]
        return narrow(wide @ operator.to(wide.dtype), h.dtype)


def find_threshold(logs: Tensor, order: float, volume: float) -> Tensor:
    """Solve ``Σ softplus(p (ln σ - τ)) = p v`` for ``τ``, ``(..., 1)``, by Newton's method, given ascending ``ln σ``.

    The sum is convex and falls with ``τ``: from a start where it is too large, Newton's method never goes too far.
    """
    descending = logs.flip(-1)
    counts = torch.arange(1, logs.shape[-1] + 1, dtype=logs.dtype, device=logs.device)
    hard = ((descending.cumsum(-1) - volume) / counts).amax(-1, keepdim=True)  # Σ max(ln σ - τ, 0) = v
    # Above all ln σ, where softplus(x) is at least ln 2 · eˣ, there is a start that small volumes reach in few steps.
    far = (torch.logsumexp(order * logs, -1, keepdim=True) - math.log(order * volume / math.log(2))) / order
    tau = torch.where(far >= descending[..., :1], far, hard)
    for _ in range(STEPS):
        excess = order * (logs - tau)
        tau = tau + (softplus(excess).sum(-1, keepdim=True) / order - volume) / excess.sigmoid().sum(-1, keepdim=True)
    return tau


class _Operator(torch.autograd.Function):
    """``W = V w Vᵀ`` as a function of the Gram matrix, whose decomposition is given."""

    @staticmethod
    def forward(gram: Tensor, values: Tensor, v: Tensor, w: Tensor, share: Tensor, fixed_volume: bool) -> Tensor:
        return (v * w.unsqueeze(-2)) @ v.mT

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        _, *decomposition, ctx.fixed_volume = inputs
        ctx.save_for_backward(*decomposition)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        """Apply divided differences of ``w``, as w is a function of the eigenvalues, and the change of the threshold.

        ``dτ = Σ share dln σ / Σ share`` keeps the volume, and ``dw = w share dτ``.
        """
        values, v, w, share = ctx.saved_tensors
        relative = torch.where(share > 0, share / (2 * values), 0)  # share · dln σ/dλ
        p = v.mT @ grad @ v

        # w is smooth in ln λ, so two eigenvalues are close if their difference is small beside their sum.
        damping = torch.finfo(values.dtype).eps ** 0.4 * (pairs(values, 1).abs() + torch.finfo(values.dtype).eps)
        inner = p * damped(pairs(w, -1), pairs(values, -1), pairs(-w * relative, 1) / 2, damping)
        if ctx.fixed_volume:
            raised = (p.diagonal(dim1=-2, dim2=-1) * w * share).sum(-1, keepdim=True)
            total = share.sum(-1, keepdim=True)
            inner = inner + torch.diag_embed(raised / torch.where(total > 0, total, 1) * relative)
        return v @ inner @ v.mT, *[None] * 5


@register("spectral", "soft-clip")
class SoftClip(SpectralMap, function=soft_clip, spans_processes=True):
    """Soft clipping: lowers the leading singular values to one threshold, as many gentle passes of SFA; no noise."""

    min_rows = 2

    def __init__(
        self,
        order: Annotated[float, Ge(2)] = 3.6,
        volume: Positive | None = None,
        threshold: Positive | None = None,
        detach: bool = True,
    ) -> None:
        self.set_options(order=order, volume=volume, threshold=threshold, detach=detach)
        self.homogeneity = 1 if threshold is None else None
