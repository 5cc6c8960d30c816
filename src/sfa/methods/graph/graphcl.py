"""GraphCL: graph contrastive learning with augmentations (You et al., 2020)."""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor
from torch_geometric.data import Data

from sfa.graph.graph_encoders import EncoderName, make_encoder
from sfa.graph.graph_views import Rates
from sfa.levels import Level
from sfa.losses import info_nce
from sfa.methods.graph.projector import projector
from sfa.methods.graph.random_views import Augmentation, RandomViews
from sfa.methods.graph.settings import TU_SETTINGS
from sfa.methods.two_views import TwoViewMethod
from sfa.ranges import Count, Positive, Share, check_number
from sfa.spectral import SpectralMap


class GraphCL(TwoViewMethod):
    r"""Contrast each graph with an augmented view of itself, against the views of the other graphs of the batch.

    .. math::
        \mathcal{L} = -\frac1b \sum_i \log \frac{ e^{\cos(z_i, z_i^+) / \tau} }
            { \sum_{j \neq i} e^{\cos(z_i, z_j^+) / \tau} }, \qquad z = g(\tilde h)

    with the pooled map of the graphs :math:`h`, that of their views :math:`h^+`, the spectral map on both, and the
    projector :math:`g`. This is the authors' code for the sets of TU Dortmund: view alpha is the graphs as they are,
    the loss has one direction, and the positive is not in the denominator. The paper's text augments both views. A
    subgraph is the paper's, grown node by node (:func:`sfa.graph.growth.grown`); their code takes it from the
    neighbours of the first node alone.

    Each graph is augmented by one kind, drawn for it alone; the authors' rule of thumb for molecules and proteins is
    ``random2``. Rates are those of their code, other defaults too.

    Args:
        in_features: Number of node features.
        encoder: ``gin`` or ``gcn``.
        hidden: Width of a layer; embeddings are ``hidden · layers`` wide.
        layers: Of the encoder.
        augmentation: ``random2`` (a node drop or a subgraph), ``random3`` (or an edge perturbation) or ``random4`` (or
            an attribute mask), each as likely; or one of ``identity``, ``node-drop``, ``edge-perturb``,
            ``attribute-mask`` and ``subgraph`` for all graphs.
        node_drop: Share of nodes that a node drop removes.
        edge_drop: Share of edges that an edge perturbation removes.
        edge_add: Share of edges that it adds.
        attribute_mask: Share of nodes whose features an attribute mask replaces by noise.
        subgraph_keep: Share of nodes that a subgraph keeps.
        both_views: Augment view alpha too.
        tau: Temperature.
        spectral: The map applied to both pooled feature maps while training.
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
        augmentation: Augmentation = "random4",
        node_drop: Share = 0.1,
        edge_drop: Share = 0.1,
        edge_add: Share = 0.0,
        attribute_mask: Share = 0.1,
        subgraph_keep: Share = 0.2,
        both_views: bool = False,
        tau: Positive = 0.2,
        spectral: SpectralMap | None = None,
    ) -> None:
        check_number("tau", tau, above=0)
        gnn = make_encoder(in_features, encoder=encoder, hidden=hidden, layers=layers)
        super().__init__(gnn, projector(gnn.width), spectral, gnn.width)
        rates = Rates(node_drop, edge_drop, edge_add, attribute_mask, subgraph_keep)
        self.random_view = RandomViews(augmentation, rates)
        self.both_views = both_views
        self.tau = tau

    def views(self, graph: Data, generator: torch.Generator | None) -> tuple[Data, Data]:
        alpha = self.random_view(graph, generator) if self.both_views else graph
        return alpha, self.random_view(graph, generator)

    def loss(self, z_alpha: Tensor, z_beta: Tensor) -> Tensor:
        return info_nce(z_alpha, z_beta, positive_in_denominator=False, tau=self.tau)
