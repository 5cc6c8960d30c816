"""GCA: graph contrastive learning with adaptive augmentation (Zhu et al., 2021)."""

from __future__ import annotations

from typing import ClassVar

import torch
from torch_geometric.data import Data

from sfa.graph.activations import Activation
from sfa.graph.adaptive_views import CUT_OFF, adaptive_views
from sfa.graph.centrality import Centrality
from sfa.graph.centrality import resolve as resolve_centrality
from sfa.graph.gcn import Widths
from sfa.losses.nt_xent import Precision
from sfa.methods.node.grace import GRACE
from sfa.ranges import Count, Positive, Share
from sfa.spectral import SpectralMap


class GCA(GRACE):
    """GRACE with views that keep important edges and features more often than others.

    Edges between central nodes, and features of central nodes, are seldom dropped
    (:func:`~sfa.graph.adaptive_views.adaptive_views`); encoder, head and loss are those of
    :class:`~sfa.methods.node.grace.GRACE`. Defaults are the authors' for WikiCS.

    Args:
        in_features: Number of node features.
        centrality: What makes a node important: ``degree``, ``pagerank`` or ``eigenvector``.
        cut_off: The highest rate at which an edge or a feature is dropped.
        hidden: Width of the embeddings.
        layers: Graph convolutions of the encoder.
        widths: ``halving`` (2h → h) or ``constant`` (h → h).
        activation: Of the encoder: ``relu``, ``prelu``, ``rrelu`` or ``elu``.
        batch_norm: Batch normalisation in the encoder.
        projection: Hidden width of the head.
        head_activation: Of the head.
        edge_drop: Share of edges removed in view alpha and beta, on average before the cut-off.
        feature_drop: Share of feature columns masked in view alpha and beta, likewise.
        tau: Temperature.
        intraview: Negatives from the anchor's own view too.
        precision: Of the similarities in the loss: ``full``, or ``bfloat16`` where speed counts for more.
        spectral: The map applied to both feature maps while training.
    """

    defaults: ClassVar = {"training.lr": 1e-2, "training.epochs": 3000, "training.patience": None}

    def __init__(
        self,
        in_features: int,
        *,
        centrality: Centrality = "degree",
        cut_off: Share = CUT_OFF,
        hidden: Count = 256,
        layers: Count = 2,
        widths: Widths = "halving",
        activation: Activation = "prelu",
        batch_norm: bool = False,
        projection: Count = 256,
        head_activation: Activation = "elu",
        edge_drop: tuple[Share, Share] = (0.2, 0.3),
        feature_drop: tuple[Share, Share] = (0.1, 0.1),
        tau: Positive = 0.4,
        intraview: bool = True,
        precision: Precision = "full",
        spectral: SpectralMap | None = None,
    ) -> None:
        resolve_centrality(centrality)
        super().__init__(
            in_features,
            hidden=hidden,
            layers=layers,
            widths=widths,
            activation=activation,
            batch_norm=batch_norm,
            projection=projection,
            head_activation=head_activation,
            edge_drop=edge_drop,
            feature_drop=feature_drop,
            tau=tau,
            intraview=intraview,
            precision=precision,
            spectral=spectral,
        )
        self.centrality = centrality
        self.cut_off = cut_off

    def views(self, graph: Data, generator: torch.Generator | None) -> tuple[Data, Data]:
        return adaptive_views(
            graph, self.edge_drop, self.feature_drop, generator, centrality=self.centrality, cut_off=self.cut_off
        )
