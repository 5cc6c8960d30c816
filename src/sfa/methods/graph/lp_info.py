"""LP-Info: bringing your own view, by learnt priors (You et al., 2022)."""

from __future__ import annotations

from typing import ClassVar, Literal, NamedTuple, get_args

import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from sfa.errors import unknown_name
from sfa.graph.graph_encoders import EncoderName, make_encoder
from sfa.levels import Level
from sfa.losses import info_nce
from sfa.methods.base import Method, Observer
from sfa.methods.graph.projector import projector
from sfa.methods.graph.settings import TU_SETTINGS
from sfa.methods.graph.view_generator import Generated, ViewGenerator
from sfa.ranges import Count, NonNegative, Positive, Share, check_number
from sfa.spectral import SpectralMap

Principle = Literal["min", "bn", "both"]


class Objectives(NamedTuple):
    """Three scalars, each of which has a gradient in weights of its own."""

    contrast: Tensor
    """In the encoder and the projector."""
    bottleneck: Tensor
    """In the bottleneck's encoder and projector; 0 without them."""
    prior: Tensor
    """In the two generators."""


class LPInfo(Method):
    r"""Contrast two views of each graph that two generators draw, and train these to draw views that are hard.

    .. math::
        \min_\theta \ \frac1b \sum_g \ell_g, \qquad
        \min_{\phi_v} \ \frac1b \sum_g \big( r_g\, \mathcal{R}_g(\phi_v) + \beta\, \mathcal{D}_g(\phi_v) \big),
        \qquad r_g = \begin{cases} 1 & c_g > \tfrac1b \sum_{g'} c_{g'} \\ \delta & \text{otherwise} \end{cases}

    with :math:`\ell` the loss of :class:`~sfa.methods.graph.graphcl.GraphCL` between both views, the encoder and its
    projector :math:`\theta`, and two generators :math:`\phi_v`, variational auto-encoders with a reconstruction
    :math:`\mathcal{R}` and a divergence :math:`\mathcal{D}`
    (:class:`~sfa.methods.graph.view_generator.ViewGenerator`). The two levels play by rewards: a generator learns
    above all from the graphs whose views were harder than the mean. What is hard, :math:`c`, is a principle:

    - ``min`` (InfoMin): views that share little, :math:`c = \ell`.
    - ``bn`` (InfoBN): embeddings that keep little of their view. An encoder of its own, which sees the same views,
      learns to find the embedding of the same view; where it cannot, there is little to know: :math:`c = \ell^{bn}`,
      the sum of that loss over both views.
    - ``both``: :math:`c = \ell + \ell^{bn}`.

    Views are drawn and rewards are constants, so one backward pass gives each part the gradient of its own objective.

    What is public is the paper and code for semi-supervised learning and transfer, not for the unsupervised sets of TU
    Dortmund. From that code are the generators, walks, rewards, ``delta`` and ``least``; from GraphCL's for these sets
    encoder, temperature and training, where the other code has a residual GCN, 0.5, and up to 100 epochs. Ours are: a
    sample of the pairs to decode in place of all, views by the generators as they are in place of copies made when an
    epoch begins, one optimiser for all parts, and ``divergence``, which is 1 there: on MUTAG, for one, generators
    then forget their graph, with a reconstruction of :math:`2 \log 2` to the end, and views are of random pairs.

    Args:
        in_features: Number of node features.
        encoder: ``gin`` or ``gcn``, of graphs and in the generators.
        hidden: Width of a layer; embeddings are ``hidden · layers`` wide.
        layers: Of the encoder.
        principle: ``min``, ``bn`` or ``both``.
        walks: Walks by which a view is drawn (the authors take 4, of 10 steps, for the dense graphs of COLLAB).
        length: Steps of a walk.
        least: Probability of a step; less likely ones are not taken.
        delta: Reward for a graph that was easier than the mean.
        divergence: Weight :math:`\beta` of the generators' divergence.
        tau: Temperature.
        spectral: The map applied to all pooled feature maps while training.
    """

    level: ClassVar[Level] = "graph"
    defaults = TU_SETTINGS
    rows_are_nodes = True  # here graphs, each of which has a reward

    def __init__(
        self,
        in_features: int,
        *,
        encoder: EncoderName = "gin",
        hidden: Count = 32,
        layers: Count = 3,
        principle: Principle = "min",
        walks: Count = 16,
        length: Count = 20,
        least: Share = 0.1,
        delta: Share = 0.01,
        divergence: NonNegative = 0.1,
        tau: Positive = 0.2,
        spectral: SpectralMap | None = None,
    ) -> None:
        check_number("tau", tau, above=0)
        if principle not in get_args(Principle):
            raise unknown_name("principle", principle, get_args(Principle))
        width = hidden * layers
        super().__init__(spectral, width)
        self.encoder = make_encoder(in_features, encoder=encoder, hidden=hidden, layers=layers)
        self.head = projector(width)
        self.generators = nn.ModuleList(
            ViewGenerator(
                make_encoder(in_features, encoder=encoder, hidden=hidden, layers=layers),
                hidden,
                walks=walks,
                length=length,
                least=least,
            )
            for _ in range(2)
        )
        if principle != "min":
            self.bottleneck = make_encoder(in_features, encoder=encoder, hidden=hidden, layers=layers)
            self.bottleneck_head = projector(width)
        self.principle, self.delta, self.divergence, self.tau = principle, delta, divergence, tau

    def forward(self, graph: Data, generator: torch.Generator | None = None, observe: Observer | None = None) -> Tensor:
        contrast, bottleneck, prior = self.objectives(graph, generator, observe)
        return contrast + bottleneck + prior

    def objectives(
        self, graph: Data, generator: torch.Generator | None = None, observe: Observer | None = None
    ) -> Objectives:
        """What each part is trained by, in one step."""
        generated: list[Generated] = [draw(graph, generator) for draw in self.generators]
        networks = [self.encoder] if self.principle == "min" else [self.encoder, self.bottleneck]
        maps = [network(one.view, generator) for network in networks for one in generated]
        h_alpha, h_beta, *h_bottleneck = self.augmented(*maps, generator=generator, observe=observe)
        z_alpha, z_beta = self.head(h_alpha), self.head(h_beta)
        contrast = self.losses(z_alpha, z_beta)
        bottleneck = torch.zeros_like(contrast)
        for h, z in zip(h_bottleneck, (z_alpha, z_beta), strict=False):
            bottleneck = bottleneck + self.losses(self.bottleneck_head(h), z.detach())
        reward = rewards(bottleneck if self.principle == "bn" else contrast + bottleneck, self.delta)
        priors = [reward * one.reconstruction + self.divergence * one.divergence for one in generated]
        return Objectives(contrast.mean(), bottleneck.mean(), torch.stack(priors).sum(0).mean())

    def losses(self, anchors: Tensor, positives: Tensor) -> Tensor:
        """GraphCL's loss of each graph, ``(b,)``."""
        return info_nce(anchors, positives, positive_in_denominator=False, tau=self.tau, of_each=True)

    def embeddings(self, graph: Data) -> Tensor:
        return self.encoder.embed(graph)


def rewards(hardness: Tensor, delta: float) -> Tensor:
    """``(b,)`` constants: 1 for a graph that is harder than the mean, ``delta`` for the others."""
    return torch.where(hardness > hardness.mean(), 1.0, delta).to(hardness.dtype)
