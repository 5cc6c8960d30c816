"""Encoders of graphs: the graph isomorphism network (Xu et al., 2019), and what all of them share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch_geometric.data import Data

from sfa import distributed
from sfa.errors import InputError
from sfa.graph.batches import check_batch, make_batch, sum_pool
from sfa.graph.structure import csr_structure, some_rows
from sfa.modes import evaluating
from sfa.nn.gcn import CHUNK
from sfa.nn.layers import BatchNorm, init_xavier_
from sfa.nn.sparse import Propagation, neighbor_sums
from sfa.ranges import Count
from sfa.registry import register
from sfa.tasks import Task


class GraphEncoder(nn.Module, ABC):
    r"""A stack of graph convolutions whose readout of a graph is that of InfoGraph and GraphCL (Sun et al., 2020).

    .. math::
        g = \Big\Vert_{l=1}^{L} \; \sum_{i} h_i^{(l)}

    A batch is the disjoint union of ``G`` undirected graphs with ``x`` ``(N, d)``, ``edge_index`` ``(2, m)`` in both
    directions, ``ptr`` ``(G + 1,)``, ``batch`` ``(N,)`` and perhaps ``edge_weight`` ``(m,)``, as PyTorch Geometric's
    ``DataLoader`` makes it too. Edges may come in any order; sorted by (row, column) they are read fastest.
    """

    task: ClassVar[Task] = "graph"
    across_processes: bool = False
    """Whether the nodes of all processes are one batch; :func:`sfa.distributed.enable_cross_rank` sets it."""

    def __init__(self, hidden: int, layers: int) -> None:
        super().__init__()
        if hidden < 1 or layers < 1:
            raise InputError(f"An encoder needs hidden ≥ 1 and layers ≥ 1, not {hidden} and {layers}.")
        self.width = hidden * layers
        """Of the embeddings: that of all layers together."""

    @abstractmethod
    def layer_outputs(self, batch: Data, generator: torch.Generator | None = None) -> Iterator[Tensor]:
        """Yield what each layer makes of the nodes, ``(N, hidden)``, from the first layer to the last."""

    def nodes(self, batch: Data, generator: torch.Generator | None = None) -> Tensor:
        """Compute embeddings ``(N, width)`` of the nodes: the outputs of all layers side by side."""
        self._check(batch)
        return torch.cat(list(self.layer_outputs(batch, generator)), dim=1)

    def forward(self, batch: Data, generator: torch.Generator | None = None) -> Tensor:
        """Compute embeddings ``(G, width)`` of the graphs: what :meth:`nodes` gives, summed over each graph's nodes."""
        self._check(batch)
        return torch.cat([sum_pool(h, batch.ptr) for h in self.layer_outputs(batch, generator)], dim=1)

    @torch.no_grad()
    def embed(self, graphs: Data, *, chunk: int = CHUNK) -> Tensor:
        """Compute what :meth:`forward` gives in ``eval()``, some ``chunk`` nodes of whole graphs at a time."""
        with evaluating(self):
            return torch.cat([self(part) for part in whole_graphs(graphs, chunk)])

    def _check(self, batch: Data) -> None:
        check_batch(batch)
        alone = not (self.across_processes and distributed.world_size() > 1)
        if self.training and alone and batch.num_nodes < 2:
            raise InputError(
                f"Batch normalisation needs 2 or more nodes in a batch of graphs to train on, not {batch.num_nodes}: "
                "take larger batches."
            )


def features_of(batch: Data, dtype: torch.dtype) -> Tensor:
    """Return the features ``(N, d)`` of a batch, with zeros in the columns that its ``feature_mask`` leaves out."""
    x: Tensor = batch.x.to(dtype)
    mask = batch.get("feature_mask")
    return x if mask is None else x * mask.to(dtype)


def whole_graphs(graphs: Data, chunk: int) -> Iterator[Data]:
    """Yield batches of the graphs in their order, of at most ``chunk`` nodes; a larger graph is one by itself."""
    check_batch(graphs)
    if not torch.equal(*graphs.batch[graphs.edge_index]):
        raise InputError("An edge joins nodes of two graphs, which are to be embedded each for itself.")
    if graphs.num_nodes <= chunk:
        yield graphs
        return
    ptr, structure = graphs.ptr, csr_structure(graphs.edge_index, graphs.num_nodes)
    edges = torch.stack([structure.sorted(end) for end in graphs.edge_index])
    weight = None if graphs.edge_weight is None else structure.sorted(graphs.edge_weight)
    first = 0
    while first < len(ptr) - 1:
        last = max(first + 1, int(torch.searchsorted(ptr, ptr[first] + chunk, right=True)) - 1)
        start, stop = int(ptr[first]), int(ptr[last])
        those = slice(int(structure.edge_rowptr[start]), int(structure.edge_rowptr[stop]))
        x, own_weight = some_rows(graphs.x, start, stop), None if weight is None else weight[those]
        own_ptr, graph = ptr[first : last + 1] - start, graphs.batch[start:stop] - first
        yield make_batch(x, edges[:, those] - start, own_weight, own_ptr, graph)
        first = last


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
    def __init__(self, in_features: int, hidden: int) -> None:
        super().__init__()
        self.inner = nn.Linear(in_features, hidden)
        self.outer = nn.Linear(hidden, hidden)
        self.norm = BatchNorm(hidden)
        init_xavier_(self)

    def reset_parameters(self) -> None:
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
