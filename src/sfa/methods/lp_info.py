"""LP-Info: bringing your own view, by learned priors (You et al., 2022)."""

from typing import Any, Literal, NamedTuple, get_args

import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from sfa.errors import unknown_name
from sfa.methods.base import Observer
from sfa.methods.graphcl import GraphCL
from sfa.nn.adapt import renewed
from sfa.nn.view_generator import ViewGenerator
from sfa.ranges import Count, NonNegative, Share
from sfa.registry import register

Principle = Literal["min", "bn", "both"]


class Objectives(NamedTuple):
    """Three scalars, each of which has a gradient in weights of its own."""

    contrast: Tensor  # in the encoder and the projector
    bottleneck: Tensor  # in the bottleneck's encoder and projector; 0 without them
    prior: Tensor  # in the two generators


@register("method", "lp-info")
class LPInfo(GraphCL):
    r"""Contrast two views of each graph that two generators draw, and train these to draw views that are hard.

    From `"Bringing Your Own View: Graph Contrastive Learning without Prefabricated Data Augmentations"
    <https://arxiv.org/abs/2201.01702>`_ (You et al., 2022). The encoder minimizes the loss of
    :class:`~sfa.methods.GraphCL` between both views, and each generator
    (:class:`~sfa.nn.view_generator.ViewGenerator`)

    .. math::
        \frac1b \sum_g \big( r_g\, \mathcal{R}_g + \beta\, \mathcal{D}_g \big), \qquad
        r_g = 1 \text{ if } c_g > \tfrac1b \sum_{g'} c_{g'} \text{ else } \delta

    with its reconstruction :math:`\mathcal{R}`, its divergence :math:`\mathcal{D}` and the hardness ``c``: by
    ``principle``, the loss of the views (``min``), that of another encoder that learns to find the embedding of a view
    (``bn``), or both. One backward pass gives each part its own gradient. With the authors' weight of the divergence,
    1, generators forget their graph.

    Args:
        latent: Width of the generators' latent space.
        principle: ``min``, ``bn`` or ``both``.
        walks: Walks by which a view is drawn (the authors take 4, of 10 steps, for the dense graphs of COLLAB).
        length: Steps of a walk.
        least: Probability of a step; less likely ones are not taken.
        delta: Reward for a graph that was easier than the mean.
        divergence: Weight :math:`\beta` of the generators' divergence.
    """

    takes_augmentation = False  # but draws them itself
    requires_row_identity = True  # of graphs, each of which has a reward

    def __init__(
        self,
        encoder: nn.Module,
        *,
        latent: Count = 32,
        principle: Principle = "min",
        walks: Count = 16,
        length: Count = 20,
        least: Share = 0.1,
        delta: Share = 0.01,
        divergence: NonNegative = 0.1,
        **options: Any,
    ) -> None:
        if principle not in get_args(Principle):
            raise unknown_name("principle", principle, get_args(Principle))
        super().__init__(encoder, **options)
        walk: dict[str, Any] = {"walks": walks, "length": length, "least": least}
        self.generators = nn.ModuleList(ViewGenerator(renewed(self.encoder), latent, **walk) for _ in range(2))
        if principle != "min":
            self.bottleneck = renewed(self.encoder)
            self.bottleneck_head = self.make_head()
        self.principle, self.delta, self.divergence = principle, delta, divergence

    def forward(self, data: Data, generator: torch.Generator | None = None, observe: Observer | None = None) -> Tensor:
        contrast, bottleneck, prior = self.objectives(data, generator, observe)
        return contrast + bottleneck + prior

    def objectives(self, data: Data, generator: torch.Generator | None, observe: Observer | None = None) -> Objectives:
        generated = [draw(data, generator) for draw in self.generators]
        networks = [self.encoder] if self.principle == "min" else [self.encoder, self.bottleneck]
        maps = [network(one.view, generator) for network in networks for one in generated]
        h_alpha, h_beta, *h_bottleneck = self.apply_spectral(*maps, generator=generator, observe=observe)
        z_alpha, z_beta = self.head(h_alpha), self.head(h_beta)
        contrast = self.loss(z_alpha, z_beta, of_each=True)  # (b,)
        bottleneck = torch.zeros_like(contrast)
        for h, z in zip(h_bottleneck, (z_alpha, z_beta), strict=False):
            bottleneck = bottleneck + self.loss(self.bottleneck_head(h), z.detach(), of_each=True)
        hardness = bottleneck if self.principle == "bn" else contrast + bottleneck
        reward = torch.where(hardness > hardness.mean(), 1.0, self.delta).to(hardness.dtype)
        priors = [reward * one.reconstruction + self.divergence * one.divergence for one in generated]
        return Objectives(contrast.mean(), bottleneck.mean(), torch.stack(priors).sum(0).mean())
