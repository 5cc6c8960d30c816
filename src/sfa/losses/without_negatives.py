"""Losses without negatives: Barlow Twins and CCA-SSG decorrelate columns; BYOL, BGRL and SwAV predict a view."""

import math

import torch
from torch import Tensor

from sfa import distributed
from sfa.errors import InputError
from sfa.matrices import check_one_shape, takes_tensors
from sfa.ranges import check_number, check_whole


@takes_tensors
def barlow_twins(
    z_alpha: Tensor,
    z_beta: Tensor,
    *,
    off_diagonal: float | None = None,
    eps: float = 1e-15,
    across_processes: bool = False,
) -> Tensor:
    r"""Make the cross-correlation matrix of two views the identity.

    From `"Barlow Twins: Self-Supervised Learning via Redundancy Reduction" <https://arxiv.org/abs/2103.03230>`_, in the
    form of `"Graph Barlow Twins" <https://arxiv.org/abs/2106.02466>`_, where ``λ`` is ``1/d`` if not given.

    .. math::
        \sum_i (1 - C_{ii})^2 + \lambda \sum_i \sum_{j \neq i} C_{ij}^2, \qquad
        C = \tfrac{1}{n} \hat Z_\alpha^\top \hat Z_\beta,

    with every column of ``Z`` ``(n, d)`` standardized over the batch, across processes in float32 at least. ``eps`` is
    added to the standard deviations, so that a constant column stays finite.
    """
    alpha, beta, n = _standardize(z_alpha, z_beta, eps, across_processes)
    correlation = distributed.all_reduce_sum(alpha.mT @ beta, across_processes) / n  # (d, d)
    diagonal = correlation.diagonal()
    invariance = (1 - diagonal).square().sum()
    redundancy = correlation.square().sum() - diagonal.square().sum()
    return invariance + (1 / len(diagonal) if off_diagonal is None else off_diagonal) * redundancy


@takes_tensors
def cca(
    z_alpha: Tensor, z_beta: Tensor, *, decorrelation: float = 2e-3, eps: float = 1e-15, across_processes: bool = False
) -> Tensor:
    r"""Make two views agree while the columns of each stay uncorrelated.

    From `"From Canonical Correlation Analysis to Self-supervised Graph Neural Networks"
    <https://arxiv.org/abs/2106.12484>`_ (CCA-SSG, Eq. 5).

    .. math::
        \| \tilde Z_\alpha - \tilde Z_\beta \|_F^2 + \lambda \big(
            \| \tilde Z_\alpha^\top \tilde Z_\alpha - I \|_F^2 + \| \tilde Z_\beta^\top \tilde Z_\beta - I \|_F^2 \big),
        \qquad \tilde Z = \frac{Z - \mu}{\sigma \sqrt n},

    with mean :math:`\mu` and unbiased deviation :math:`\sigma` of every column. The first term of the authors' code is
    half of this one: their ``λ`` of 1e-3 is a ``decorrelation`` of 2e-3. The rest is as in :func:`barlow_twins`.
    """
    alpha, beta, n = _standardize(z_alpha, z_beta, eps, across_processes)
    invariance = distributed.all_reduce_sum((alpha - beta).square().sum(), across_processes) / n
    identity = torch.eye(alpha.shape[1], dtype=alpha.dtype, device=alpha.device)
    correlations = [distributed.all_reduce_sum(z.mT @ z, across_processes) / n for z in (alpha, beta)]
    return invariance + decorrelation * sum((c - identity).square().sum() for c in correlations)


def _standardize(z_alpha: Tensor, z_beta: Tensor, eps: float, across_processes: bool) -> tuple[Tensor, Tensor, int]:
    """Give the columns of two views mean 0 and unbiased deviation 1 over the batch, and count its rows."""
    spread = across_processes and distributed.world_size() > 1
    check_one_shape("Two views", z_alpha, z_beta, rows=2 if spread else len(z_alpha), at_least=2)
    n = distributed.count_rows(z_alpha) if spread else len(z_alpha)
    if n < 2:
        raise InputError(f"Two views with n ≥ 2 rows on all processes together are needed, not {n}.")
    if not spread:
        # The deviation is that of the centered column itself: of a constant column only rounding remains, and a
        # deviation computed apart from it could be 0 where that is not.
        alpha, beta = (z - z.mean(0) for z in (z_alpha, z_beta))
        of_alpha, of_beta = (torch.linalg.vector_norm(z, dim=0) / math.sqrt(n - 1) for z in (alpha, beta))
        return alpha / (of_alpha + eps), beta / (of_beta + eps), n
    both = torch.cat([z_alpha, z_beta], dim=1)
    both = both.to(torch.promote_types(both.dtype, torch.float32))
    centered = both - distributed.all_reduce_sum(both.sum(0)) / n
    squares = distributed.all_reduce_sum(centered.square().sum(0))
    # The root of 0 has no gradient; a column that never changes has none either.
    deviation = torch.where(squares > 0, squares, 1).sqrt() * (squares > 0) / math.sqrt(n - 1)
    alpha, beta = (centered / (deviation + eps)).chunk(2, dim=1)
    return alpha, beta, n


@takes_tensors
def bootstrap_latent(q: Tensor, z: Tensor, *, across_processes: bool = False) -> Tensor:
    r"""Turn each prediction ``q`` towards the target's embedding ``z`` of the same node in the other view.

    From `"Bootstrap Your Own Latent" <https://arxiv.org/abs/2006.07733>`_ (BYOL) and, without the 2, `"Large-Scale
    Representation Learning on Graphs via Bootstrapping" <https://arxiv.org/abs/2102.06514>`_ (BGRL).

    .. math:: \frac{1}{n} \sum_i \Big( 2 - 2\, \frac{q_i^\top z_i}{\lVert q_i \rVert \lVert z_i \rVert} \Big),

    the squared distance of two directions; the cosine of a row of zeros counts as 0. Add it with the views exchanged.
    """
    n = distributed.count_rows(q, across_processes)
    check_one_shape("Predictions and targets", q, z, rows=n)
    cosines = (_directions(q) * _directions(z)).sum()
    return 2 - 2 * distributed.all_reduce_sum(cosines, across_processes) / n


@takes_tensors
def scattering(z: Tensor) -> Tensor:
    r"""Keep the directions of embeddings ``(n, d)`` away from their mean.

    From "Exploitation of a Latent Mechanism in Graph Contrastive Learning: Representation Scattering" (SGRL).

    .. math:: -\frac{1}{n} \sum_i \lVert u_i - c \rVert^2, \qquad
        u_i = \frac{z_i}{\lVert z_i \rVert}, \quad c = \frac{1}{n} \sum_i u_i

    It is 0 if all rows have one direction, and -1 at best, if their directions cancel.
    """
    check_one_shape("Embeddings", z, rows=len(z), at_least=1)
    u = _directions(z)
    return -(u - u.mean(0)).square().sum() / len(z)


def _directions(rows: Tensor) -> Tensor:
    """Return rows of length one; rows of length zero as they are, with a gradient that is finite."""
    # Scaled by its largest entry first: squares of float32 numbers below 1e-23 underflow to zero.
    largest = rows.detach().abs().amax(1, keepdim=True)
    rows = rows / largest.where(largest > 0, 1)
    length: Tensor = torch.linalg.vector_norm(rows, dim=1, keepdim=True)
    return rows / length.where(length > 0, 1)


@takes_tensors
def swapped_prediction(
    scores_alpha: Tensor,
    scores_beta: Tensor,
    q_alpha: Tensor,
    q_beta: Tensor,
    *,
    tau: float = 0.1,
    across_processes: bool = False,
) -> Tensor:
    r"""Predict from each view which prototypes the other is assigned to.

    From `"Unsupervised Learning of Visual Features by Contrasting Cluster Assignments"
    <https://arxiv.org/abs/2006.09882>`_ (SwAV, Caron et al., 2020).

    .. math::
        \mathcal{L} = -\frac{1}{2B} \sum_i \sum_k \big( q^\beta_{ik} \log p^\alpha_{ik} +
            q^\alpha_{ik} \log p^\beta_{ik} \big), \qquad
        p_{ik} = \frac{e^{s_{ik} / \tau}}{\sum_l e^{s_{il} / \tau}}

    for scores ``s`` ``(B, K)`` of each row with each prototype, and assignments ``q`` ``(B, K)`` (:func:`sinkhorn`).
    """
    n = distributed.count_rows(scores_alpha, across_processes)
    tables = scores_alpha, scores_beta, q_alpha, q_beta
    check_one_shape("Scores and assignments of both views", *tables, rows=n, dims="B, K")
    check_number("tau", tau, above=0)
    total = _cross_entropy(scores_alpha, q_beta, tau) + _cross_entropy(scores_beta, q_alpha, tau)
    return distributed.all_reduce_sum(total, across_processes) / (2 * n)


def _cross_entropy(scores: Tensor, q: Tensor, tau: float) -> Tensor:
    """Sum over rows; half precision is widened to float32, in which it stays under autocast too."""
    wide = torch.promote_types(scores.dtype, torch.float32)
    return -(q * (scores.to(wide) / tau).log_softmax(1)).sum()


@torch.no_grad()
@takes_tensors
def sinkhorn(scores: Tensor, *, epsilon: float = 0.05, iterations: int = 3, across_processes: bool = False) -> Tensor:
    r"""Assign rows to prototypes softly, near the scores and spread evenly (Cuturi, 2013; Caron et al., 2020).

    .. math::
        Q = \operatorname*{argmax}_{Q \in \mathcal{Q}} \ \langle Q, S \rangle
            - \epsilon \sum_{ik} Q_{ik} \log Q_{ik}, \qquad
        \mathcal{Q} = \Big\{ Q \geq 0 : \ \sum_k Q_{ik} = 1, \ \sum_i Q_{ik} = \tfrac{B}{K} \Big\},

    for ``scores`` ``S`` ``(B, K)``, which is :math:`\operatorname{diag}(a)\, e^{S / \epsilon} \operatorname{diag}(b)`.
    An iteration scales the columns to equal sums and then the rows to sums of 1; SwAV stops after 3. The assignments
    are in float32 at least and without gradient. With ``epsilon`` near 0 each row has one prototype.
    """
    rows = distributed.count_rows(scores, across_processes)
    if scores.dim() != 2 or rows < 1 or scores.shape[1] < 1 or not scores.is_floating_point():
        shape = f"{scores.dtype} {tuple(scores.shape)} with {rows} rows in all"
        raise InputError(f"Scores are numbers (B, K) with B ≥ 1 and K ≥ 1, not {shape}.")
    check_number("epsilon", epsilon, above=0)
    check_whole("iterations", iterations, 1)
    s = scores.to(torch.promote_types(scores.dtype, torch.float32))
    # A shift of a column has no effect, as its sum is scaled next. With a maximum of 0 that sum is 1 at least.
    largest = s.amax(0, keepdim=True) if len(s) else s
    if across_processes:
        largest = distributed.gather_rows(largest)[0].amax(0, keepdim=True)
    x = ((s - largest) / epsilon).clamp_(min=torch.finfo(s.dtype).min)
    # From here on a column sums to 1 / K or more, and a row to 1 / B, before it is scaled: nothing can vanish.
    q = (x - distributed.all_reduce_sum(x.exp().sum(0, keepdim=True), across_processes).log()).softmax(1)
    for _ in range(iterations - 1):
        q /= distributed.all_reduce_sum(q.sum(0, keepdim=True), across_processes)
        q /= q.sum(1, keepdim=True)
    return q
