"""The paper's graph convolutions (Eq. 1) as an encoder of graphs."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from sfa.nn.gcn import Convolution
from sfa.nn.gin import GraphEncoder, features_of
from sfa.nn.layers import BatchNorm
from sfa.nn.sparse import propagation_of
from sfa.ranges import Count
from sfa.registry import register


@register("encoder", "pooled-gcn")
class PooledGCN(GraphEncoder):
    r"""The stack of :class:`~sfa.nn.gin.GIN` with the convolution of the paper in place of sum and perceptron.

    .. math::
        H^{(l+1)} = \mathrm{BN}\big( \mathrm{ReLU}\big(
        \hat D^{-1/2} \hat A \hat D^{-1/2} H^{(l)} \Theta_l \big) \big), \qquad \hat A = A + I

    Args:
        in_features: Number of node features.
        hidden: Width of a layer; embeddings are ``hidden * layers`` wide.
        layers: Number of convolutions.
    """

    def __init__(self, in_features: int, hidden: Count = 32, *, layers: Count = 3) -> None:
        super().__init__(hidden, layers)
        sizes = [in_features] + [hidden] * (layers - 1)
        self.convolutions = nn.ModuleList(Convolution(size, hidden) for size in sizes)
        self.norms = nn.ModuleList(BatchNorm(hidden) for _ in sizes)

    def layer_outputs(self, batch: Data, generator: torch.Generator | None = None) -> Iterator[Tensor]:
        dtype = next(self.parameters()).dtype
        adjacency, h = propagation_of(batch, dtype), features_of(batch, dtype)
        for convolution, norm in zip(self.convolutions, self.norms, strict=True):
            h = norm(convolution(h, adjacency).relu())
            yield h
