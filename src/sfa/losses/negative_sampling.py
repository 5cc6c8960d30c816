"""Logistic losses that tell pairs which belong together from negatives, of DGI, InfoGraph, GAE and DeepWalk."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import embedding, logsigmoid, softplus

from sfa.errors import InputError
from sfa.losses.info_nce import recompute
from sfa.matrices import row_chunks
from sfa.ranges import check_number, check_whole


def jensen_shannon(positive: Tensor, negative: Tensor) -> Tensor:
    r"""Tell pairs that belong together from pairs that do not, by a discriminator's scores of them.

    .. math::
        L = \tfrac12 \Big( \mathbb{E}_{+}\big[ \operatorname{sp}(-s) \big]
            + \mathbb{E}_{-}\big[ \operatorname{sp}(s) \big] \Big), \qquad \operatorname{sp}(s) = \log(1 + e^s)

    With :math:`\sigma(s)` for the probability that a pair belongs together this is the binary cross-entropy of `DGI
    <https://arxiv.org/abs/1809.10341>`_, where there are as many pairs of either kind. MVGRL and InfoGraph minimize
    :math:`2 L - 2 \log 2`, the estimate of Nowozin, Cseke and Tomioka (2016) with its sign changed: the same loss but
    for the scale. Scores that say nothing (all 0) cost :math:`\log 2`; scores of any size keep the gradient finite.

    Args:
        positive: Scores of pairs that belong together, of any shape.
        negative: Scores of pairs that do not.
    """
    if positive.numel() == 0 or negative.numel() == 0:
        raise InputError(
            f"Scores of pairs of both kinds are needed, not {positive.numel()} positive and {negative.numel()} "
            "negative ones."
        )
    return -0.5 * (logsigmoid(positive).mean() + logsigmoid(-negative).mean())


def local_global_jensen_shannon(local: Tensor, summaries: Tensor, owner: Tensor) -> Tensor:
    r"""Tell the parts of a whole from the parts of all others by inner products.

    From `"InfoGraph" <https://arxiv.org/abs/1908.01000>`_ (Sun et al., 2020, Eq. 4):

    .. math::
        L = \tfrac12 \Big( \frac1n \sum_i \operatorname{sp}\big( -l_i^\top s_{o(i)} \big)
            + \frac{1}{n (b - 1)} \sum_i \sum_{g \neq o(i)} \operatorname{sp}\big( l_i^\top s_g \big) \Big)

    which is :func:`jensen_shannon` of the ``n`` pairs of a part with its own whole and of the ``n (b - 1)`` others.
    Scores are computed some rows at a time, and again on the way back: memory grows with ``(n + b) d``.

    Args:
        local: Parts ``(n, d)``: the nodes of a batch of graphs.
        summaries: Wholes ``(b, d)``: the graphs, two or more.
        owner: ``(n,)`` int64, the whole that each part belongs to; a whole may have no part.
    """
    n, b = len(local), len(summaries)
    if local.dim() != 2 or local.shape[1:] != summaries.shape[1:] or owner.shape != (n,) or n < 1 or b < 2:
        raise InputError(
            "Parts (n ≥ 1, d), wholes (b ≥ 2, d) and the whole of each part (n,) are needed, not "
            f"{tuple(local.shape)}, {tuple(summaries.shape)} and {tuple(owner.shape)}."
        )
    dtype = torch.promote_types(torch.promote_types(local.dtype, summaries.dtype), torch.float32)
    with torch.autocast(local.device.type, enabled=False):
        local, summaries = local.to(dtype), summaries.to(dtype)
        chunks = row_chunks((n, b))
        sums = [recompute(_sums_of_losses, local[rows], summaries, owner[rows]) for rows in chunks]
        positive, negative = torch.stack(sums).sum(0)
    loss: Tensor = 0.5 * (positive / n + negative / (n * (b - 1)))
    return loss


def _sums_of_losses(local: Tensor, summaries: Tensor, owner: Tensor) -> Tensor:
    """Return ``(2,)``: of the pairs of some parts that belong together, and of those that do not."""
    scores, own = local @ summaries.mT, owner[:, None]
    positive = logsigmoid(scores.gather(1, own))
    negative = logsigmoid(-scores.scatter(1, own, -torch.inf))  # one's own whole is no negative, and costs nothing
    return -torch.stack([positive.sum(), negative.sum()])


def reconstruction(z: Tensor, edges: Tensor, non_edges: Tensor) -> Tensor:
    r"""Compute the cross-entropy of the inner-product decoder :math:`p(A_{ij} = 1) = \sigma(z_i^\top z_j)`.

    From `"Variational Graph Auto-Encoders" <https://arxiv.org/abs/1611.07308>`_ (Kipf and Welling, 2016).

    .. math::
        \tfrac{1}{2} \Big( \operatorname*{mean}_{A_{ij} = 1} -\log \sigma(z_i^\top z_j)
            + \operatorname*{mean}_{A_{ij} = 0} -\log \sigma(-z_i^\top z_j) \Big)

    This is the authors' weighted cross-entropy over all :math:`n^2` entries, in which the ones weigh together as much
    as the zeros, but for its scale: unbiased with all ones and a uniform sample of the zeros.

    Args:
        z: ``(n, d)`` latent variables.
        edges, non_edges: Pairs ``(i, j)`` with :math:`A_{ij} = 1`, ``(2, m)``, and with :math:`A_{ij} = 0`, ``(2, k)``.
    """
    if z.dim() != 2 or edges.shape != (2, edges.shape[-1]) or edges.shape[1] == 0 or non_edges.shape[0] != 2:
        raise InputError(
            "Latent variables (n, d), edges (2, m ≥ 1) and non-edges (2, k) are needed, not "
            f"{tuple(z.shape)}, {tuple(edges.shape)} and {tuple(non_edges.shape)}."
        )
    of_edges, of_non_edges = ((embedding(i, z) * embedding(j, z)).sum(1) for i, j in (edges, non_edges))
    ones = softplus(-of_edges).mean()
    zeros = softplus(of_non_edges).sum() / max(1, non_edges.shape[1])
    return (ones + zeros) / 2


def kl_to_standard_normal(mu: Tensor, log_sigma: Tensor) -> Tensor:
    r"""Compute the mean over nodes of :math:`\mathrm{KL}(\mathcal{N}(\mu_i, \sigma_i^2) \| \mathcal{N}(0, I))`.

    .. math::
        \frac{1}{n} \sum_i \tfrac{1}{2} \sum_j \big( \mu_{ij}^2 + \sigma_{ij}^2 - 1 - 2 \log \sigma_{ij} \big)

    of means ``mu`` and logarithms of standard deviations ``log_sigma``, both ``(n, d)``.
    """
    divergence = (mu.square() + (2 * log_sigma).exp() - 1 - 2 * log_sigma) / 2
    return divergence.sum(1).mean()


def skip_gram(centres: Tensor, contexts: Tensor, noise: Tensor, *, window: int, negatives: float = 5.0) -> Tensor:
    r"""Tell the nodes near a node on a walk from nodes drawn at random (Mikolov et al., 2013).

    .. math::
        -\frac{1}{|P|} \sum_{(i, j) \in P} \Big( \log \sigma(u_j^\top v_i)
            + K\, \mathbb{E}_{x \sim p_n} \log \sigma(-u_x^\top v_i) \Big), \qquad
        P = \{(i, j) : 0 < |i - j| \le w\},

    where ``i`` and ``j`` are positions on the same walk, ``v`` the center and ``u`` the context embedding of the node
    there. All positions of a walk share the nodes drawn from :math:`p_n` (Ji et al., 2019), which makes products of
    matrices of it. Memory is linear in the positions: windows are compared in blocks.

    Args:
        centres, contexts: ``v`` and ``u`` of the same positions, ``(walks, length, d)`` with ``length`` ≥ 2.
        noise: ``u`` of nodes drawn at random, ``(walks, k, d)``.
        window, negatives: ``w`` and ``K``.
    """
    check_whole("window", window, 1)
    check_number("negatives", negatives)
    fits = centres.shape == contexts.shape and centres.dim() == noise.dim() == 3
    fits = fits and (centres.shape[0], centres.shape[2]) == (noise.shape[0], noise.shape[2])
    if not fits or min(centres.shape[0], centres.shape[1] - 1, noise.shape[1]) < 1:
        raise InputError(
            "Centres and contexts of one shape (walks, length ≥ 2, d) and noise (walks, k ≥ 1, d) are needed, not "
            f"{tuple(centres.shape)}, {tuple(contexts.shape)} and {tuple(noise.shape)}."
        )
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
