"""Soft clipping of the spectrum: the closed form of many gentle passes of SFA, without their noise."""

import math
from typing import Annotated, Any

import torch
from annotated_types import Ge
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn.functional import softplus

from sfa import distributed
from sfa.errors import InputError
from sfa.ranges import Positive, check_number
from sfa.registry import register
from sfa.spectral.base import SpectralMap
from sfa.spectral.feature_map import check_feature_map
from sfa.spectral.gram import gram_matrix
from sfa.spectral.spectral_function import damped

VOLUME = -64 * math.log(1 - 0.125)  # what 64 passes of strength 0.125 remove
STEPS = 24  # Newton's method needs about ln(d) steps to come near the threshold, and 6 more for all digits


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
    the volume of the map by ``1 / (1 - s)``, the volume fixes the threshold ``c``. See ``docs/theory.md``. The cost is
    one eigendecomposition of the ``d × d`` Gram matrix in float64; singular values below ``√(d eps)`` of the leading
    one count as zero.

    Args:
        h: Feature map(s) ``(..., n, d)``.
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
        return (wide @ operator.to(wide.dtype)).to(h.dtype)  # type: ignore[no-any-return]


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

        def pairs(x: Tensor, sign: int) -> Tensor:
            return x.unsqueeze(-1) + sign * x.unsqueeze(-2)  # (..., d, d)

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

    def __init__(
        self,
        order: Annotated[float, Ge(2)] = 3.6,
        volume: Positive | None = None,
        threshold: Positive | None = None,
        detach: bool = True,
    ) -> None:
        self.set_options(order=order, volume=volume, threshold=threshold, detach=detach)
        self.homogeneity = 1 if threshold is None else None
