"""Two views, an online encoder with a predictor, and a target that follows: BGRL, of nodes and of graphs, and BYOL."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from sfa.graph import GCN
from sfa.graph.graph_encoder import GraphEncoder
from sfa.image.image_encoder import ImageEncoder
from sfa.losses import bootstrap_latent
from sfa.methods.base import Method, Observer, roots
from sfa.methods.momentum import cosine_momentum, follow, target_of
from sfa.methods.precision import full_precision
from sfa.spectral import SpectralMap


class BootstrappedMethod(Method):
    r"""Predict, from one view, what a slowly following copy of the encoder makes of the other; no negatives.

    .. math::
        \mathcal{L} = \tfrac{1}{2} \big( \ell(p(g(\tilde H_\alpha)), \bar g(\tilde T_\beta)) +
        \ell(p(g(\tilde H_\beta)), \bar g(\tilde T_\alpha)) \big), \qquad
        \ell(q, z) = \tfrac{1}{n} \sum_i 2 - 2 \cos(q_i, z_i)

    with the online encoder's maps :math:`H`, the target encoder's :math:`T`, which are constants, the predictor
    :math:`p`, and the projectors :math:`g` and :math:`\bar g`, online and target, which BGRL does without. The spectral
    map acts on all four maps. After each step the target's weights move towards the online ones, with a momentum that
    rises to 1 along a cosine (Grill et al., 2020; Thakoor et al., 2022). A published method is a subclass that builds
    the parts and says what its views are.

    Args:
        encoder: The online one, of nodes, graphs or images; the target starts as a copy.
        predictor: Rows of a feature map, or of a projection, to rows of the same width.
        momentum: Of the target at the start of training.
        spectral: The map applied to the four feature maps while training.
        width: Of the feature maps.
        projector: Rows of a feature map to rows of another width; the target has a copy that follows too. None if not
            given.
    """

    spans_processes = True

    def __init__(
        self,
        encoder: GCN | GraphEncoder | ImageEncoder,
        predictor: nn.Module,
        momentum: float,
        spectral: SpectralMap | None,
        width: int,
        *,
        projector: nn.Module | None = None,
    ) -> None:
        super().__init__(spectral, width)
        self.encoder = encoder
        self.target = target_of(encoder)
        self.projector = nn.Identity() if projector is None else projector
        self.target_projector = target_of(self.projector)
        self.predictor = predictor
        self.momentum = momentum

    @abstractmethod
    def views(self, graph: Data, generator: torch.Generator | None) -> tuple[Any, Any]:
        """The two corrupted views, alpha and beta, in the form that the encoder takes."""

    def forward(self, graph: Data, generator: torch.Generator | None = None, observe: Observer | None = None) -> Tensor:
        views = self.views(graph, generator)
        online = [self.encoder(view, generator)[: roots(graph)] for view in views]
        with torch.no_grad():
            target = [self.target(view, generator)[: roots(graph)] for view in views]
        h_alpha, h_beta, t_alpha, t_beta = self.augmented(*online, *target, generator=generator, observe=observe)
        return (self.loss(h_alpha, t_beta) + self.loss(h_beta, t_alpha)) / 2

    def loss(self, h: Tensor, t: Tensor) -> Tensor:
        """How badly the online map ``h`` of one view predicts the target's map ``t`` of the other."""
        with torch.no_grad():
            z = self.target_projector(t)
        with full_precision(self.predictor(self.projector(h)), z) as (q, z):
            return bootstrap_latent(q, z, across_processes=self.across_processes)

    def after_step(self, done: float) -> None:
        momentum = cosine_momentum(done, self.momentum)
        follow(self.target, self.encoder, momentum)
        follow(self.target_projector, self.projector, momentum)

    def embeddings(self, graph: Data) -> Tensor:
        return self.encoder.embed(graph)
