"""The skip-gram loss with negative sampling (Mikolov et al., 2013), over the walks of DeepWalk and node2vec."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import softplus

from sfa.errors import InputError
from sfa.ranges import check_number, check_whole


def skip_gram(centres: Tensor, contexts: Tensor, noise: Tensor, *, window: int, negatives: float = 5.0) -> Tensor:
    r"""Tell the nodes near a node on a walk from nodes drawn at random.

    .. math::
        -\frac{1}{|P|} \sum_{(i, j) \in P} \Big( \log \sigma(u_j^\top v_i)
            + K\, \mathbb{E}_{x \sim p_n} \log \sigma(-u_x^\top v_i) \Big), \qquad
        P = \{(i, j) : 0 < |i - j| \le w\},

    where ``i`` and ``j`` are positions on the same walk, ``v`` the centre and ``u`` the context embedding of the node
    there. The expectation is the mean over nodes drawn from :math:`p_n`, which all positions of a walk share (Ji et
    al., 2019): in expectation the loss of ``K`` own ones a pair, by products of matrices. Memory is
    linear in the positions: windows are compared in blocks, never as a list of pairs nor as all pairs of a walk.

    Args:
        centres: ``v``, ``(walks, length, d)`` with ``length`` ≥ 2.
        contexts: ``u`` of the same positions, ``(walks, length, d)``.
        noise: ``u`` of nodes drawn at random, ``(walks, k, d)``.
        window: ``w``.
        negatives: ``K``.
    """
    check_whole("window", window, 1)
    check_number("negatives", negatives)
    _check_shapes(centres, contexts, noise)
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


def _check_shapes(centres: Tensor, contexts: Tensor, noise: Tensor) -> None:
    fits = centres.shape == contexts.shape and centres.dim() == noise.dim() == 3
    fits = fits and (centres.shape[0], centres.shape[2]) == (noise.shape[0], noise.shape[2])
    if not fits or min(centres.shape[0], centres.shape[1] - 1, noise.shape[1]) < 1:
        raise InputError(
            "Centres and contexts of one shape (walks, length ≥ 2, d) and noise (walks, k ≥ 1, d) are needed, not "
            f"{tuple(centres.shape)}, {tuple(contexts.shape)} and {tuple(noise.shape)}."
        )
