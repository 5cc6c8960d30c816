"""GAE and VGAE: graph auto-encoders, plain and variational (Kipf and Welling, 2016)."""

import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from sfa.errors import InputError
from sfa.graph.walks import ones_and_zeros
from sfa.losses import kl_to_standard_normal, reconstruction
from sfa.methods.base import Method, Observer, Spectral
from sfa.nn.adapt import as_encoder
from sfa.registry import register


@register("method", "gae")
class GAE(Method):
    r"""Encode nodes so that inner products tell which of them are joined.

    From `"Variational Graph Auto-Encoders" <https://arxiv.org/abs/1611.07308>`_ (Kipf and Welling, 2016). The decoder
    is :math:`\hat A = \sigma(Z Z^\top)`. As in the paper every node counts as joined to itself, and edge weights
    matter to the encoder only. A uniform sample of the zeros of the adjacency, as many as ones, keeps memory linear.
    Standardize features whose mean is large.
    """

    chance = 0.693147  # log 2
    defaults = {
        "encoder": {"hidden": 16, "activate_last": False},
        "training": {"epochs": 200, "lr": 0.01, "weight_decay": 0.0, "patience": None},
        "feature_norm": "none",
    }
    requires_row_identity = True
    samplers = ("whole", "random-walks", "clusters")

    def forward(self, data: Data, generator: torch.Generator | None = None, observe: Observer | None = None) -> Tensor:
        z = self.encoder(data, generator)
        (z_tilde,) = self.apply_spectral(z, generator=generator, observe=observe, views=1)
        return reconstruction(z_tilde, *ones_and_zeros(data, generator))


@register("method", "vgae")
class VGAE(GAE):
    r"""Learn a Gaussian for every node, samples of which tell by inner products which nodes are joined.

    From `"Variational Graph Auto-Encoders" <https://arxiv.org/abs/1611.07308>`_ (Kipf and Welling, 2016). The encoder's
    output is :math:`\mu` and :math:`\log \sigma` side by side. The loss is the reconstruction of
    :class:`~sfa.methods.GAE` from samples of :math:`\mathcal{N}(\mu_i, \operatorname{diag}(\sigma_i^2))` plus their
    divergence from :math:`\mathcal{N}(0, I)`, a mean over pairs too. The spectral map sees :math:`\mu`, the embedding.
    """

    defaults = {**GAE.defaults, "encoder": {"hidden": 32, "widths": "constant", "activate_last": False}}

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
        return self.encoder.embed(data).chunk(2, dim=1)[0].contiguous()  # type: ignore[no-any-return]
