"""Probabilities from scores: Sinkhorn's even assignments, and projected gradient ascent on the simplex."""

import torch
from torch import Tensor

from sfa import distributed
from sfa.errors import InputError
from sfa.ranges import check_number, check_whole


@torch.no_grad()
def sinkhorn(scores: Tensor, *, epsilon: float = 0.05, iterations: int = 3, across_processes: bool = False) -> Tensor:
    r"""Assign rows to prototypes softly, near the scores and spread evenly (Cuturi, 2013; Caron et al., 2020).

    From `"Unsupervised Learning of Visual Features by Contrasting Cluster Assignments"
    <https://arxiv.org/abs/2006.09882>`_ (Caron et al., 2020).

    .. math::
        Q = \operatorname*{argmax}_{Q \in \mathcal{Q}} \ \langle Q, S \rangle
            - \epsilon \sum_{ik} Q_{ik} \log Q_{ik}, \qquad
        \mathcal{Q} = \Big\{ Q \geq 0 : \ \sum_k Q_{ik} = 1, \ \sum_i Q_{ik} = \tfrac{B}{K} \Big\},

    for ``scores`` ``S`` ``(B, K)``, which is :math:`\operatorname{diag}(a)\, e^{S / \epsilon} \operatorname{diag}(b)`.
    An iteration scales the columns to equal sums and then the rows to sums of 1, so that rows are distributions however
    few there are; SwAV stops after 3. They are finite for finite scores, in float32 at least and without gradient; one
    score that is not makes all of them NaN. With ``epsilon`` near 0 each row has one prototype.
    """
    across = across_processes and distributed.world_size() > 1
    rows = distributed.count_rows(scores) if across else len(scores)
    if scores.dim() != 2 or rows < 1 or scores.shape[1] < 1 or not scores.is_floating_point():
        shape = f"{scores.dtype} {tuple(scores.shape)} with {rows} rows in all"
        raise InputError(f"Scores are numbers (B, K) with B ≥ 1 and K ≥ 1, not {shape}.")
    check_number("epsilon", epsilon, above=0)
    check_whole("iterations", iterations, 1)
    s = scores.to(torch.promote_types(scores.dtype, torch.float32))
    # A shift of a column has no effect, as its sum is scaled next. With a maximum of 0 that sum is 1 at least.
    largest = s.amax(0, keepdim=True) if len(s) else s
    if across:
        largest = distributed.gather_rows(largest)[0].amax(0, keepdim=True)
    x = ((s - largest) / epsilon).clamp_(min=torch.finfo(s.dtype).min)
    # From here on a column sums to 1 / K or more, and a row to 1 / B, before it is scaled: nothing can vanish.
    q = (x - _column_sums(x.exp(), across).log()).softmax(1)
    for _ in range(iterations - 1):
        q /= _column_sums(q, across)
        q /= q.sum(1, keepdim=True)
    return q


def _column_sums(q: Tensor, across: bool) -> Tensor:
    own = q.sum(0, keepdim=True)
    return distributed.all_reduce_sum(own) if across else own


def project_to_simplex(v: Tensor) -> Tensor:
    r"""Return the vector of probabilities that is nearest to ``v`` ``(k,)``, exactly (Held et al., 1974).

    It is :math:`\max(v - \mu, 0)` with the one :math:`\mu` that makes the sum 1: if the ``m`` largest entries of ``v``
    stay above 0, :math:`\mu = (v_{(1)} + \dots + v_{(m)} - 1) / m`; ``m`` is the largest with :math:`v_{(m)} > \mu`.
    """
    if v.dim() != 1 or len(v) == 0 or not bool(v.isfinite().all()):
        raise InputError(f"A vector of finite numbers is needed to find the nearest probabilities, not {v.tolist()}.")
    v = v - v.max()  # a common shift moves mu alone, and entries near 0 keep their digits in the sums
    descending = v.sort(descending=True).values
    thresholds = (descending.cumsum(0) - 1) / torch.arange(1, len(v) + 1, device=v.device)
    mu = thresholds[int((descending > thresholds).sum()) - 1]
    return (v - mu).clamp_min(0)


def ascend(p: Tensor, losses: Tensor, *, gamma: float, beta: float) -> Tensor:
    r"""Take a step of projected gradient ascent on the losses ``(k,)`` of choices with probabilities ``p`` ``(k,)``.

    .. math::
        p \leftarrow \Pi_\Delta \big( p + \beta\, ( \mathcal{L} - \gamma ( p - \tfrac1k \mathbf{1} ) ) \big)

    ``gamma`` says how much uniform probabilities are preferred, and ``beta`` is the length of the step.
    """
    return project_to_simplex(p + beta * (losses - gamma * (p - 1 / len(p))))
