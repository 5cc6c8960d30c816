"""The graph convolutional encoder of the paper (Eq. 1)."""

from __future__ import annotations

from itertools import pairwise
from typing import Literal

import torch
from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.nn import GCNConv

from sfa.errors import InputError
from sfa.graph.activations import Activation, activate, make_activation

Widths = Literal["constant", "halving"]


class GCN(nn.Module):
    r"""A stack of graph convolutions with an activation after every one, Xavier-initialised.

    .. math::
        \mathrm{GCN}_l(X, A) = \sigma\big( \hat D^{-1/2} \hat A \hat D^{-1/2} X \Theta_l \big), \qquad \hat A = A + I

    Args:
        in_features: Number of node features.
        hidden: Width ``h`` of the output.
        layers: Number of convolutions.
        widths: ``halving`` makes every layer but the last ``2h`` wide (GRACE, GCA, G-BT, BGRL);
            ``constant`` makes all ``h`` wide (PyGCL, COSTA).
        activation: ``relu``, ``prelu``, ``rrelu`` or ``elu``.
        batch_norm: Normalise each layer's output over the nodes before its activation.
    """

    def __init__(
        self,
        in_features: int,
        hidden: int = 128,
        *,
        layers: int = 2,
        widths: Widths = "halving",
        activation: Activation = "relu",
        batch_norm: bool = False,
    ) -> None:
        super().__init__()
        if hidden < 1 or layers < 1:
            raise InputError(f"An encoder needs hidden ≥ 1 and layers ≥ 1, not {hidden} and {layers}.")
        inner = 2 * hidden if widths == "halving" else hidden
        sizes = [in_features] + [inner] * (layers - 1) + [hidden]
        self.convolutions = nn.ModuleList(GCNConv(a, b) for a, b in pairwise(sizes))
        self.norms = nn.ModuleList(nn.BatchNorm1d(size) if batch_norm else nn.Identity() for size in sizes[1:])
        self.activations = nn.ModuleList(make_activation(activation) for _ in sizes[1:])

    def forward(self, graph: Data, generator: torch.Generator | None = None) -> Tensor:
        """Node embeddings ``h`` of shape ``(n, hidden)``."""
        h: Tensor = graph.x
        for convolution, norm, activation in zip(self.convolutions, self.norms, self.activations, strict=True):
            h = activate(activation, norm(convolution(h, graph.edge_index, graph.edge_weight)), generator)
        return h
