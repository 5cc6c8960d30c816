"""GAE: the graph auto-encoder (Kipf and Welling, 2016)."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from sfa.graph.draws import ones_and_zeros
from sfa.losses import reconstruction
from sfa.methods.base import Method, Observer, Spectral
from sfa.registry import register


@register("method", "gae")
class GAE(Method):
    r"""Encode nodes so that inner products tell which of them are joined.

    From `"Variational Graph Auto-Encoders" <https://arxiv.org/abs/1611.07308>`_ (Kipf and Welling, 2016).

    .. math::
        \hat A = \sigma(Z Z^\top), \qquad Z = \mathrm{GCN}(X, A)

    As in the paper every node counts as joined to itself, and an edge weight is the encoder's affair only. All ones of
    the adjacency enter the loss, and a uniform sample of as many zeros, anew in every step, which keeps memory linear.
    Features whose mean outweighs their differences draw all of ``Z`` into one direction: standardize their columns.
    """

    defaults = {
        "encoder": {"hidden": 16, "activate_last": False},
        "training": {"epochs": 200, "lr": 0.01, "weight_decay": 0.0, "patience": None},
        "feature_norm": "none",
    }
    requires_row_identity = True
    samplers = ("whole", "random-walks", "clusters")

    def __init__(self, encoder: nn.Module, *, spectral: Spectral = None) -> None:
        super().__init__(encoder, spectral=spectral)

    def forward(self, data: Data, generator: torch.Generator | None = None, observe: Observer | None = None) -> Tensor:
        z = self.encoder(data, generator)
        (z_tilde,) = self.apply_spectral(z, generator=generator, observe=observe, views=1)
        return reconstruction(z_tilde, *ones_and_zeros(data, generator))
