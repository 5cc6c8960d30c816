"""InfoGraph: graph-level representations by mutual information with nodes (Sun et al., 2020)."""

import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from sfa.graph.batches import sum_pool
from sfa.losses import local_global_jensen_shannon
from sfa.methods.base import Method, Observer, Spectral
from sfa.nn.heads import ResidualDiscriminator
from sfa.registry import register


@register("method", "infograph")
class InfoGraph(Method):
    """Tell the nodes of a graph from those of all other graphs in the batch, by the graph's pooled embedding.

    From `"InfoGraph: Unsupervised and Semi-supervised Graph-Level Representation Learning via Mutual Information
    Maximization" <https://arxiv.org/abs/1908.01000>`_ (Sun et al., 2020). The loss is
    :func:`~sfa.losses.local_global_jensen_shannon` of the node maps, the outputs of all layers side by side, and their
    sums over each graph, behind a perceptron each. The spectral map acts on the sums. The authors try 3 to 16 layers.
    """

    task = "graph"
    requires_row_identity = True  # of graphs, which nodes belong to

    def __init__(self, encoder: nn.Module, *, spectral: Spectral = None) -> None:
        super().__init__(encoder, spectral=spectral)
        self.local_discriminator = ResidualDiscriminator(self.width)
        self.global_discriminator = ResidualDiscriminator(self.width)

    def forward(self, data: Data, generator: torch.Generator | None = None, observe: Observer | None = None) -> Tensor:
        local = self.encoder.nodes(data, generator)
        (summaries,) = self.apply_spectral(sum_pool(local, data.ptr), generator=generator, observe=observe, views=1)
        scores = self.local_discriminator(local), self.global_discriminator(summaries)
        return local_global_jensen_shannon(*scores, data.batch)
