"""DGI: deep graph infomax (Veličković et al., 2019)."""

from __future__ import annotations

from typing import Any, ClassVar

import torch
from torch import Tensor
from torch_geometric.data import Data

from sfa.graph import GCN
from sfa.graph.activations import Activation
from sfa.losses import jensen_shannon
from sfa.methods.base import Method, Observer, roots
from sfa.methods.infomax import Discriminator, shuffled, summary
from sfa.ranges import Count
from sfa.spectral import SpectralMap


class DGI(Method):
    r"""Tell the nodes of the graph from those of one with shuffled features, by a summary of the graph.

    .. math::
        \mathcal{L} = -\tfrac{1}{2n} \sum_i \Big[ \log \sigma\big( \tilde h_i^\top W s \big)
            + \log\big( 1 - \sigma( \tilde h_i^{-\top} W s ) \big) \Big], \qquad
        s = \sigma\Big( \tfrac1n \sum_i \tilde h_i \Big)

    with the maps :math:`H` of the graph and :math:`H^-` of the corrupted one. The spectral map acts on both, and the
    summary is that of the augmented map. Defaults are the authors' for Cora.

    Args:
        in_features: Number of node features.
        hidden: Width of the embeddings.
        layers: Graph convolutions of the encoder, all of the same width.
        activation: Of the encoder: ``relu``, ``prelu``, ``rrelu`` or ``elu``.
        spectral: The map applied to both feature maps while training.
    """

    defaults: ClassVar[dict[str, Any]] = {
        "training.epochs": 10_000,
        "training.lr": 1e-3,
        "training.weight_decay": 0.0,
        "training.patience": 20,
    }

    def __init__(
        self,
        in_features: int,
        *,
        hidden: Count = 512,
        layers: Count = 1,
        activation: Activation = "prelu",
        spectral: SpectralMap | None = None,
    ) -> None:
        super().__init__(spectral, hidden)
        self.encoder = GCN(in_features, hidden, layers=layers, widths="constant", activation=activation)
        self.discriminator = Discriminator(hidden)

    def forward(self, graph: Data, generator: torch.Generator | None = None, observe: Observer | None = None) -> Tensor:
        both = graph, shuffled(graph, generator)
        maps = [self.encoder(one, generator)[: roots(graph)] for one in both]
        h, h_shuffled = self.augmented(*maps, generator=generator, observe=observe, views=1)
        s = summary(h)
        return jensen_shannon(self.discriminator(h, s), self.discriminator(h_shuffled, s))

    def embeddings(self, graph: Data) -> Tensor:
        return self.encoder.embed(graph)
