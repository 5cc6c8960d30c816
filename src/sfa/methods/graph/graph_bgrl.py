"""BGRL (Thakoor et al., 2022) where a row is a graph."""

from __future__ import annotations

from typing import ClassVar

import torch
from torch_geometric.data import Data

from sfa.graph.graph_encoders import EncoderName, make_encoder
from sfa.graph.graph_views import Rates
from sfa.levels import Level
from sfa.methods.bootstrapped import BootstrappedMethod
from sfa.methods.graph.random_views import Augmentation, RandomViews
from sfa.methods.graph.settings import TU_SETTINGS
from sfa.methods.heads import projection_head
from sfa.ranges import Count, Share
from sfa.spectral import SpectralMap


class GraphBGRL(BootstrappedMethod):
    """Predict, from one view of a graph, what a slowly following encoder makes of another; no negatives.

    :class:`~sfa.methods.bootstrapped.BootstrappedMethod` says how, here with pooled feature maps. Nobody has published
    it for these sets: the predictor and the target's momentum are BGRL's, encoder and training GraphCL's, and so are
    the views, both of them augmented and at a ratio of 0.2 as in GraphCL's semi-supervised experiments.

    Args:
        in_features: Number of node features.
        encoder: ``gin`` or ``gcn``.
        hidden: Width of a layer; embeddings are ``hidden · layers`` wide.
        layers: Of the encoder.
        prediction: Hidden width of the predictor.
        augmentation: Of both views: ``random2`` to ``random4``, for each graph one of so many kinds; or one kind for
            all graphs.
        node_drop: Share of nodes that a node drop removes.
        edge_drop: Share of edges that an edge perturbation removes.
        edge_add: Share of edges that it adds.
        attribute_mask: Share of nodes whose features an attribute mask replaces by noise.
        subgraph_keep: Share of nodes that a subgraph keeps.
        momentum: Of the target at the start of training.
        spectral: The map applied to the four pooled feature maps while training.
    """

    level: ClassVar[Level] = "graph"
    defaults = TU_SETTINGS

    def __init__(
        self,
        in_features: int,
        *,
        encoder: EncoderName = "gin",
        hidden: Count = 32,
        layers: Count = 3,
        prediction: Count = 512,
        augmentation: Augmentation = "random4",
        node_drop: Share = 0.2,
        edge_drop: Share = 0.2,
        edge_add: Share = 0.0,
        attribute_mask: Share = 0.2,
        subgraph_keep: Share = 0.8,
        momentum: Share = 0.99,
        spectral: SpectralMap | None = None,
    ) -> None:
        gnn = make_encoder(in_features, encoder=encoder, hidden=hidden, layers=layers)
        super().__init__(gnn, projection_head(gnn.width, prediction, "prelu"), momentum, spectral, gnn.width)
        rates = Rates(node_drop, edge_drop, edge_add, attribute_mask, subgraph_keep)
        self.random_view = RandomViews(augmentation, rates)

    def views(self, graph: Data, generator: torch.Generator | None) -> tuple[Data, Data]:
        return self.random_view(graph, generator), self.random_view(graph, generator)
