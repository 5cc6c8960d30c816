"""CCA-SSG: from canonical correlation analysis to self-supervised graph neural networks (Zhang et al., 2021)."""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from sfa.graph import GCN, random_views
from sfa.graph.activations import Activation
from sfa.graph.gcn import Widths
from sfa.losses import cca
from sfa.methods.two_views import TwoViewMethod
from sfa.ranges import Count, NonNegative, Share
from sfa.spectral import SpectralMap


class CCASSG(TwoViewMethod):
    """Make the standardised embeddings of two views agree, and the columns of each uncorrelated.

    No negatives and no head; the encoder's last layer has no activation. Defaults are the authors' for Cora.

    Args:
        in_features: Number of node features.
        hidden: Width of the embeddings.
        layers: Graph convolutions of the encoder.
        widths: ``constant`` (h → h) or ``halving`` (2h → h).
        activation: Of all layers of the encoder but the last: ``relu``, ``prelu``, ``rrelu`` or ``elu``.
        edge_drop: Share of edges removed in view alpha and beta.
        feature_drop: Share of feature columns masked in view alpha and beta.
        decorrelation: Weight of the decorrelation term; twice that of the authors' code, see :func:`sfa.losses.cca`.
        spectral: The map applied to both feature maps while training.
    """

    defaults: ClassVar = {
        "training.lr": 1e-3,
        "training.epochs": 50,
        "training.weight_decay": 0.0,
        "training.patience": None,
    }
    spans_processes = True

    def __init__(
        self,
        in_features: int,
        *,
        hidden: Count = 512,
        layers: Count = 2,
        widths: Widths = "constant",
        activation: Activation = "relu",
        edge_drop: tuple[Share, Share] = (0.4, 0.4),
        feature_drop: tuple[Share, Share] = (0.1, 0.1),
        decorrelation: NonNegative = 2e-3,
        spectral: SpectralMap | None = None,
    ) -> None:
        encoder = GCN(in_features, hidden, layers=layers, widths=widths, activation=activation, activate_last=False)
        super().__init__(encoder, nn.Identity(), spectral, hidden)
        self.edge_drop = edge_drop
        self.feature_drop = feature_drop
        self.decorrelation = decorrelation

    def views(self, graph: Data, generator: torch.Generator | None) -> tuple[Data, Data]:
        return random_views(graph, self.edge_drop, self.feature_drop, generator)

    def loss(self, z_alpha: Tensor, z_beta: Tensor) -> Tensor:
        return cca(z_alpha, z_beta, decorrelation=self.decorrelation, across_processes=self.across_processes)
