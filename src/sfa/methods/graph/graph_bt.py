"""Barlow Twins (Zbontar et al., 2021; Bielak, Kajdanowicz and Chawla, 2022) where a row is a graph."""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor
from torch_geometric.data import Data

from sfa.graph.graph_encoders import EncoderName, make_encoder
from sfa.graph.graph_views import Rates
from sfa.levels import Level
from sfa.losses import barlow_twins
from sfa.methods.graph.projector import projector
from sfa.methods.graph.random_views import Augmentation, RandomViews
from sfa.methods.graph.settings import TU_SETTINGS
from sfa.methods.two_views import TwoViewMethod
from sfa.ranges import Count, NonNegative, Share
from sfa.spectral import SpectralMap


class GraphBT(TwoViewMethod):
    """Decorrelate the columns of the projected embeddings across two random views of every graph; no negatives.

    The loss of :class:`~sfa.methods.node.g_bt.GBT`, behind the projector of GraphCL. Nobody has published it for these
    sets: encoder and training are GraphCL's, and so are the views, both of them augmented and at a ratio of 0.2 as in
    GraphCL's semi-supervised experiments.

    Args:
        in_features: Number of node features.
        encoder: ``gin`` or ``gcn``.
        hidden: Width of a layer; embeddings are ``hidden · layers`` wide.
        layers: Of the encoder.
        augmentation: Of both views: ``random2`` to ``random4``, for each graph one of so many kinds; or one kind for
            all graphs.
        node_drop: Share of nodes that a node drop removes.
        edge_drop: Share of edges that an edge perturbation removes.
        edge_add: Share of edges that it adds.
        attribute_mask: Share of nodes whose features an attribute mask replaces by noise.
        subgraph_keep: Share of nodes that a subgraph keeps.
        off_diagonal: Weight of the redundancy term; one over the width if not given.
        spectral: The map applied to both pooled feature maps while training.
    """

    level: ClassVar[Level] = "graph"
    defaults = TU_SETTINGS
    spans_processes = True

    def __init__(
        self,
        in_features: int,
        *,
        encoder: EncoderName = "gin",
        hidden: Count = 32,
        layers: Count = 3,
        augmentation: Augmentation = "random4",
        node_drop: Share = 0.2,
        edge_drop: Share = 0.2,
        edge_add: Share = 0.0,
        attribute_mask: Share = 0.2,
        subgraph_keep: Share = 0.8,
        off_diagonal: NonNegative | None = None,
        spectral: SpectralMap | None = None,
    ) -> None:
        gnn = make_encoder(in_features, encoder=encoder, hidden=hidden, layers=layers)
        super().__init__(gnn, projector(gnn.width), spectral, gnn.width)
        rates = Rates(node_drop, edge_drop, edge_add, attribute_mask, subgraph_keep)
        self.random_view = RandomViews(augmentation, rates)
        self.off_diagonal = off_diagonal

    def views(self, graph: Data, generator: torch.Generator | None) -> tuple[Data, Data]:
        return self.random_view(graph, generator), self.random_view(graph, generator)

    def loss(self, z_alpha: Tensor, z_beta: Tensor) -> Tensor:
        return barlow_twins(z_alpha, z_beta, off_diagonal=self.off_diagonal, across_processes=self.across_processes)
