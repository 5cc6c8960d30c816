"""SUGRL: simple unsupervised graph representation learning (Mo et al., 2022)."""

from __future__ import annotations

from typing import Any, ClassVar

import torch
from torch import Tensor
from torch_geometric.data import Data

from sfa.graph.dropout import dropout
from sfa.graph.gcn import CHUNK
from sfa.graph.mlp import MLP
from sfa.graph.pattern import pattern_of
from sfa.graph.products import some_rows
from sfa.graph.propagation import propagation_of
from sfa.losses import multiplet
from sfa.losses.margin import Form
from sfa.methods.base import Method, Observer, roots
from sfa.ranges import Count, NonNegative, Share
from sfa.spectral import SpectralMap


class SUGRL(Method):
    r"""Draw a node's own embedding to that of its surroundings, away from other nodes': no views, no discriminator.

    .. math::
        H = \mathrm{MLP}(X), \qquad H^+ = \hat D^{-1/2} (A + I) \hat D^{-1/2} H, \qquad
        \tilde h_i^+ = \tfrac{1}{m} \sum_{j=1}^{m} h_{s_{ij}}

    are anchors, structural and neighbour positives, where :math:`s_{ij}` is drawn from node ``i`` and its neighbours;
    negatives are the anchors in random order. Their distances are in the loss :func:`~sfa.losses.multiplet`. The
    embeddings are :math:`H^+`, as in the authors' code. Defaults are the authors' for Cora.

    Args:
        in_features: Number of node features.
        hidden: Width of the embeddings.
        layers: Linear layers of the MLP.
        inner: Width of those before the last.
        dropout: Rate at which features are dropped.
        structural_dropout: Rate at which anchors are dropped before they are propagated.
        neighbours: Draws ``m`` of a neighbour positive.
        negatives: Random orders.
        alpha: Margin by which positives are nearer than negatives.
        beta: How much farther negatives may lie.
        weights: Of the structural, the neighbour and the upper-bound loss.
        form: Of the loss: that of the authors' ``code``, to which their weights belong, or as the ``paper`` prints it.
        spectral: The map applied to anchors and positives while training; negatives are augmented anchors.
    """

    defaults: ClassVar[dict[str, Any]] = {
        "training.epochs": 500,
        "training.lr": 5e-3,
        "training.weight_decay": 5e-5,
        "training.patience": None,
    }

    def __init__(
        self,
        in_features: int,
        *,
        hidden: Count = 128,
        layers: Count = 2,
        inner: Count = 512,
        dropout: Share = 0.3,
        structural_dropout: Share = 0.2,
        neighbours: Count = 5,
        negatives: Count = 4,
        alpha: NonNegative = 0.8,
        beta: NonNegative = 0.2,
        weights: tuple[NonNegative, NonNegative, NonNegative] = (10.0, 10.0, 1.0),
        form: Form = "code",
        spectral: SpectralMap | None = None,
    ) -> None:
        super().__init__(spectral, hidden)
        self.mlp = MLP(in_features, hidden, inner=inner, layers=layers)
        self.dropout = dropout
        self.structural_dropout = structural_dropout
        self.neighbours = neighbours
        self.negatives = negatives
        self.alpha = alpha
        self.beta = beta
        self.weights = weights
        self.form = form

    def forward(self, graph: Data, generator: torch.Generator | None = None, observe: Observer | None = None) -> Tensor:
        count = roots(graph)
        h = self.mlp(self._dropped(graph.x, self.dropout, generator))
        structural = propagation_of(graph, h.dtype) @ self._dropped(h, self.structural_dropout, generator)
        neighbour = sampled_means(h, graph, count, self.neighbours, generator)
        h, structural, neighbour = self.augmented(
            h[:count], structural[:count], neighbour, generator=generator, observe=observe
        )
        orders = shuffles(self.negatives, len(h), h.device, generator)
        return multiplet(
            h,
            structural,
            neighbour,
            orders,
            alpha=self.alpha,
            beta=self.beta,
            weights=self.weights,
            form=self.form,
        )

    def _dropped(self, x: Tensor, rate: float, generator: torch.Generator | None) -> Tensor:
        return dropout(x, rate, generator) if self.training else x

    @torch.no_grad()
    def embeddings(self, graph: Data) -> Tensor:
        # Nothing that the MLP does depends on the mode: what is dropped is dropped above.
        starts = range(0, len(graph.x), CHUNK)
        h = torch.cat([self.mlp(some_rows(graph.x, start, min(start + CHUNK, len(graph.x)))) for start in starts])
        return propagation_of(graph, h.dtype) @ h


def sampled_means(h: Tensor, graph: Data, count: int, draws: int, generator: torch.Generator | None) -> Tensor:
    """Means ``(count, d)`` of so many rows of ``h``, each drawn from a node and its neighbours, with replacement.

    A node without neighbours has itself. Of a weighted graph every neighbour is as likely.
    """
    pattern = pattern_of(graph.edge_index, graph.num_nodes)
    start, stop = pattern.rowptr[:count], pattern.rowptr[1 : count + 1]
    bits = torch.randint(2**63 - 1, (draws, count), generator=generator, device=h.device)
    drawn = pattern.col[start + bits % (stop - start)]
    return torch.stack([h[rows] for rows in drawn]).mean(0)


def shuffles(count: int, n: int, device: torch.device, generator: torch.Generator | None) -> Tensor:
    """``(count, n)``: the numbers below ``n`` in so many random orders."""
    return torch.stack([torch.randperm(n, generator=generator, device=device) for _ in range(count)])
