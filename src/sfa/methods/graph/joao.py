"""JOAO: graph contrastive learning automated (You et al., 2021)."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from sfa.errors import TrainingError
from sfa.graph.graph_encoders import EncoderName, make_encoder
from sfa.graph.graph_views import AUGMENTATIONS, IDENTITY, Rates, augment, draw_choices
from sfa.levels import Level, num_items
from sfa.losses import info_nce
from sfa.methods.base import Method, Observer
from sfa.methods.graph.kept_buffers import kept_buffers
from sfa.methods.graph.projector import projector
from sfa.methods.graph.settings import TU_SETTINGS
from sfa.methods.graph.simplex import project_to_simplex
from sfa.ranges import Count, NonNegative, Positive, Share, check_number
from sfa.spectral import SpectralMap

EVERY = 5
"""One batch in so many is looked at to learn the probabilities: the authors take a fifth of them, and the first."""


class JOAO(Method):
    r"""GraphCL that learns which augmentations to draw: the weights minimise its loss, the probabilities maximise it.

    .. math::
        \min_\theta \ \mathcal{L}(\theta, p), \qquad
        p = \operatorname*{argmax}_{p' \in \Delta} \ \sum_k p'_k\, \mathcal{L}_k(\theta)
            - \tfrac{\gamma}{2} \lVert p' - \tfrac15 \mathbf{1} \rVert^2

    with :math:`\mathcal{L}_k` the loss of :class:`~sfa.methods.graph.graphcl.GraphCL` when all graphs are augmented by
    kind ``k`` of the five :data:`~sfa.graph.graph_views.AUGMENTATIONS`. After each epoch the probabilities take a step
    of projected gradient ascent,

    .. math::
        p \leftarrow \Pi_\Delta \big( p + \beta\, ( \mathcal{L} - \gamma ( p - \tfrac15 \mathbf{1} ) ) \big),

    with the losses as they are in training, the spectral map included, over every fifth batch of the epoch; looking at
    them trains nothing. As in the authors' code for the sets of TU Dortmund, view alpha is the graphs as they are, the
    probabilities are uniform at first, and the rates are 0.2; subgraphs are those of
    :class:`~sfa.methods.graph.graphcl.GraphCL`. They tune ``gamma`` among 0.01, 0.1 and 1.

    Args:
        in_features: Number of node features.
        encoder: ``gin`` or ``gcn``.
        hidden: Width of a layer; embeddings are ``hidden · layers`` wide.
        layers: Of the encoder.
        node_drop: Share of nodes that a node drop removes.
        edge_drop: Share of edges that an edge perturbation removes.
        edge_add: Share of edges that it adds.
        attribute_mask: Share of nodes whose features an attribute mask replaces by noise.
        subgraph_keep: Share of nodes that a subgraph keeps.
        gamma: How much uniform probabilities are preferred.
        beta: Length of the step that the probabilities take after each epoch.
        tau: Temperature.
        spectral: The map applied to both pooled feature maps while training.
    """

    level: ClassVar[Level] = "graph"
    defaults = TU_SETTINGS
    probabilities: Tensor
    """``(5,)``, how likely each of the :data:`~sfa.graph.graph_views.AUGMENTATIONS` is to be drawn."""

    def __init__(
        self,
        in_features: int,
        *,
        encoder: EncoderName = "gin",
        hidden: Count = 32,
        layers: Count = 3,
        node_drop: Share = 0.2,
        edge_drop: Share = 0.2,
        edge_add: Share = 0.0,
        attribute_mask: Share = 0.2,
        subgraph_keep: Share = 0.8,
        gamma: NonNegative = 0.1,
        beta: Positive = 1.0,
        tau: Positive = 0.2,
        spectral: SpectralMap | None = None,
    ) -> None:
        check_number("gamma", gamma)
        check_number("beta", beta, above=0)
        check_number("tau", tau, above=0)
        gnn = make_encoder(in_features, encoder=encoder, hidden=hidden, layers=layers)
        super().__init__(spectral, gnn.width)
        self.encoder = gnn
        self.head = self.make_head(gnn.width)
        self.register_buffer("probabilities", torch.full((len(AUGMENTATIONS),), 1 / len(AUGMENTATIONS)))
        self.rates = Rates(node_drop, edge_drop, edge_add, attribute_mask, subgraph_keep)
        self.gamma, self.beta, self.tau = gamma, beta, tau

    def make_head(self, width: int) -> nn.Module:
        """What is between pooled feature maps and the loss."""
        return projector(width)

    def project(self, h: Tensor, choices: Tensor) -> Tensor:
        """The map ``(b, width)`` of graphs, augmented by the kinds ``choices`` ``(b,)``, after the head."""
        z: Tensor = self.head(h)
        return z

    def forward(self, graph: Data, generator: torch.Generator | None = None, observe: Observer | None = None) -> Tensor:
        choices = draw_choices(self.probabilities, num_items(graph), generator)
        return self.contrast(graph, self.encoder(graph, generator), choices, generator, observe)

    def contrast(
        self,
        graph: Data,
        h: Tensor,
        choices: Tensor,
        generator: torch.Generator | None,
        observe: Observer | None = None,
    ) -> Tensor:
        """The loss of graphs, whose pooled map is ``h``, against their views by the kinds ``choices``."""
        h_view = self.encoder(augment(graph, choices, self.rates, generator), generator)
        h_alpha, h_beta = self.augmented(h, h_view, generator=generator, observe=observe)
        z_alpha = self.project(h_alpha, torch.full_like(choices, IDENTITY))
        return info_nce(z_alpha, self.project(h_beta, choices), positive_in_denominator=False, tau=self.tau)

    @torch.no_grad()
    def losses(self, batches: Iterable[tuple[Data, torch.Generator]]) -> Tensor:
        """``(5,)``, the loss of each augmentation when it is the only one, the mean over the graphs of the batches."""
        total, count = torch.zeros_like(self.probabilities), 0
        with kept_buffers(self):
            for graph, generator in batches:
                h, graphs = self.encoder(graph, generator), num_items(graph)
                for kind in range(len(AUGMENTATIONS)):
                    choices = torch.full((graphs,), kind, device=h.device)
                    total[kind] += graphs * self.contrast(graph, h, choices, generator)
                count += graphs
        return total / count

    def after_epoch(self, batches: Iterable[tuple[Data, torch.Generator]]) -> None:
        losses = self.losses(islice(batches, 0, None, EVERY))
        if not bool(losses.isfinite().all()):
            raise TrainingError("The loss of an augmentation is no longer a number: try a smaller learning rate.")
        self.probabilities.copy_(ascend(self.probabilities, losses, gamma=self.gamma, beta=self.beta))

    def embeddings(self, graph: Data) -> Tensor:
        return self.encoder.embed(graph)


def ascend(p: Tensor, losses: Tensor, *, gamma: float, beta: float) -> Tensor:
    """Probabilities ``(k,)`` after one step of projected gradient ascent on their losses ``(k,)``."""
    return project_to_simplex(p + beta * (losses - gamma * (p - 1 / len(p))))
