"""A multi-layer perceptron on node features, dense or sparse: an encoder that knows nothing of edges."""

from __future__ import annotations

from itertools import pairwise

import torch
from torch import Tensor, nn

from sfa.errors import InputError
from sfa.graph.dropout import dropout
from sfa.graph.products import feature_product


class MLP(nn.Module):
    r"""Linear layers with a ReLU between them and none after the last, Xavier-initialised.

    Args:
        in_features: Number of node features.
        out_features: Width of the output.
        inner: Width of the layers before the last.
        layers: Number of linear layers.
        dropout: Rate at which the input of every layer is dropped in training.
    """

    def __init__(
        self, in_features: int, out_features: int, *, inner: int = 512, layers: int = 2, dropout: float = 0.0
    ) -> None:
        super().__init__()
        if min(out_features, inner, layers) < 1:
            raise InputError(f"A perceptron needs widths ≥ 1 and layers ≥ 1, not {inner}, {out_features} and {layers}.")
        sizes = [in_features] + [inner] * (layers - 1) + [out_features]
        self.linears = nn.ModuleList(Linear(a, b) for a, b in pairwise(sizes))
        self.dropout = dropout

    def forward(self, x: Tensor, generator: torch.Generator | None = None) -> Tensor:
        """``(n, out_features)`` of features ``(n, in_features)``, dense or CSR."""
        rate = self.dropout if self.training else 0.0
        h: Tensor = self.linears[0](dropout(x, rate, generator))
        for linear in self.linears[1:]:
            h = linear(dropout(h.relu(), rate, generator))
        return h


class Linear(nn.Module):
    """``x W + b`` of features ``x`` that may be CSR."""

    def __init__(self, in_features: int, out_features: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(in_features, out_features))
        self.bias = nn.Parameter(torch.zeros(out_features))
        nn.init.xavier_uniform_(self.weight)

    def forward(self, x: Tensor) -> Tensor:
        return feature_product(x, self.weight) + self.bias
