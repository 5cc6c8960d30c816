"""A multi-layer perceptron on node features, dense or sparse: an encoder that does not use edges."""

from itertools import pairwise
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from sfa.graph.structure import some_rows
from sfa.modes import evaluating
from sfa.nn.gcn import CHUNK
from sfa.nn.layers import Activation, Linear, activate, check_sizes, dropout, make_activation
from sfa.ranges import Count, Share
from sfa.registry import register
from sfa.tasks import Task


@register("encoder", "mlp")
class MLP(nn.Module):
    """Linear layers with activations between them, Xavier-initialized.

    Args:
        hidden: Width of the output.
        inner: Width of the layers before the last.
        layers: Number of linear layers.
        dropout: Rate at which the input of every layer is dropped in training.
        activation: ``relu``, ``prelu``, ``rrelu`` or ``elu``.
        layer_norm: Normalize each row after each activation.
        activate_last: Put an activation (and layer normalization) after the last layer too.
    """

    task: ClassVar[Task] = "node"
    uses_edges: ClassVar[bool] = False  # a row of the output depends on the same row of the features alone

    def __init__(
        self,
        in_features: int,
        hidden: Count = 128,
        *,
        inner: Count = 512,
        layers: Count = 2,
        dropout: Share = 0.0,
        activation: Activation = "relu",
        layer_norm: bool = False,
        activate_last: bool = False,
    ) -> None:
        super().__init__()
        check_sizes(min(hidden, inner), layers)
        self.width = hidden
        sizes = [in_features] + [inner] * (layers - 1) + [hidden]
        self.linears = nn.ModuleList(Linear(a, b) for a, b in pairwise(sizes))
        active = sizes[1:] if activate_last else sizes[1:-1]
        self.activations = nn.ModuleList(make_activation(activation) for _ in active)
        self.norms = nn.ModuleList(nn.LayerNorm(size) if layer_norm else nn.Identity() for size in active)
        self.dropout = dropout

    def forward(self, data: Data | Tensor, generator: torch.Generator | None = None) -> Tensor:
        """Compute ``(n, hidden)`` of a graph, whose ``feature_mask`` counts, or of features, dense or CSR."""
        rate = self.dropout if self.training else 0.0
        x, mask = (data.x, data.get("feature_mask")) if isinstance(data, Data) else (data, None)
        h: Tensor = self.linears[0](dropout(x, rate, generator), mask)
        for number, (activation, norm) in enumerate(zip(self.activations, self.norms, strict=True), start=1):
            h = norm(activate(activation, h, generator))
            if number < len(self.linears):
                h = self.linears[number](dropout(h, rate, generator))
        return h

    @torch.no_grad()
    def embed(self, data: Data, *, chunk: int = CHUNK) -> Tensor:
        """Compute the output in ``eval()``, in chunks of rows."""
        n = len(data.x)
        with evaluating(self):
            rows = [self(some_rows(data.x, start, min(start + chunk, n))) for start in range(0, n, chunk)]
        return torch.cat(rows) if rows else self(data)
