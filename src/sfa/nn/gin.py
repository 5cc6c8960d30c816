"""The graph isomorphism network (Xu et al., 2019) as GraphCL and InfoGraph use it."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch_geometric.data import Data

from sfa.nn.graph_encoder import GraphEncoder, features_of
from sfa.nn.layers import BatchNorm, init_xavier_
from sfa.nn.sparse import Propagation, neighbor_sums
from sfa.ranges import Count
from sfa.registry import register


@register("encoder", "gin")
class GIN(GraphEncoder):
    r"""Layers that add the neighbours' features to a node's own and put a perceptron on the sum.

    .. math::
        h_i^{(l+1)} = \mathrm{BN}\Big( \mathrm{ReLU}\Big( \mathrm{MLP}_l \Big(
        (1 + \epsilon) \, h_i^{(l)} + \sum_{j} w_{ij} h_j^{(l)} \Big) \Big) \Big), \qquad \epsilon = 0

    over the neighbors :math:`j` of :math:`i`, with perceptrons Linear–ReLU–Linear, Xavier-initialized without bias at
    first. Batch normalization is over the nodes of a batch.

    Args:
        in_features: Number of node features.
        hidden: Width of a layer; embeddings are ``hidden * layers`` wide.
        layers: Number of layers.
    """

    def __init__(self, in_features: int, hidden: Count = 32, *, layers: Count = 3) -> None:
        super().__init__(hidden, layers)
        self.layers = nn.ModuleList(Layer(in_features if first == 0 else hidden, hidden) for first in range(layers))

    def layer_outputs(self, batch: Data, generator: torch.Generator | None = None) -> Iterator[Tensor]:
        dtype = next(self.parameters()).dtype
        sums, h = neighbor_sums(batch, dtype), features_of(batch, dtype)
        for layer in self.layers:
            h = layer(h, sums)
            yield h


class Layer(nn.Module):
    """One layer of the network."""

    def __init__(self, in_features: int, hidden: int) -> None:
        super().__init__()
        self.inner = nn.Linear(in_features, hidden)
        self.outer = nn.Linear(hidden, hidden)
        self.norm = BatchNorm(hidden)
        init_xavier_(self)

    def reset_parameters(self) -> None:
        """Draw new weights."""
        for part in (self.inner, self.outer, self.norm):
            part.reset_parameters()
        init_xavier_(self)

    def forward(self, h: Tensor, sums: Propagation) -> Tensor:
        if self.inner.in_features > self.inner.out_features:  # the sums cost least on the narrower side
            inner = sums @ functional.linear(h, self.inner.weight) + self.inner.bias
        else:
            inner = self.inner(sums @ h)
        result: Tensor = self.norm(self.outer(inner.relu()).relu())
        return result
