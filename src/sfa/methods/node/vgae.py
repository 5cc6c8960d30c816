"""VGAE: the variational graph auto-encoder (Kipf and Welling, 2016)."""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor
from torch_geometric.data import Data

from sfa.graph import GCN
from sfa.losses import kl_to_standard_normal, reconstruction
from sfa.methods.base import Method, Observer
from sfa.methods.node.gae import GAE, ones_and_zeros
from sfa.ranges import Count
from sfa.spectral import SpectralMap


class VGAE(Method):
    r"""A Gaussian for every node, samples of which tell by inner products which nodes are joined.

    .. math::
        q(z_i \mid X, A) = \mathcal{N}\big(\mu_i, \operatorname{diag}(\sigma_i^2)\big), \qquad
        \mathcal{L} = \mathcal{L}_\text{reconstruction}(Z) + \frac{1}{n} \cdot \frac{1}{n} \sum_i
            \mathrm{KL}\big( q(z_i \mid X, A) \,\|\, \mathcal{N}(0, I) \big)

    Two graph convolutions, for :math:`\mu` and :math:`\log \sigma`, share the layer before them. The reconstruction is
    :class:`~sfa.methods.node.gae.GAE`'s; as it is a mean over the :math:`n^2` pairs, the divergence is divided by
    :math:`n` once more. The feature map that the spectral map sees is :math:`\mu`, which is also the embedding.

    Args:
        in_features: Number of node features.
        hidden: Width of the embeddings; the layer before has twice as many units.
        spectral: The map applied to the feature map while training.
    """

    defaults: ClassVar = GAE.defaults
    rows_are_nodes = True
    samplers = GAE.samplers

    def __init__(self, in_features: int, *, hidden: Count = 16, spectral: SpectralMap | None = None) -> None:
        super().__init__(spectral, hidden)
        self.encoder = GCN(in_features, 2 * hidden, layers=2, widths="constant", activate_last=False)
        """Its output is :math:`\\mu` and :math:`\\log \\sigma` side by side."""

    def forward(self, graph: Data, generator: torch.Generator | None = None, observe: Observer | None = None) -> Tensor:
        mu, log_sigma = self.encoder(graph, generator).chunk(2, dim=1)
        (mu_tilde,) = self.augmented(mu, generator=generator, observe=observe, views=1)
        z = mu_tilde + log_sigma.exp() * torch.empty_like(mu).normal_(generator=generator)
        divergence = kl_to_standard_normal(mu_tilde, log_sigma) / len(mu)
        return reconstruction(z, *ones_and_zeros(graph, generator)) + divergence

    def embeddings(self, graph: Data) -> Tensor:
        """The means ``(n, hidden)``."""
        return self.encoder.embed(graph).chunk(2, dim=1)[0].contiguous()
