"""BGRL: bootstrapped graph latents (Thakoor et al., 2022)."""

from __future__ import annotations

from typing import Any, ClassVar

import torch
from torch import Tensor
from torch_geometric.data import Data

from sfa.graph import GCN, random_views
from sfa.graph.activations import Activation
from sfa.graph.gcn import Widths
from sfa.losses import bootstrap_latent
from sfa.methods.base import Method, Observer, roots
from sfa.methods.heads import projection_head
from sfa.methods.momentum import cosine_momentum, follow, target_of
from sfa.ranges import Count, Share
from sfa.spectral import SpectralMap


class BGRL(Method):
    r"""Predict, from one view, what a slowly following copy of the encoder makes of the other; no negatives.

    .. math::
        \mathcal{L} = \tfrac{1}{2} \big( \ell(p(\tilde H_\alpha), \tilde T_\beta) +
        \ell(p(\tilde H_\beta), \tilde T_\alpha) \big), \qquad
        \ell(q, z) = \tfrac{1}{n} \sum_i 2 - 2 \cos(q_i, z_i)

    with the online encoder's maps :math:`H`, the target encoder's :math:`T`, which are constants, and the predictor
    :math:`p`. The spectral map acts on all four. After each step the target's weights move towards the online ones,
    with a momentum that rises to 1 along a cosine; it starts as a copy of the online encoder, where the authors' code
    draws it anew. Defaults are the authors'
    for WikiCS, their first data set.

    Args:
        in_features: Number of node features.
        hidden: Width of the embeddings.
        layers: Graph convolutions of the encoder.
        widths: ``halving`` (2h → h) or ``constant`` (h → h).
        activation: Of the encoder: ``relu``, ``prelu``, ``rrelu`` or ``elu``.
        batch_norm: Batch normalisation in the encoder.
        prediction: Hidden width of the predictor.
        edge_drop: Share of edges removed in view alpha and beta.
        feature_drop: Share of feature columns masked in view alpha and beta.
        momentum: Of the target at the start of training.
        spectral: The map applied to the four feature maps while training.
    """

    spans_processes = True
    defaults: ClassVar[dict[str, Any]] = {
        "training.epochs": 10_000,
        "training.optimizer": "adamw",
        "training.lr": 5e-4,
        "training.weight_decay": 1e-5,
        "training.warmup": 1000,
        "training.cosine": True,
        "training.patience": None,
    }

    def __init__(
        self,
        in_features: int,
        *,
        hidden: Count = 256,
        layers: Count = 2,
        widths: Widths = "halving",
        activation: Activation = "prelu",
        batch_norm: bool = True,
        prediction: Count = 512,
        edge_drop: tuple[Share, Share] = (0.2, 0.3),
        feature_drop: tuple[Share, Share] = (0.2, 0.1),
        momentum: Share = 0.99,
        spectral: SpectralMap | None = None,
    ) -> None:
        super().__init__(spectral, hidden)
        self.encoder = GCN(
            in_features, hidden, layers=layers, widths=widths, activation=activation, batch_norm=batch_norm
        )
        self.target = target_of(self.encoder)
        self.predictor = projection_head(hidden, prediction, "prelu")
        self.edge_drop = edge_drop
        self.feature_drop = feature_drop
        self.momentum = momentum

    def forward(self, graph: Data, generator: torch.Generator | None = None, observe: Observer | None = None) -> Tensor:
        views = random_views(graph, self.edge_drop, self.feature_drop, generator)
        online = [self.encoder(view, generator)[: roots(graph)] for view in views]
        with torch.no_grad():
            target = [self.target(view, generator)[: roots(graph)] for view in views]
        h_alpha, h_beta, t_alpha, t_beta = self.augmented(*online, *target, generator=generator, observe=observe)
        return (self.loss(h_alpha, t_beta) + self.loss(h_beta, t_alpha)) / 2

    def loss(self, h: Tensor, t: Tensor) -> Tensor:
        """How badly the online map ``h`` of one view predicts the target's map ``t`` of the other."""
        return bootstrap_latent(self.predictor(h), t, across_processes=self.across_processes)

    def after_step(self, done: float) -> None:
        follow(self.target, self.encoder, cosine_momentum(done, self.momentum))

    def embed(self, graph: Data) -> Tensor:
        return self.encoder.embed(graph)
