"""The multiplet loss of SUGRL: distances to positives and to negatives, kept apart by a bounded margin."""

from typing import Literal, get_args

import torch
from torch import Tensor

from sfa.errors import InputError, unknown_name
from sfa.matrices import check_one_shape

Form = Literal["code", "paper"]


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
        alpha, beta: The least margin, and how far negatives may lie beyond it.
        weights: ``ω₁``, ``ω₂`` and ``ω₃``.
        form: ``code`` or ``paper``.
    """
    check_one_shape("Anchors and positives", anchor, structural, neighbour, rows=len(anchor), at_least=2)
    if shuffles.dim() != 2 or len(shuffles) < 1 or shuffles.shape[1] != len(anchor):
        raise InputError(f"Negatives are row numbers (k, {len(anchor)}) with k ≥ 1, not {tuple(shuffles.shape)}.")
    if form not in get_args(Form):
        raise unknown_name("form", form, get_args(Form))
    squared = form == "paper"
    to_structural, to_neighbor = distances(anchor, structural, squared), distances(anchor, neighbour, squared)
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
