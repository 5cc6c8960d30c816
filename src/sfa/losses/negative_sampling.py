"""Losses that tell pairs which belong together from negatives, of DGI, SIGNA, InfoGraph, GAE, DeepWalk and SUGRL."""

from typing import Any, Literal, get_args

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn.functional import embedding, logsigmoid, softplus

from sfa.distributed import all_reduce_sum, count_rows, gather_rows
from sfa.errors import InputError, unknown_name
from sfa.losses.nt_xent import recompute
from sfa.matrices import check_one_shape, row_chunks, takes_tensors, unit_rows
from sfa.products import multiply
from sfa.ranges import check_number, check_whole

Form = Literal["code", "paper"]


@takes_tensors
def jensen_shannon(positive: Tensor, negative: Tensor) -> Tensor:
    r"""Tell pairs that belong together from pairs that do not, by a discriminator's scores of any shape.

    .. math::
        L = \tfrac12 \Big( \mathbb{E}_{+}\big[ \operatorname{sp}(-s) \big]
            + \mathbb{E}_{-}\big[ \operatorname{sp}(s) \big] \Big), \qquad \operatorname{sp}(s) = \log(1 + e^s)

    With as many pairs of either kind this is the binary cross-entropy of `"Deep Graph Infomax"
    <https://arxiv.org/abs/1809.10341>`_. MVGRL and InfoGraph minimize :math:`2 L - 2 \log 2`.
    """
    if positive.numel() == 0 or negative.numel() == 0:
        counts = f"{positive.numel()} positive and {negative.numel()} negative ones"
        raise InputError(f"Scores of pairs of both kinds are needed, not {counts}.")
    return -0.5 * (logsigmoid(positive).mean() + logsigmoid(-negative).mean())


@takes_tensors
def normalized_jensen_shannon(anchors: Tensor, positives: Tensor, *, across_processes: bool = False) -> Tensor:
    r"""Draw each anchor to its positive, and away from all other anchors, by their cosines.

    From `"Single-View Graph Contrastive Learning with Soft Neighborhood Awareness" <https://arxiv.org/abs/2412.09261>`_.

    .. math::
        L = -\frac1n \sum_i \Big( \log p(a_i, b_i) + \frac{1}{n - 1} \sum_{j \neq i} \log \big( 1 - p(a_i, a_j) \big)
            \Big), \qquad p(a, b) = \frac{1 + \cos(a, b)}{2}

    for anchors :math:`a_i` and positives :math:`b_i`, both ``(n, d)`` with ``n`` ≥ 2: twice :func:`jensen_shannon` of
    scores :math:`2 \operatorname{artanh} \cos(a, b)`. Memory grows with ``n d``, as in :func:`~sfa.losses.info_nce`.
    It is differentiable once.
    """
    n = count_rows(anchors, across_processes)
    check_one_shape("Anchors and positives", anchors, positives, rows=n, at_least=2)
    dtype = torch.promote_types(torch.promote_types(anchors.dtype, positives.dtype), torch.float32)
    with torch.autocast(anchors.device.type, enabled=False):
        a, b = unit_rows(anchors.to(dtype)), unit_rows(positives.to(dtype))
        attraction = torch.log(_share(torch.linalg.vecdot(a, b))).sum()
        repulsion: Tensor = _Repulsion.apply(a, across_processes)  # type: ignore[no-untyped-call]
        return all_reduce_sum(-(attraction + repulsion / (n - 1)) / n, across_processes)


def _share(cosine: Tensor) -> Tensor:
    """Compute ``p``, whose logarithm stays finite for opposite rows as in the authors' code."""
    return ((1 + cosine) / 2).clamp_min(0) + 1e-6


class _Repulsion(torch.autograd.Function):
    r"""Sum :math:`\log(1 - p(a_i, a_j))` over own rows ``i`` of length one and all other rows ``j``.

    The matrix is symmetric, so that own rows alone give their whole gradient, twice that of their sums. Forward
    computes it while it has the similarities of some rows, and nothing is computed twice.
    """

    @staticmethod
    def forward(ctx: Any, a: Tensor, across_processes: bool) -> Tensor:
        every, first = gather_rows(a) if across_processes else (a, 0)
        total, gradient = a.new_zeros(()), torch.empty_like(a) if ctx.needs_input_grad[0] else None
        for rows in row_chunks((len(a), len(every))):
            cosine = multiply(a[rows], every.mT)  # (r, n)
            share = _share(-cosine)
            logs = torch.log(share)
            total = total + (logs.sum() - logs.diagonal(first + rows.start).sum())
            if gradient is not None:
                slope = share.reciprocal_().neg_().mul_(cosine <= 1)  # rounding may lead beyond 1, where p is constant
                slope.diagonal(first + rows.start).zero_()
                gradient[rows] = multiply(slope, every)
        ctx.save_for_backward(gradient)
        return total

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None]:
        return grads[0] * ctx.saved_tensors[0], None


@takes_tensors
def local_global_jensen_shannon(local: Tensor, summaries: Tensor, owner: Tensor) -> Tensor:
    r"""Tell the parts of a whole from the parts of all others by inner products.

    From `"InfoGraph: Unsupervised and Semi-supervised Graph-Level Representation Learning via Mutual Information
    Maximization" <https://arxiv.org/abs/1908.01000>`_ (Sun et al., 2020, Eq. 4).

    .. math::
        L = \tfrac12 \Big( \frac1n \sum_i \operatorname{sp}\big( -l_i^\top s_{o(i)} \big)
            + \frac{1}{n (b - 1)} \sum_i \sum_{g \neq o(i)} \operatorname{sp}\big( l_i^\top s_g \big) \Big)

    for parts ``local`` ``(n, d)``, the nodes, wholes ``summaries`` ``(b, d)``, the graphs, and ``owner`` ``(n,)``, the
    whole of each part: :func:`jensen_shannon` of all pairs. Memory grows with ``(n + b) d``.
    """
    n, b = len(local), len(summaries)
    if local.dim() != 2 or local.shape[1:] != summaries.shape[1:] or owner.shape != (n,) or n < 1 or b < 2:
        shapes = f"{tuple(local.shape)}, {tuple(summaries.shape)} and {tuple(owner.shape)}"
        raise InputError(f"Parts (n ≥ 1, d), wholes (b ≥ 2, d) and owners (n,) are needed, not {shapes}.")
    dtype = torch.promote_types(torch.promote_types(local.dtype, summaries.dtype), torch.float32)
    with torch.autocast(local.device.type, enabled=False):
        local, summaries = local.to(dtype), summaries.to(dtype)
        sums = [recompute(_sums_of_losses, local[rows], summaries, owner[rows]) for rows in row_chunks((n, b))]
        positive, negative = torch.stack(sums).sum(0)
    return 0.5 * (positive / n + negative / (n * (b - 1)))  # type: ignore[no-any-return]


def _sums_of_losses(local: Tensor, summaries: Tensor, owner: Tensor) -> Tensor:
    """Return ``(2,)``: of the pairs of some parts that belong together, and of those that do not."""
    scores, own = local @ summaries.mT, owner[:, None]
    positive = logsigmoid(scores.gather(1, own))
    negative = logsigmoid(-scores.scatter(1, own, -torch.inf))  # one's own whole is no negative, and costs nothing
    return -torch.stack([positive.sum(), negative.sum()])


@takes_tensors
def reconstruction(z: Tensor, edges: Tensor, non_edges: Tensor) -> Tensor:
    r"""Compute the cross-entropy of the inner-product decoder :math:`p(A_{ij} = 1) = \sigma(z_i^\top z_j)`.

    From `"Variational Graph Auto-Encoders" <https://arxiv.org/abs/1611.07308>`_ (Kipf and Welling, 2016).

    .. math::
        \tfrac{1}{2} \Big( \operatorname*{mean}_{A_{ij} = 1} -\log \sigma(z_i^\top z_j)
            + \operatorname*{mean}_{A_{ij} = 0} -\log \sigma(-z_i^\top z_j) \Big)

    of latent variables ``z`` ``(n, d)``, all ``edges`` ``(2, m)`` and a uniform sample of the ``non_edges`` ``(2, k)``.
    """
    if z.dim() != 2 or edges.shape != (2, edges.shape[-1]) or edges.shape[1] == 0 or non_edges.shape[0] != 2:
        shapes = f"{tuple(z.shape)}, {tuple(edges.shape)} and {tuple(non_edges.shape)}"
        raise InputError(f"Latent variables (n, d), edges (2, m ≥ 1) and non-edges (2, k) are needed, not {shapes}.")
    of_edges, of_non_edges = ((embedding(i, z) * embedding(j, z)).sum(1) for i, j in (edges, non_edges))
    return (softplus(-of_edges).mean() + softplus(of_non_edges).sum() / max(1, non_edges.shape[1])) / 2


@takes_tensors
def kl_to_standard_normal(mu: Tensor, log_sigma: Tensor) -> Tensor:
    r"""Compute the mean over nodes of :math:`\mathrm{KL}(\mathcal{N}(\mu_i, \sigma_i^2) \| \mathcal{N}(0, I))`.

    .. math:: \frac{1}{n} \sum_i \tfrac{1}{2} \sum_j \big( \mu_{ij}^2 + \sigma_{ij}^2 - 1 - 2 \log \sigma_{ij} \big)
    """
    return ((mu.square() + (2 * log_sigma).exp() - 1 - 2 * log_sigma) / 2).sum(1).mean()


@takes_tensors
def skip_gram(centres: Tensor, contexts: Tensor, noise: Tensor, *, window: int, negatives: float = 5.0) -> Tensor:
    r"""Tell the nodes near a node on a walk from nodes drawn at random (Mikolov et al., 2013).

    .. math::
        -\frac{1}{|P|} \sum_{(i, j) \in P} \Big( \log \sigma(u_j^\top v_i)
            + K\, \mathbb{E}_{x \sim p_n} \log \sigma(-u_x^\top v_i) \Big), \qquad
        P = \{(i, j) : 0 < |i - j| \le w\},

    where ``i`` and ``j`` are positions on the same walk. Memory is linear in the positions.

    Args:
        centres, contexts: ``v`` and ``u`` of the same positions, ``(walks, length, d)`` with ``length`` ≥ 2.
        noise: ``u`` of nodes drawn at random for each walk, ``(walks, k, d)`` (Ji et al., 2019).
    """
    check_whole("window", window, 1)
    check_number("negatives", negatives)
    fits = centres.shape == contexts.shape and centres.dim() == noise.dim() == 3
    fits = fits and (centres.shape[0], centres.shape[2]) == (noise.shape[0], noise.shape[2])
    if not fits or min(centres.shape[0], centres.shape[1] - 1, noise.shape[1]) < 1:
        shapes = f"{tuple(centres.shape)}, {tuple(contexts.shape)} and {tuple(noise.shape)}"
        needed = "Centers and contexts of shape (walks, length ≥ 2, d) and noise (walks, k ≥ 1, d) are needed"
        raise InputError(f"{needed}, not {shapes}.")
    walks, length, _ = centres.shape
    position = torch.arange(length, device=centres.device)
    partners = position.clamp_max(window) + position.flip(0).clamp_max(window)

    attraction = centres.new_zeros(())
    block = 2 * window
    for start in range(0, length, block):
        inner, outer = slice(start, start + block), slice(max(0, start - window), start + block + window)
        distance = (position[inner, None] - position[outer]).abs()
        near = (distance > 0) & (distance <= window)
        scores = centres[:, inner] @ contexts[:, outer].mT
        attraction = attraction + (softplus(-scores) * near).sum()
    repulsion = softplus(centres @ noise.mT).mean(2) @ partners.to(centres.dtype)
    return (attraction + negatives * repulsion.sum()) / (walks * partners.sum())


@takes_tensors
def multiplet(
    anchor: Tensor,
    structural: Tensor,
    neighbour: Tensor,
    shuffles: Tensor,
    *,
    alpha: float = 0.8,
    beta: float = 0.2,
    weights: tuple[float, float, float] = (10.0, 10.0, 1.0),
    form: Form = "code",
) -> Tensor:
    r"""Keep both positives nearer than the negatives by a margin ``α``, the structural one by no more than ``α + β``.

    From "Simple Unsupervised Graph Representation Learning" (Mo et al., AAAI 2022).

    .. math::
        \mathcal{L} &= \omega_1 \mathcal{L}_S + \omega_2 \mathcal{L}_N + \omega_3 \mathcal{L}_U \\
        \mathcal{L}_S &= \tfrac{1}{k} \sum_j \big\{ d(h, h^+)^2 - d(h, h_j^-)^2 + \alpha \big\}_+ \\
        \mathcal{L}_N &= \tfrac{1}{k} \sum_j \big\{ d(h, \tilde h^+)^2 - d(h, h_j^-)^2 + \alpha \big\}_+ \\
        \mathcal{L}_U &= -\tfrac{1}{k} \sum_j \big\{ d(h, h^+)^2 - d(h, h_j^-)^2 + \alpha + \beta \big\}_-

    as the ``paper`` prints them, averaged over the nodes. The authors' ``code``, for which their weights and margins
    were found, differs: distances are not squared; the first two terms are summed over the ``k`` negatives, and the
    third over the nodes; and the third does not differentiate the distance to the positive.

    Args:
        anchor: Embeddings ``h`` ``(n, d)`` of the nodes themselves.
        structural: ``h⁺``, the same nodes after propagation.
        neighbour: ``h̃⁺``, means over some of their neighbors.
        shuffles: ``(k, n)``; row ``j`` says which anchor is the ``j``-th negative of each node.
    """
    check_one_shape("Anchors and positives", anchor, structural, neighbour, rows=len(anchor), at_least=2)
    if shuffles.dim() != 2 or len(shuffles) < 1 or shuffles.shape[1] != len(anchor):
        raise InputError(f"Negatives are row numbers (k, {len(anchor)}) with k ≥ 1, not {tuple(shuffles.shape)}.")
    if form not in get_args(Form):
        raise unknown_name("form", form, get_args(Form))
    squared = form == "paper"
    to_structural, to_neighbor = (distances(anchor, positive, squared) for positive in (structural, neighbour))
    to_negatives = torch.stack([distances(anchor, anchor[rows], squared) for rows in shuffles])  # (k, n)
    structural_loss = (to_structural - to_negatives + alpha).clamp_min(0).mean()
    neighbor_loss = (to_neighbor - to_negatives + alpha).clamp_min(0).mean()
    bounded = to_structural if squared else to_structural.detach()
    upper_loss = -(bounded - to_negatives + (alpha + beta)).clamp_max(0).mean()
    k, n = (1, 1) if squared else shuffles.shape
    return k * (weights[0] * structural_loss + weights[1] * neighbor_loss) + n * weights[2] * upper_loss


def distances(rows: Tensor, others: Tensor, squared: bool) -> Tensor:
    """Compute distances ``(n,)`` of rows ``(n, d)``, as they are or squared; those of 0 have a gradient of 0."""
    difference = rows - others
    return difference.square().sum(1) if squared else torch.linalg.vector_norm(difference, dim=1)
