"""InfoGraph: graph-level representations by mutual information with nodes (Sun et al., 2020)."""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from sfa.graph.graph_encoders import EncoderName, make_encoder
from sfa.graph.pooling import sum_pool
from sfa.levels import Level
from sfa.losses import local_global_jensen_shannon
from sfa.methods.base import Method, Observer
from sfa.methods.graph.settings import TU_SETTINGS
from sfa.ranges import Count
from sfa.spectral import SpectralMap


class InfoGraph(Method):
    r"""Tell the nodes of a graph from those of all other graphs in the batch, by the graph's pooled embedding.

    .. math::
        \mathcal{L} = \tfrac12 \Big( \frac1n \sum_i \operatorname{sp}\big( -t_{i\, g(i)} \big) + \frac{1}{n (b - 1)}
            \sum_i \sum_{g \neq g(i)} \operatorname{sp}\big( t_{i g} \big) \Big), \qquad
            t_{i g} = \phi(h_i)^\top \psi(\tilde H_g)

    with the node maps :math:`h`, the outputs of all layers side by side, their sums :math:`H` over the nodes of each
    graph, and two perceptrons :math:`\phi, \psi`: the loss of the authors' code but for its scale. The spectral map
    acts on :math:`H`, a row a graph, as in all methods of graphs; the nodes it is told apart by stay as they are.
    Matching a prior, an option of that code that is off, is left out. Its authors try 3, 5, 8 and 16 layers and
    learning rates of 0.01 and 0.001.

    Args:
        in_features: Number of node features.
        encoder: ``gin`` or ``gcn``.
        hidden: Width of a layer; embeddings are ``hidden · layers`` wide.
        layers: Of the encoder.
        spectral: The map applied to the pooled feature map while training.
    """

    level: ClassVar[Level] = "graph"
    defaults = TU_SETTINGS
    rows_are_nodes = True  # here graphs, which nodes belong to

    def __init__(
        self,
        in_features: int,
        *,
        encoder: EncoderName = "gin",
        hidden: Count = 32,
        layers: Count = 3,
        spectral: SpectralMap | None = None,
    ) -> None:
        gnn = make_encoder(in_features, encoder=encoder, hidden=hidden, layers=layers)
        super().__init__(spectral, gnn.width)
        self.encoder = gnn
        self.local_discriminator = Discriminator(gnn.width)
        self.global_discriminator = Discriminator(gnn.width)

    def forward(self, graph: Data, generator: torch.Generator | None = None, observe: Observer | None = None) -> Tensor:
        local = self.encoder.nodes(graph, generator)
        (summaries,) = self.augmented(sum_pool(local, graph.ptr), generator=generator, observe=observe, views=1)
        return local_global_jensen_shannon(
            self.local_discriminator(local), self.global_discriminator(summaries), graph.batch
        )

    def embeddings(self, graph: Data) -> Tensor:
        return self.encoder.embed(graph)


class Discriminator(nn.Module):
    """The authors' perceptron ``(n, d) → (n, d)``: three layers with a ReLU after each, and a linear one beside them.

    Args:
        width: ``d``.
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self.block = nn.Sequential(*(part for _ in range(3) for part in (nn.Linear(width, width), nn.ReLU())))
        self.shortcut = nn.Linear(width, width)
        for part in self.modules():
            if isinstance(part, nn.Linear):
                nn.init.xavier_uniform_(part.weight)
                nn.init.zeros_(part.bias)

    def forward(self, h: Tensor) -> Tensor:
        out: Tensor = self.block(h) + self.shortcut(h)
        return out
