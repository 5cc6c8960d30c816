"""MERIT: multi-scale contrastive Siamese networks for graph representation learning (Jin et al., 2021)."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

import torch
from annotated_types import Interval
from torch import Tensor, nn
from torch_geometric.data import Data

from sfa.batch_norm import BatchNorm
from sfa.graph import GCN, random_views
from sfa.graph.activations import Activation
from sfa.graph.diffusion import personalised_pagerank
from sfa.losses import info_nce, nt_xent
from sfa.methods.base import Method, Observer, roots
from sfa.methods.momentum import follow, target_of
from sfa.ranges import Count, Positive, Share
from sfa.spectral import SpectralMap


class MERIT(Method):
    r"""Contrast a node's two views with each other, and each with what a slowly following network makes of the other.

    View alpha lacks edges, view beta is the graph's diffusion, and both lack features. With the predictions
    :math:`P = q(p(\tilde H))` of the online network, the projections :math:`Z` of the target network, and cosines in
    InfoNCE without a temperature, the loss is the mean over both directions of

    .. math::
        \mathcal{L}_\alpha = \beta \big( \ell_\text{inter}(P_\alpha, P_\beta) + \ell_\text{intra}(P_\alpha, P_\beta)
            \big) + (1 - \beta)\, \ell_\text{inter}(P_\alpha, Z_\beta),

    where negatives are the other rows of the second view (inter) or of the first (intra); the authors' code takes both
    in one sum. The spectral map acts on the encoders' four maps :math:`H`, before the heads. The embedding is the sum
    of what the online encoder makes of the graph and of its diffusion, as in the authors' code. Defaults are theirs for
    Cora, on the whole graph where they crop 2,000 nodes; of a sampled batch, the diffusion is that of its subgraph.
    Edges are removed only, where the authors remove half of the share and add as many at random.

    Args:
        in_features: Number of node features.
        hidden: Width of the embeddings.
        layers: Graph convolutions of the encoder, all of the same width.
        activation: Of the encoder: ``relu``, ``prelu``, ``rrelu`` or ``elu``.
        head_hidden: Hidden width of projector and predictor.
        head_width: Width of what they give.
        edge_drop: Share of edges removed in view alpha.
        feature_drop: Share of feature columns masked in view alpha and beta.
        alpha: Of the personalised PageRank in view beta: the probability of stopping.
        tolerance: Up to which entries the diffusion is exact; smaller ones are left out.
        top_k: At most so many entries of each of its rows.
        beta: Weight of the contrast of views; that of networks has the rest.
        momentum: Share of itself that the target network keeps at each step.
        spectral: The map applied to the four feature maps while training.
    """

    defaults: ClassVar[dict[str, Any]] = {
        "training.epochs": 600,
        "training.lr": 3e-4,
        "training.weight_decay": 0.0,
        "training.patience": None,
    }

    def __init__(
        self,
        in_features: int,
        *,
        hidden: Count = 512,
        layers: Count = 1,
        activation: Activation = "prelu",
        head_hidden: Count = 4096,
        head_width: Count = 512,
        edge_drop: Share = 0.2,
        feature_drop: tuple[Share, Share] = (0.5, 0.5),
        alpha: Annotated[float, Interval(gt=0, le=1)] = 0.05,
        tolerance: Positive = 1e-4,
        top_k: Count | None = None,
        beta: Share = 0.5,
        momentum: Share = 0.8,
        spectral: SpectralMap | None = None,
    ) -> None:
        super().__init__(spectral, hidden)
        self.encoder = GCN(in_features, hidden, layers=layers, widths="constant", activation=activation)
        self.projector = head(hidden, head_hidden, head_width)
        self.predictor = head(head_width, head_hidden, head_width)
        self.target_encoder = target_of(self.encoder)
        self.target_projector = target_of(self.projector)
        self.edge_drop = edge_drop
        self.feature_drop = feature_drop
        self.alpha = alpha
        self.tolerance = tolerance
        self.top_k = top_k
        self.beta = beta
        self.momentum = momentum

    def views(self, graph: Data, generator: torch.Generator | None) -> tuple[Data, Data]:
        alpha, beta = random_views(graph, (self.edge_drop, 0.0), self.feature_drop, generator)
        beta.propagation = self.diffusion(graph)
        return alpha, beta

    def diffusion(self, graph: Data) -> Tensor:
        return personalised_pagerank(graph, alpha=self.alpha, tolerance=self.tolerance, top_k=self.top_k)

    def forward(self, graph: Data, generator: torch.Generator | None = None, observe: Observer | None = None) -> Tensor:
        views = self.views(graph, generator)
        online = [self.encoder(view, generator)[: roots(graph)] for view in views]
        with torch.no_grad():
            target = [self.target_encoder(view, generator)[: roots(graph)] for view in views]
        h_alpha, h_beta, t_alpha, t_beta = self.augmented(*online, *target, generator=generator, observe=observe)
        p_alpha, p_beta = (self.predictor(self.projector(h)) for h in (h_alpha, h_beta))
        with torch.no_grad():
            z_alpha, z_beta = (self.target_projector(t) for t in (t_alpha, t_beta))
        return self.beta * cross_view(p_alpha, p_beta) + (1 - self.beta) * cross_network(
            p_alpha, p_beta, z_alpha, z_beta
        )

    def after_step(self, done: float) -> None:
        follow(self.target_encoder, self.encoder, self.momentum)
        follow(self.target_projector, self.projector, self.momentum)

    def embeddings(self, graph: Data) -> Tensor:
        diffused = Data(x=graph.x, edge_index=graph.edge_index, propagation=self.diffusion(graph))
        return self.encoder.embed(graph) + self.encoder.embed(diffused)


def head(width: int, hidden: int, out: int) -> nn.Sequential:
    """Projector or predictor: a two-layer MLP ``width → hidden → out`` with batch normalisation inside."""
    return nn.Sequential(nn.Linear(width, hidden), BatchNorm(hidden), nn.PReLU(), nn.Linear(hidden, out))


def cross_view(p_alpha: Tensor, p_beta: Tensor) -> Tensor:
    """The contrast of views, mean over both directions: inter- and intra-view InfoNCE."""
    intra = info_nce(p_alpha, p_beta, negatives="anchors") + info_nce(p_beta, p_alpha, negatives="anchors")
    return nt_xent(p_alpha, p_beta, tau=1.0, intraview=False) + intra / 2


def cross_network(p_alpha: Tensor, p_beta: Tensor, z_alpha: Tensor, z_beta: Tensor) -> Tensor:
    """The contrast of networks, mean over both directions: predictions of one view, the target's of the other."""
    return (info_nce(p_alpha, z_beta) + info_nce(p_beta, z_alpha)) / 2
