"""VGAE: the variational graph auto-encoder (Kipf and Welling, 2016)."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from sfa.errors import InputError
from sfa.graph.draws import ones_and_zeros
from sfa.losses import kl_to_standard_normal, reconstruction
from sfa.methods.base import Method, Observer, Spectral
from sfa.methods.gae import GAE
from sfa.nn.adapt import as_encoder
from sfa.registry import register


@register("method", "vgae")
class VGAE(Method):
    r"""Learn a Gaussian for every node, samples of which tell by inner products which nodes are joined.

    From `"Variational Graph Auto-Encoders" <https://arxiv.org/abs/1611.07308>`_ (Kipf and Welling, 2016).

    .. math::
        q(z_i \mid X, A) = \mathcal{N}\big(\mu_i, \operatorname{diag}(\sigma_i^2)\big), \qquad
        \mathcal{L} = \mathcal{L}_\text{reconstruction}(Z) + \frac{1}{n} \cdot \frac{1}{n} \sum_i
            \mathrm{KL}\big( q(z_i \mid X, A) \,\|\, \mathcal{N}(0, I) \big)

    The encoder's output is :math:`\mu` and :math:`\log \sigma` side by side: embeddings are half as wide as it. The
    reconstruction is :class:`~sfa.methods.GAE`'s; as it is a mean over the :math:`n^2` pairs, the divergence is divided
    by :math:`n` once more. The feature map that the spectral map sees is :math:`\mu`, which is also the embedding.

    Args:
        encoder: Any module that embeds nodes, of an even width.
    """

    defaults = {**GAE.defaults, "encoder": {"hidden": 32, "widths": "constant", "activate_last": False}}
    requires_row_identity = True
    samplers = GAE.samplers

    def __init__(self, encoder: nn.Module, *, spectral: Spectral = None) -> None:
        both = int(as_encoder(encoder).width)  # type: ignore[arg-type]
        if both % 2:
            raise InputError(f"The encoder of VGAE gives means and deviations: its width is even, not {both}.")
        super().__init__(encoder, spectral=spectral, width=both // 2)

    def forward(self, data: Data, generator: torch.Generator | None = None, observe: Observer | None = None) -> Tensor:
        mu, log_sigma = self.encoder(data, generator).chunk(2, dim=1)
        (mu_tilde,) = self.apply_spectral(mu, generator=generator, observe=observe, views=1)
        z = mu_tilde + log_sigma.exp() * torch.empty_like(mu).normal_(generator=generator)
        divergence = kl_to_standard_normal(mu_tilde, log_sigma) / len(mu)
        return reconstruction(z, *ones_and_zeros(data, generator)) + divergence

    def embeddings(self, data: Data) -> Tensor:
        """Compute the means ``(n, width)``."""
        means: Tensor = self.encoder.embed(data).chunk(2, dim=1)[0].contiguous()
        return means
