"""SimGRACE: graph contrastive learning without data augmentation (Xia et al., 2022)."""

from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch_geometric.data import Data

from sfa.methods.base import Observer
from sfa.methods.graphcl import GraphCL
from sfa.modes import kept_buffers
from sfa.ranges import NonNegative, check_number
from sfa.registry import register


@register("method", "simgrace")
class SimGRACE(GraphCL):
    """Contrast the embedding of a graph with that by a perturbed encoder; no graph is augmented.

    From `"SimGRACE: A Simple Framework for Graph Contrastive Learning without Data Augmentation"
    <https://arxiv.org/abs/2202.03104>`_ (Xia et al., 2022). The loss is :class:`~sfa.methods.GraphCL`'s; as in the
    authors' code the perturbed maps are constants, and they are the anchors. The perturbed pass leaves the encoder's
    running statistics alone. Defaults are that code's; it tunes ``eta`` among 0.1, 1, 10 and 100.

    Args:
        eta: Size of the noise, in standard deviations of each tensor of weights.
    """

    takes_augmentation = False
    defaults = {"encoder": {"layers": 5}}

    def __init__(self, encoder: nn.Module, *, eta: NonNegative = 1.0, **options: Any) -> None:
        check_number("eta", eta)
        super().__init__(encoder, **options)
        self.eta = eta

    def forward(self, data: Data, generator: torch.Generator | None = None, observe: Observer | None = None) -> Tensor:
        h = self.encoder(data, generator)
        with torch.no_grad(), kept_buffers(self.encoder):
            theta = perturbed(self.encoder, self.eta, generator)
            h_perturbed = functional_call(self.encoder, theta, (data, generator))
        h, h_perturbed = self.apply_spectral(h, h_perturbed, generator=generator, observe=observe)
        with torch.no_grad():
            anchors = self.head(h_perturbed)
        return self.loss(anchors, self.head(h))


@torch.no_grad()
def perturbed(network: nn.Module, eta: float, generator: torch.Generator | None = None) -> dict[str, Tensor]:
    """Add Gaussian noise of ``eta`` times its own standard deviation to each parameter of a network (SimGRACE)."""
    noisy = {name: theta.detach() for name, theta in network.named_parameters()}
    for name, theta in noisy.items():
        if theta.numel() > 1:  # one number has no deviation
            noise = torch.randn(theta.shape, generator=generator, dtype=theta.dtype, device=theta.device)
            noisy[name] = theta + eta * theta.std() * noise
    return noisy
