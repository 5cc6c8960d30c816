"""SimGRACE: graph contrastive learning without data augmentation (Xia et al., 2022)."""

import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch_geometric.data import Data

from sfa.losses import info_nce
from sfa.methods.base import Method, Observer, Spectral
from sfa.modes import kept_buffers
from sfa.nn.heads import graph_projector
from sfa.nn.momentum import perturbed
from sfa.ranges import NonNegative, Positive, check_number
from sfa.registry import register


@register("method", "simgrace")
class SimGRACE(Method):
    r"""Contrast the embedding of a graph with that by a perturbed encoder; no graph is augmented.

    From `"SimGRACE: A Simple Framework for Graph Contrastive Learning without Data Augmentation"
    <https://arxiv.org/abs/2202.03104>`_ (Xia et al., 2022). In each step noise
    :math:`\eta\, \epsilon, \epsilon \sim \mathcal{N}(0, \operatorname{std}(\theta)^2)` is added to each tensor
    :math:`\theta` of the encoder's weights. The loss is :class:`~sfa.methods.GraphCL`'s; as in the authors' code the
    perturbed maps are constants, and they are the anchors. The perturbed pass leaves the encoder's running statistics
    alone. Defaults are that code's; it tunes ``eta`` among 0.1, 1, 10 and 100.

    Args:
        eta: Size of the noise, in standard deviations of each tensor of weights.
        tau: Temperature.
    """

    task = "graph"
    defaults = {"encoder": {"layers": 5}}

    def __init__(
        self, encoder: nn.Module, *, eta: NonNegative = 1.0, tau: Positive = 0.2, spectral: Spectral = None
    ) -> None:
        check_number("eta", eta)
        check_number("tau", tau, above=0)
        super().__init__(encoder, spectral=spectral)
        self.head = graph_projector(self.width)
        self.eta, self.tau = eta, tau

    def forward(self, data: Data, generator: torch.Generator | None = None, observe: Observer | None = None) -> Tensor:
        h = self.encoder(data, generator)
        with torch.no_grad(), kept_buffers(self.encoder):
            theta = perturbed(self.encoder, self.eta, generator)
            h_perturbed = functional_call(self.encoder, theta, (data, generator))
        h, h_perturbed = self.apply_spectral(h, h_perturbed, generator=generator, observe=observe)
        with torch.no_grad():
            anchors = self.head(h_perturbed)
        return info_nce(anchors, self.head(h), positive_in_denominator=False, tau=self.tau)
