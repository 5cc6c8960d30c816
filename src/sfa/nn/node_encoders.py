"""Encoders of nodes: the graph convolutions of the paper (Eq. 1), and a perceptron that does not use edges."""

from itertools import pairwise
from typing import ClassVar, Literal

import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from sfa.graph.structure import some_rows
from sfa.modes import evaluating
from sfa.nn.layers import Activation, BatchNorm, Linear, activate, check_sizes, dropout, make_activation
from sfa.nn.sparse import Propagation, feature_product, propagation_of
from sfa.ranges import FewCount, Share, Width
from sfa.registry import register
from sfa.tasks import Task

CHUNK = 1 << 16  # rows that are embedded at a time


@register("encoder", "gcn")
class GCN(nn.Module):
    r"""A stack of graph convolutions with an activation after each, Xavier-initialized.

    .. math::
        \mathrm{GCN}_l(X, A) = \sigma\big( \hat D^{-1/2} \hat A \hat D^{-1/2} X \Theta_l \big), \qquad \hat A = A + I

    Args:
        hidden: Width ``h`` of the output.
        layers: Number of convolutions.
        widths: ``halving`` makes every layer but the last ``2h`` wide (GRACE, GCA, G-BT, BGRL);
            ``constant`` makes all ``h`` wide (PyGCL, COSTA).
        activation: ``relu``, ``prelu``, ``rrelu`` or ``elu``.
        batch_norm: Normalize each layer's output over the nodes before its activation.
        norm_momentum: Momentum of the running statistics of batch normalization.
        activate_last: Put an activation (and batch normalization) after the last convolution too.
    """

    task: ClassVar[Task] = "node"
    takes_propagation: ClassVar[bool] = True  # a matrix data.propagation may take the place of the adjacency

    def __init__(
        self,
        in_features: int,
        hidden: Width = 128,
        *,
        layers: FewCount = 2,
        widths: Literal["constant", "halving"] = "halving",
        activation: Activation = "relu",
        batch_norm: bool = False,
        norm_momentum: Share = 0.1,
        activate_last: bool = True,
    ) -> None:
        super().__init__()
        check_sizes(hidden, layers)
        self.width = hidden
        inner = 2 * hidden if widths == "halving" else hidden
        sizes = [in_features] + [inner] * (layers - 1) + [hidden]
        active = [True] * (layers - 1) + [activate_last]
        self.convolutions = nn.ModuleList(Convolution(a, b) for a, b in pairwise(sizes))
        self.norms = nn.ModuleList(
            BatchNorm(size, momentum=norm_momentum) if batch_norm and on else nn.Identity()
            for size, on in zip(sizes[1:], active, strict=True)
        )
        self.activations = nn.ModuleList(make_activation(activation) if on else nn.Identity() for on in active)

    def forward(self, data: Data, generator: torch.Generator | None = None) -> Tensor:
        """Compute node embeddings ``(n, hidden)``; columns of ``x`` count as ``data.feature_mask`` says."""
        adjacency = propagation_of(data, next(self.parameters()).dtype)
        h, mask = data.x, data.get("feature_mask")
        for convolution, norm, activation in zip(self.convolutions, self.norms, self.activations, strict=True):
            h, mask = activate(activation, norm(convolution(h, adjacency, mask)), generator), None
        return h  # type: ignore[no-any-return]

    @torch.no_grad()
    def embed(self, data: Data, *, chunk: int = CHUNK) -> Tensor:
        """Compute the output in ``eval()``, holding no more than two matrices of a layer's size."""
        adjacency = propagation_of(data, next(self.parameters()).dtype)
        h: Tensor = data.x
        with evaluating(self):
            for convolution, norm, activation in zip(self.convolutions, self.norms, self.activations, strict=True):
                assert isinstance(convolution, Convolution)
                h = convolution.in_chunks(h, adjacency, nn.Sequential(norm, activation), chunk)
        return h


class Convolution(Linear):
    """One graph convolution before its activation; features ``(n, in_features)`` may be dense or CSR."""

    def forward(self, x: Tensor, adjacency: Propagation, mask: Tensor | None = None) -> Tensor:  # type: ignore[override]
        if self._propagates_first(x):
            return feature_product(adjacency @ x, self.weight, mask) + self.bias
        return adjacency @ feature_product(x, self.weight, mask) + self.bias

    def in_chunks(self, x: Tensor, adjacency: Propagation, then: nn.Module, chunk: int) -> Tensor:
        """Compute ``chunk`` rows at a time of the convolution and of a module ``then`` that treats rows one by one."""
        pieces = [(start, min(start + chunk, len(x))) for start in range(0, len(x), chunk)]
        propagates_first = self._propagates_first(x)
        if not propagates_first:
            product = self.bias.new_empty(len(x), len(self.bias))
            for start, stop in pieces:
                product[start:stop] = feature_product(some_rows(x, start, stop), self.weight)
            x = product
        result = self.bias.new_empty(len(x), len(self.bias))
        for start, stop in pieces:
            rows = adjacency.rows(start, stop) @ x
            result[start:stop] = then((rows @ self.weight if propagates_first else rows) + self.bias)
        return result

    def _propagates_first(self, x: Tensor) -> bool:
        """Tell whether the product with the adjacency costs less before the product with the weights."""
        return x.layout == torch.strided and x.shape[1] < len(self.bias)


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
        hidden: Width = 128,
        *,
        inner: Width = 512,
        layers: FewCount = 2,
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
