"""COSTA: covariance-preserving feature augmentation for graph contrastive learning (Zhang et al., 2022)."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

import torch
from annotated_types import Interval
from torch import Tensor
from torch_geometric.data import Data

from sfa.errors import InputError
from sfa.graph import GCN
from sfa.graph.activations import Activation
from sfa.graph.gcn import Widths
from sfa.graph.views import random_view
from sfa.losses import nt_xent
from sfa.losses.nt_xent import Precision, check_temperature
from sfa.methods.base import Method, Observer, roots
from sfa.methods.heads import projection_head
from sfa.ranges import Count, Positive, Share
from sfa.spectral import Costa, SpectralMap


class COSTA(Method):
    r"""Contrast random combinations of nodes that keep the covariance of the features on average.

    .. math::
        \widetilde H_\alpha = P H_\alpha, \quad \widetilde H_\beta = P H_\beta, \qquad
        P \in \mathbb{R}^{rn \times n}, \quad P_{ij} \sim \mathcal{N}(0, \tfrac{1}{rn}),

    a sketch (:func:`sfa.spectral.costa`) with one ``P`` for both views, drawn anew at each step; then a head, and
    InfoNCE between the views, whose rows are no nodes but the same combinations of nodes.

    ``multi`` encodes two views of the graph. ``single`` encodes one, which halves the encoder's work: the authors'
    figure has its sketch contrasted with itself, and their code leaves it out. It is read here as InfoNCE with both
    arguments the same: every combination is its own positive, and all that is learnt comes from pushing different
    ones apart.

    The spectral map comes before the sketch. Defaults are the authors' for Cora; their code masks the features of
    both views at the first view's rate.

    Args:
        in_features: Number of node features.
        views: ``multi`` or ``single``.
        ratio: Combinations for each node, above 0 and at most 1.
        hidden: Width of the embeddings.
        layers: Graph convolutions of the encoder.
        widths: ``constant`` (h → h) or ``halving`` (2h → h).
        activation: Of the encoder: ``relu``, ``prelu``, ``rrelu`` or ``elu``.
        batch_norm: Batch normalisation in the encoder.
        projection: Hidden width of the head.
        head_activation: Of the head.
        edge_drop: Share of edges removed in view alpha and beta; a single view is alpha.
        feature_drop: Share of feature columns masked in view alpha and beta.
        tau: Temperature.
        precision: Of the similarities in the loss: ``full``, or ``bfloat16`` where speed counts for more.
        spectral: The map applied to the feature maps while training.
    """

    defaults: ClassVar = {
        "training.lr": 1e-4,
        "training.epochs": 700,
        "training.weight_decay": 0.0,
        "training.patience": None,
    }

    def __init__(
        self,
        in_features: int,
        *,
        views: Literal["multi", "single"] = "multi",
        ratio: Annotated[float, Interval(gt=0, le=1)] = 0.5,
        hidden: Count = 256,
        layers: Count = 2,
        widths: Widths = "constant",
        activation: Activation = "relu",
        batch_norm: bool = False,
        projection: Count = 256,
        head_activation: Activation = "elu",
        edge_drop: tuple[Share, Share] = (0.2, 0.4),
        feature_drop: tuple[Share, Share] = (0.3, 0.3),
        tau: Positive = 0.4,
        precision: Precision = "full",
        spectral: SpectralMap | None = None,
    ) -> None:
        check_temperature(tau, precision)
        if views not in ("multi", "single"):
            raise InputError(f"The views of COSTA are 'multi' or 'single', not {views!r}.")
        super().__init__(spectral, hidden)
        self.encoder = GCN(
            in_features, hidden, layers=layers, widths=widths, activation=activation, batch_norm=batch_norm
        )
        self.sketch = Costa(ratio)
        self.head = projection_head(hidden, projection, head_activation)
        self.drops = list(zip(edge_drop, feature_drop, strict=True))[: 1 if views == "single" else 2]
        self.tau = tau
        self.precision = precision

    def views(self, graph: Data, generator: torch.Generator | None) -> list[Data]:
        """The corrupted views: alpha, and beta if there are two."""
        return [random_view(graph, edges, features, generator) for edges, features in self.drops]

    def forward(self, graph: Data, generator: torch.Generator | None = None, observe: Observer | None = None) -> Tensor:
        maps = [self.encoder(view, generator)[: roots(graph)] for view in self.views(graph, generator)]
        augmented = self.augmented(*maps, generator=generator, observe=observe, views=len(maps))
        z = [self.head(h) for h in self.sketch.forward_all(*augmented, generator=generator)]
        return self.loss(z[0], z[-1])

    def loss(self, z_alpha: Tensor, z_beta: Tensor) -> Tensor:
        """InfoNCE with negatives from the other view alone."""
        return nt_xent(z_alpha, z_beta, tau=self.tau, intraview=False, precision=self.precision)

    def embeddings(self, graph: Data) -> Tensor:
        embeddings: Tensor = self.encoder.embed(graph)
        return embeddings
