"""Sinkhorn's iterations: assignments of rows to prototypes that use every prototype alike."""

from __future__ import annotations

import torch
from torch import Tensor

from sfa import distributed
from sfa.errors import InputError
from sfa.ranges import check_number, check_whole


@torch.no_grad()
def sinkhorn(scores: Tensor, *, epsilon: float = 0.05, iterations: int = 3, across_processes: bool = False) -> Tensor:
    r"""Soft assignments near the scores, spread evenly over the prototypes (Cuturi, 2013; Caron et al., 2020).

    .. math::
        Q = \operatorname*{argmax}_{Q \in \mathcal{Q}} \ \langle Q, S \rangle
            - \epsilon \sum_{ik} Q_{ik} \log Q_{ik}, \qquad
        \mathcal{Q} = \Big\{ Q \geq 0 : \ \sum_k Q_{ik} = 1, \ \sum_i Q_{ik} = \tfrac{B}{K} \Big\},

    which is :math:`\operatorname{diag}(a)\, e^{S / \epsilon} \operatorname{diag}(b)`. An iteration scales the columns
    to equal sums and then the rows to sums of 1, so that rows are distributions however few iterations there are.

    Args:
        scores: ``S``, ``(B, K)``, of each row with each prototype.
        epsilon: How soft the assignments are; near 0 each row has one prototype.
        iterations: So many; SwAV stops after 3.
        across_processes: The rows of all processes are one batch (:mod:`sfa.distributed`); some may hold none.

    Returns:
        ``(B, K)`` without gradient, in float32 or, of float64, in float64; of finite scores finite, however large. A
        score that is NaN or ∞ makes all of them NaN, which the loss then shows.
    """
    across = across_processes and distributed.world_size() > 1
    _check(scores, epsilon, iterations, across)
    s = scores.to(torch.promote_types(scores.dtype, torch.float32))
    # What a column is shifted by has no effect, as its sum is scaled next. With a maximum of 0 that sum is 1 at least.
    x = ((s - _column_maxima(s, across)) / epsilon).clamp_(min=torch.finfo(s.dtype).min)
    # The scores enter by exponents alone. From then on a column sums to 1 / K or more, and a row to 1 / B, before it is
    # scaled: nothing can vanish, and plain quotients do.
    q = (x - _column_sums(x.exp(), across).log()).softmax(1)
    for _ in range(iterations - 1):
        q /= _column_sums(q, across)
        q /= q.sum(1, keepdim=True)
    return q


def _column_maxima(s: Tensor, across: bool) -> Tensor:
    """``(1, K)``; of no rows, none."""
    own = s.amax(0, keepdim=True) if len(s) else s
    return distributed.gather_rows(own)[0].amax(0, keepdim=True) if across else own


def _column_sums(q: Tensor, across: bool) -> Tensor:
    """``(1, K)``."""
    own = q.sum(0, keepdim=True)
    return distributed.all_reduce_sum(own) if across else own


def _check(scores: Tensor, epsilon: float, iterations: int, across: bool) -> None:
    rows = distributed.count_rows(scores) if across else len(scores)
    if scores.dim() != 2 or rows < 1 or scores.shape[1] < 1 or not scores.is_floating_point():
        raise InputError(
            f"Scores are numbers (B, K) with B ≥ 1 and K ≥ 1, not {scores.dtype} {tuple(scores.shape)} "
            f"with {rows} rows in all."
        )
    check_number("epsilon", epsilon, above=0)
    check_whole("iterations", iterations, 1)
