"""G-BT: Graph Barlow Twins (Bielak, Kajdanowicz and Chawla, 2022)."""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from sfa.graph import GCN, random_views
from sfa.graph.activations import Activation
from sfa.graph.gcn import Widths
from sfa.losses import barlow_twins
from sfa.methods.two_views import TwoViewMethod
from sfa.ranges import Count, NonNegative, Share
from sfa.spectral import SpectralMap


class GBT(TwoViewMethod):
    """Decorrelate the embedding's columns across two views; no negatives and no head.

    With ``spectral=SpectralFeatureAugmentation()`` this is the paper's SFA with the Barlow Twins loss, which then acts
    directly on the encoder's output.

    Args:
        in_features: Number of node features.
        hidden: Width of the embeddings.
        layers: Graph convolutions of the encoder.
        widths: ``halving`` (2h → h) or ``constant`` (h → h).
        activation: Of the encoder: ``relu``, ``prelu``, ``rrelu`` or ``elu``.
        batch_norm: Batch normalisation in the encoder.
        edge_drop: Share of edges removed in view alpha and beta.
        feature_drop: Share of feature columns masked in view alpha and beta.
        off_diagonal: Weight of the redundancy term; one over the width if not given.
        spectral: The map applied to both feature maps while training.
    """

    defaults: ClassVar = {
        "training.optimizer": "adamw",
        "training.epochs": 1000,
        "training.warmup": 100,
        "training.cosine": True,
        "training.patience": None,
    }
    spans_processes = True

    def __init__(
        self,
        in_features: int,
        *,
        hidden: Count = 256,
        layers: Count = 2,
        widths: Widths = "halving",
        activation: Activation = "prelu",
        batch_norm: bool = True,
        edge_drop: tuple[Share, Share] = (0.2, 0.2),
        feature_drop: tuple[Share, Share] = (0.1, 0.1),
        off_diagonal: NonNegative | None = None,
        spectral: SpectralMap | None = None,
    ) -> None:
        encoder = GCN(in_features, hidden, layers=layers, widths=widths, activation=activation, batch_norm=batch_norm)
        super().__init__(encoder, nn.Identity(), spectral, hidden)
        self.edge_drop = edge_drop
        self.feature_drop = feature_drop
        self.off_diagonal = off_diagonal

    def views(self, graph: Data, generator: torch.Generator | None) -> tuple[Data, Data]:
        return random_views(graph, self.edge_drop, self.feature_drop, generator)

    def loss(self, z_alpha: Tensor, z_beta: Tensor) -> Tensor:
        return barlow_twins(z_alpha, z_beta, off_diagonal=self.off_diagonal, across_processes=self.across_processes)
