"""BGRL: bootstrapped graph latents (Thakoor et al., 2022)."""

from __future__ import annotations

from typing import Any, ClassVar

import torch
from torch_geometric.data import Data

from sfa.graph import GCN, random_views
from sfa.graph.activations import Activation
from sfa.graph.gcn import Widths
from sfa.methods.bootstrapped import BootstrappedMethod
from sfa.methods.heads import projection_head
from sfa.ranges import Count, Share
from sfa.spectral import SpectralMap


class BGRL(BootstrappedMethod):
    """Predict, from one view, what a slowly following copy of the encoder makes of the other; no negatives.

    :class:`~sfa.methods.bootstrapped.BootstrappedMethod` says how. The target starts as a copy of the online encoder,
    where the authors' code draws it anew. Defaults are the authors' for WikiCS, their first data set.

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
        encoder = GCN(in_features, hidden, layers=layers, widths=widths, activation=activation, batch_norm=batch_norm)
        super().__init__(encoder, projection_head(hidden, prediction, "prelu"), momentum, spectral, hidden)
        self.edge_drop = edge_drop
        self.feature_drop = feature_drop

    def views(self, graph: Data, generator: torch.Generator | None) -> tuple[Data, Data]:
        return random_views(graph, self.edge_drop, self.feature_drop, generator)
