"""The graph convolutional encoder of the paper (Eq. 1)."""

from __future__ import annotations

from itertools import pairwise
from typing import ClassVar, Literal

import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from sfa.errors import InputError
from sfa.graph.structure import some_rows
from sfa.modes import evaluating
from sfa.nn.layers import Activation, BatchNorm, Linear, activate, make_activation
from sfa.nn.sparse import Propagation, feature_product, propagation_of
from sfa.ranges import Count, Share
from sfa.registry import register
from sfa.tasks import Task

Widths = Literal["constant", "halving"]

CHUNK = 1 << 16  # rows that an embedding works on at a time


@register("encoder", "gcn")
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
        batch_norm: Normalize each layer's output over the nodes before its activation.
        norm_momentum: Of the running statistics of batch normalization.
        activate_last: Put an activation (and batch normalization) after the last convolution too.
    """

    task: ClassVar[Task] = "node"
    takes_propagation: ClassVar[bool] = True
    """It spreads features by ``data.propagation``, if there is one, and not by the edges."""

    def __init__(
        self,
        in_features: int,
        hidden: Count = 128,
        *,
        layers: Count = 2,
        widths: Widths = "halving",
        activation: Activation = "relu",
        batch_norm: bool = False,
        norm_momentum: Share = 0.1,
        activate_last: bool = True,
    ) -> None:
        super().__init__()
        if hidden < 1 or layers < 1:
            raise InputError(f"An encoder needs hidden ≥ 1 and layers ≥ 1, not {hidden} and {layers}.")
        self.width = hidden
        """Of the embeddings."""
        inner = 2 * hidden if widths == "halving" else hidden
        sizes = [in_features] + [inner] * (layers - 1) + [hidden]
        self.convolutions = nn.ModuleList(Convolution(a, b) for a, b in pairwise(sizes))
        active = [True] * (layers - 1) + [activate_last]
        self.norms = nn.ModuleList(
            BatchNorm(size, momentum=norm_momentum) if batch_norm and on else nn.Identity()
            for size, on in zip(sizes[1:], active, strict=True)
        )
        self.activations = nn.ModuleList(make_activation(activation) if on else nn.Identity() for on in active)

    def forward(self, graph: Data, generator: torch.Generator | None = None) -> Tensor:
        """Compute node embeddings ``h`` of shape ``(n, hidden)``.

        Columns of ``x`` count as ``graph.feature_mask`` says. A matrix ``graph.propagation``, symmetric CSR ``(n, n)``,
        takes the place of the normalized adjacency.
        """
        adjacency = propagation_of(graph, next(self.parameters()).dtype)
        h: Tensor = graph.x
        mask = graph.get("feature_mask")
        for convolution, norm, activation in zip(self.convolutions, self.norms, self.activations, strict=True):
            h, mask = activate(activation, norm(convolution(h, adjacency, mask)), generator), None
        return h

    @torch.no_grad()
    def embed(self, graph: Data, *, chunk: int = CHUNK) -> Tensor:
        """Compute what :meth:`forward` gives in ``eval()``, holding no more than two matrices of a layer's output."""
        adjacency = propagation_of(graph, next(self.parameters()).dtype)
        h: Tensor = graph.x
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
        """Compute the convolution, and a module that treats rows one by one after it, so many rows at a time."""
        starts = range(0, len(x), chunk)
        weight: Tensor | None = self.weight
        if not self._propagates_first(x):
            product = self.bias.new_empty(len(x), len(self.bias))
            for start in starts:
                product[start : start + chunk] = feature_product(some_rows(x, start, start + chunk), self.weight)
            x, weight = product, None
        result = self.bias.new_empty(len(x), len(self.bias))
        for start in starts:
            rows = adjacency.rows(start, min(start + chunk, len(x))) @ x
            result[start : start + chunk] = then((rows if weight is None else rows @ weight) + self.bias)
        return result

    def _propagates_first(self, x: Tensor) -> bool:
        """Tell whether the product with the adjacency costs less before that with the weights."""
        return x.layout == torch.strided and x.shape[1] < len(self.bias)
