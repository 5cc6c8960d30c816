"""SimGRACE: graph contrastive learning without data augmentation (Xia et al., 2022)."""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch_geometric.data import Data

from sfa.graph.graph_encoders import EncoderName, make_encoder
from sfa.levels import Level
from sfa.losses import info_nce
from sfa.methods.base import Method, Observer
from sfa.methods.graph.kept_buffers import kept_buffers
from sfa.methods.graph.projector import projector
from sfa.methods.graph.settings import TU_SETTINGS
from sfa.ranges import Count, NonNegative, Positive, check_number
from sfa.spectral import SpectralMap


class SimGRACE(Method):
    r"""Contrast what the encoder makes of a graph with what a perturbed encoder makes of it; no graph is augmented.

    .. math::
        \mathcal{L} = -\frac1b \sum_i \log \frac{ e^{\cos(z'_i, z_i) / \tau} }
            { \sum_{j \neq i} e^{\cos(z'_i, z_j) / \tau} }, \qquad
        z = g(\tilde h_\theta), \quad z' = g(\tilde h_{\theta'}), \quad
        \theta'_l = \theta_l + \eta\, \epsilon_l, \quad \epsilon_l \sim \mathcal{N}(0, \operatorname{std}(\theta_l)^2)

    with noise drawn anew in each step for each tensor :math:`\theta_l` of the encoder, and the projector :math:`g` as
    it is. As in the authors' code the perturbed maps :math:`z'` are constants, and they are the anchors. The perturbed
    pass normalises with the batch at hand and leaves the encoder's running statistics alone. A tensor of one number
    has no deviation, and gets no noise.

    Defaults are the authors' code's, five layers among them; it tunes ``eta`` among 0.1, 1, 10 and 100.

    Args:
        in_features: Number of node features.
        encoder: ``gin`` or ``gcn``.
        hidden: Width of a layer; embeddings are ``hidden · layers`` wide.
        layers: Of the encoder.
        eta: Size of the noise, in standard deviations of each tensor of weights.
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
        layers: Count = 5,
        eta: NonNegative = 1.0,
        tau: Positive = 0.2,
        spectral: SpectralMap | None = None,
    ) -> None:
        check_number("eta", eta)
        check_number("tau", tau, above=0)
        gnn = make_encoder(in_features, encoder=encoder, hidden=hidden, layers=layers)
        super().__init__(spectral, gnn.width)
        self.encoder = gnn
        self.head = projector(gnn.width)
        self.eta = eta
        self.tau = tau

    def forward(self, graph: Data, generator: torch.Generator | None = None, observe: Observer | None = None) -> Tensor:
        h = self.encoder(graph, generator)
        with torch.no_grad(), kept_buffers(self.encoder):
            theta = perturbed(self.encoder, self.eta, generator)
            h_perturbed = functional_call(self.encoder, theta, (graph, generator))
        h, h_perturbed = self.augmented(h, h_perturbed, generator=generator, observe=observe)
        with torch.no_grad():
            anchors = self.head(h_perturbed)
        return info_nce(anchors, self.head(h), positive_in_denominator=False, tau=self.tau)

    def embeddings(self, graph: Data) -> Tensor:
        return self.encoder.embed(graph)


@torch.no_grad()
def perturbed(network: nn.Module, eta: float, generator: torch.Generator | None = None) -> dict[str, Tensor]:
    """The parameters of a network by name, each with Gaussian noise of ``eta`` times its own standard deviation."""
    return {name: _noisy(theta.detach(), eta, generator) for name, theta in network.named_parameters()}


def _noisy(theta: Tensor, eta: float, generator: torch.Generator | None) -> Tensor:
    if theta.numel() < 2:
        return theta
    noise = torch.randn(theta.shape, generator=generator, dtype=theta.dtype, device=theta.device)
    return theta + eta * theta.std() * noise
