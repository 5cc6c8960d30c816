"""InfoNCE of two views, both directions (NT-Xent, the paper's Eq. 2) or one, in memory linear in the rows."""

from functools import partial
from typing import Any, Literal, get_args

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from sfa.distributed import all_reduce_sum, gather_rows
from sfa.errors import InputError, unknown_name
from sfa.losses.similarities import CenteredSimilarities, Own, Similarities
from sfa.matrices import check_one_shape, row_chunks, takes_tensors
from sfa.modes import has_fast_bfloat16
from sfa.ranges import check_number

Precision = Literal["auto", "full", "bfloat16"]
Negatives = Literal["positives", "anchors"]

FLOAT32_LOGITS = 60.0  # Beyond ±60 sums of exponentials of float32 lose digits or overflow, and float64 takes over.
FLOAT64_LOGITS = 600.0
BFLOAT16_LOGITS = 5.0  # Rounded to bfloat16, larger logits are off by more than 0.01, and their exponentials by 1 %.
BFLOAT16_SHAPE = 512, 64  # Views of fewer rows or columns are not faster in bfloat16.
SHORTEST = 1e-12  # Rows shorter than this have no direction, and are divided by this instead of by their length.
KEPT_BYTES = 1 << 26


@takes_tensors
def nt_xent(
    z_alpha: Tensor,
    z_beta: Tensor,
    *,
    tau: float = 0.4,
    intraview: bool = True,
    not_negatives: Tensor | None = None,
    precision: Precision = "full",
    keep_bytes: int = KEPT_BYTES,
    across_processes: bool = False,
) -> Tensor:
    r"""Compute the normalized temperature-scaled cross entropy of two views, the mean over both directions.

    From `"A Simple Framework for Contrastive Learning of Visual Representations" <https://arxiv.org/abs/2002.05709>`_.
    Row ``i`` of one view should be nearer to row ``i`` of the other than to every other row:

    .. math::
        \ell(z_i) = -\frac{z_i^\top z_i^+}{\tau} + \log\Big(
            \sum_j e^{z_i^\top z_j^{\beta} / \tau} + \sum_{j \neq i} e^{z_i^\top z_j^{\alpha} / \tau} \Big)

    One triangle of the symmetric matrix of similarities of all ``2 n`` rows is computed, tile by tile: the result is
    exact, and memory grows with ``n d``. It is differentiable once.

    Args:
        z_alpha, z_beta: Projections ``(n, d)`` of the same nodes in both views; rows are normalized here.
        intraview: Keep the second sum, the negatives from the anchor's own view (Eq. 2); COSTA's code does without.
        not_negatives: ``(2, p)`` pairs of different rows that are no negatives of each other, in either view and in
            either direction: known neighbors, say, or rows of one class.
        precision: ``full`` is that of the views. ``bfloat16`` computes similarities of differences from the mean row in
            bfloat16, for temperatures from 0.2 on. ``auto`` does so for large float32 views where it is faster.
        keep_bytes: Tiles kept from forward for backward, in bytes; others are computed twice.
    """
    _check(z_alpha, z_beta, tau, not_negatives, precision)
    if len(z_alpha) == 0 and not across_processes:
        raise InputError("A loss of no rows is none: two views of one row or more are needed.")
    given = torch.promote_types(torch.promote_types(z_alpha.dtype, z_beta.dtype), torch.float32)
    dtype = given if 1 / tau <= FLOAT32_LOGITS else torch.float64
    pairs = None if not_negatives is None or not_negatives.numel() == 0 else not_negatives
    is_half = precision == "bfloat16" or (precision == "auto" and _gains_by_bfloat16(z_alpha, z_beta, tau))
    kind = CenteredSimilarities if is_half else Similarities
    options = {"kind": kind, "intraview": intraview, "without": pairs, "keep_bytes": keep_bytes}
    with torch.autocast(z_alpha.device.type, enabled=False):
        loss: Tensor = _NTXent.apply(z_alpha, z_beta, tau, dtype, across_processes, options)  # type: ignore[no-untyped-call]
        return all_reduce_sum(loss, across_processes).to(given)


class _NTXent(torch.autograd.Function):
    r"""The part of the loss of this process's rows. With ``x = z / (|z| √τ)`` of both views, logits are ``x xᵀ``.

    .. math::
        L = \frac1n \sum_i \tfrac12 (\log R_i + \log R_{i+n}) - x_i^\top x_{i+n}, \qquad
        R_i = \sum_j e^{x_i^\top x_j}, \qquad
        \frac{\partial L}{\partial x_i} = \frac{1}{2n} \sum_j e^{x_i^\top x_j}
            \Big( \frac{1}{R_i} + \frac{1}{R_j} \Big) x_j - \frac1n x_{i \pm n}.
    """

    @staticmethod
    def forward(
        ctx: Any, z_alpha: Tensor, z_beta: Tensor, tau: float, dtype: torch.dtype, spread: bool, options: dict[str, Any]
    ) -> Tensor:
        n, d = z_alpha.shape
        x = torch.empty(2 * n, d, dtype=dtype, device=z_alpha.device)
        factor = torch.cat([_scale_rows(z_alpha, tau, x[:n]), _scale_rows(z_beta, tau, x[n:])])
        own, everyone = None, x
        if not any(ctx.needs_input_grad):
            options["keep_bytes"] = 0
        if spread:
            (alpha, first), (beta, _) = gather_rows(x[:n]), gather_rows(x[n:])
            own = slice(first, first + n), slice(len(alpha) + first, len(alpha) + first + n)
            everyone = torch.cat([alpha, beta])
            if options["without"] is not None:
                options["without"] = options["without"] + first
        kind = options.pop("kind")
        ctx.similarities = kind(everyone, own=own, **options)
        partition = all_reduce_sum(ctx.similarities.row_sums(), spread)  # R, (2 n,)
        ctx.save_for_backward(x, factor, partition)
        ctx.tau, ctx.total, ctx.dtypes = tau, len(everyone) // 2, (z_alpha.dtype, z_beta.dtype)
        positive = torch.linalg.vecdot(x[:n], x[n:]).sum()
        return (0.5 * _own(partition, own).log().sum() - positive) / ctx.total  # type: ignore[no-any-return]

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Any, ...]:
        x, factor, partition = ctx.saved_tensors
        n = len(x) // 2
        if torch.is_grad_enabled():
            raise InputError("NT-Xent is differentiable once: create_graph=True is not supported.")
        share = gradients[0] / ctx.total
        weight = 0.5 * share / partition
        grad_x = _own(ctx.similarities.weighted_products(weight), ctx.similarities.own)
        # A positive has two terms, which nearly cancel where views agree; taken together they keep their digits.
        own_weight = _own(weight, ctx.similarities.own)
        of_positive = torch.linalg.vecdot(x[:n], x[n:]).exp() * (own_weight[:n] + own_weight[n:]) - share
        grad_x[:n].addcmul_(x[n:], of_positive[:, None])
        grad_x[n:].addcmul_(x[:n], of_positive[:, None])
        # x = z · factor, and the factor is 1 / (|z| √τ): what points along the row itself does not count.
        along = torch.linalg.vecdot(x, grad_x) * ctx.tau
        has_direction = factor < 1 / (SHORTEST * ctx.tau**0.5)
        grad_x.addcmul_(x, along.where(has_direction, 0)[:, None], value=-1).mul_(factor[:, None])
        return grad_x[:n].to(ctx.dtypes[0]), grad_x[n:].to(ctx.dtypes[1]), *[None] * 4


def _own(rows: Tensor, own: Own) -> Tensor:
    return rows if own is None else torch.cat([rows[part] for part in own])


def _scale_rows(z: Tensor, tau: float, out: Tensor) -> Tensor:
    """Write rows of length ``1/√τ`` to ``out``, and return the factor of each."""
    length = torch.linalg.vector_norm(z.detach(), dim=1, dtype=out.dtype)
    if not bool(length.isfinite().all()):  # squares of 1e20 leave the range of float32
        length = torch.linalg.vector_norm(z.detach(), dim=1, dtype=torch.float64).to(out.dtype)
    factor: Tensor = 1 / (length.clamp_min(SHORTEST) * tau**0.5)
    torch.mul(z, factor[:, None], out=out)
    return factor


def _gains_by_bfloat16(z_alpha: Tensor, z_beta: Tensor, tau: float) -> bool:
    (rows, columns), (least_rows, least_columns) = z_alpha.shape, BFLOAT16_SHAPE
    is_large = rows >= least_rows and columns >= least_columns and 1 / tau <= BFLOAT16_LOGITS
    return is_large and z_alpha.dtype == z_beta.dtype == torch.float32 and has_fast_bfloat16(z_alpha.device)


def check_temperature(tau: float, precision: Precision = "full") -> None:
    """Raise unless logits up to ``1/tau`` can be had in this precision; methods call this before training."""
    if not (tau > 0 and 1 / tau <= FLOAT64_LOGITS):
        least = f"{1 / FLOAT64_LOGITS:.4f}"
        raise InputError(f"The temperature tau must be above 0 and at least {least} to stay in range, not {tau}.")
    if precision not in get_args(Precision):
        raise InputError(f"The precision of similarities is 'auto', 'full' or 'bfloat16', not {precision!r}.")
    if precision == "bfloat16" and 1 / tau > BFLOAT16_LOGITS:
        raise InputError(f"Similarities in bfloat16 are too coarse for a temperature tau below 0.2, here {tau}.")


def _check(z_alpha: Tensor, z_beta: Tensor, tau: float, pairs: Tensor | None, precision: Precision) -> None:
    check_one_shape("Two views", z_alpha, z_beta, at_least=0)
    check_temperature(tau, precision)
    if pairs is None or pairs.numel() == 0:
        return
    if pairs.dim() != 2 or len(pairs) != 2 or pairs.dtype not in (torch.int64, torch.int32):
        raise InputError(f"not_negatives are pairs of rows (2, p), not a tensor of shape {tuple(pairs.shape)}.")
    low, high = int(pairs.min()), int(pairs.max())
    if low < 0 or high >= len(z_alpha):
        raise InputError(f"not_negatives name row {low if low < 0 else high}; there are rows 0 to {len(z_alpha) - 1}.")
    if bool((pairs[0] == pairs[1]).any()):
        raise InputError("not_negatives pair a row with itself, which is its own positive.")


# Call a function, and again in backward instead of keeping what it computes.
recompute = partial(checkpoint, use_reentrant=False, preserve_rng_state=False)


@takes_tensors
def info_nce(
    anchors: Tensor,
    positives: Tensor,
    *,
    negatives: Negatives = "positives",
    positive_in_denominator: bool = True,
    tau: float = 1.0,
    of_each: bool = False,
) -> Tensor:
    r"""Draw each anchor ``a_i`` nearer to its positive ``p_i`` than to negatives, which are other rows.

    From `"Graph Contrastive Learning with Augmentations" <https://arxiv.org/abs/2010.13902>`_ (You et al., 2020).

    .. math::
        L = \frac1n \sum_i \Big( -\frac{a_i^\top p_i}{\tau} + \log \Big( e^{a_i^\top p_i / \tau}
            + \sum_{j \neq i} e^{a_i^\top n_j / \tau} \Big) \Big)

    with rows of length 1. Here one side can be a target that learns nothing; for the mean of both directions
    :func:`~sfa.losses.nt_xent` is faster. The loss is exact, and memory grows with ``n d``.

    Args:
        anchors, positives: Rows ``(n, d)`` of the same items; normalized here and divided by the temperature ``tau``.
        negatives: The ``positives`` of other anchors, or the other ``anchors``.
        positive_in_denominator: Keep the first term under the logarithm. GraphCL's code does without, below 0 too.
        of_each: Return the loss of each anchor, ``(n,)``, instead of their mean.
    """
    check_one_shape("Anchors and positives", anchors, positives, rows=len(anchors))
    if len(anchors) == 1 and not positive_in_denominator:
        raise InputError("A batch of one has no negatives, and this loss needs some: give it two or more.")
    if negatives not in get_args(Negatives):
        raise unknown_name("kind of negatives", negatives, get_args(Negatives))
    check_number("tau", tau, above=0)
    dtype = torch.promote_types(torch.promote_types(anchors.dtype, positives.dtype), torch.float32)
    with torch.autocast(anchors.device.type, enabled=False):
        a, p = _unit_rows(anchors.to(dtype)), _unit_rows(positives.to(dtype))
        others = p if negatives == "positives" else a
        losses = [
            recompute(_losses, a[rows] / tau, p[rows], others, rows.start, positive_in_denominator)
            for rows in row_chunks((len(a), len(a)))
        ]
        return torch.cat(losses) if of_each else torch.stack([some.sum() for some in losses]).sum() / len(a)


def _unit_rows(z: Tensor) -> Tensor:
    """Return rows of length one, but those of length zero, of empty graphs say, as they are."""
    length: Tensor = torch.linalg.vector_norm(z, dim=1, keepdim=True)
    return z / length.where(length > 0, 1)


def _losses(a: Tensor, p: Tensor, others: Tensor, first: int, positive_in_denominator: bool) -> Tensor:
    """Compute the losses of anchors from number ``first`` on, whose own column holds the positive or nothing."""
    positive = torch.linalg.vecdot(a, p)
    own = positive if positive_in_denominator else torch.full_like(positive, -torch.inf)
    losses: Tensor = (a @ others.mT).diagonal_scatter(own, first).logsumexp(1) - positive
    return losses
