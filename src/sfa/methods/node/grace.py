"""GRACE: deep graph contrastive representation learning (Zhu et al., 2020)."""

from __future__ import annotations

import torch
from torch import Tensor
from torch_geometric.data import Data

from sfa.graph import GCN, random_views
from sfa.graph.activations import Activation
from sfa.graph.gcn import Widths
from sfa.losses import nt_xent
from sfa.losses.nt_xent import Precision, check_temperature
from sfa.methods.heads import projection_head
from sfa.methods.two_views import TwoViewMethod
from sfa.ranges import Count, Positive, Share
from sfa.spectral import SpectralMap


class GRACE(TwoViewMethod):
    """Contrast each node with itself in a second view, against all other nodes of both views.

    With ``spectral=SpectralFeatureAugmentation()`` this is the paper's SFA with InfoNCE. Defaults are the authors' for
    Cora.

    Args:
        in_features: Number of node features.
        hidden: Width of the embeddings.
        layers: Graph convolutions of the encoder.
        widths: ``halving`` (2h → h) or ``constant`` (h → h).
        activation: Of the encoder: ``relu``, ``prelu``, ``rrelu`` or ``elu``.
        batch_norm: Batch normalisation in the encoder.
        projection: Hidden width of the head.
        head_activation: ``elu`` in the authors' code, ``prelu`` in the paper's text.
        edge_drop: Share of edges removed in view alpha and beta.
        feature_drop: Share of feature columns masked in view alpha and beta.
        tau: Temperature.
        intraview: Negatives from the anchor's own view too (Eq. 2).
        precision: Of the similarities in the loss: ``full``, or ``bfloat16`` where speed counts for more.
        spectral: The map applied to both feature maps while training.
    """

    spans_processes = True

    def __init__(
        self,
        in_features: int,
        *,
        hidden: Count = 128,
        layers: Count = 2,
        widths: Widths = "halving",
        activation: Activation = "relu",
        batch_norm: bool = False,
        projection: Count = 128,
        head_activation: Activation = "elu",
        edge_drop: tuple[Share, Share] = (0.2, 0.4),
        feature_drop: tuple[Share, Share] = (0.3, 0.4),
        tau: Positive = 0.4,
        intraview: bool = True,
        precision: Precision = "full",
        spectral: SpectralMap | None = None,
    ) -> None:
        check_temperature(tau, precision)
        encoder = GCN(in_features, hidden, layers=layers, widths=widths, activation=activation, batch_norm=batch_norm)
        super().__init__(encoder, projection_head(hidden, projection, head_activation), spectral, hidden)
        self.edge_drop = edge_drop
        self.feature_drop = feature_drop
        self.tau = tau
        self.intraview = intraview
        self.precision = precision

    def views(self, graph: Data, generator: torch.Generator | None) -> tuple[Data, Data]:
        return random_views(graph, self.edge_drop, self.feature_drop, generator)

    def loss(self, z_alpha: Tensor, z_beta: Tensor) -> Tensor:
        return nt_xent(
            z_alpha,
            z_beta,
            tau=self.tau,
            intraview=self.intraview,
            precision=self.precision,
            across_processes=self.across_processes,
        )
