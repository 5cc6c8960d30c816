"""Encoders of graphs: GIN, graph convolutions, and the sum pooling that they share."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch_geometric.data import Data

from sfa.errors import InputError
from sfa.graph.batches import check_batch, make_batch, sum_pool
from sfa.graph.structure import some_rows, structure_of
from sfa.modes import evaluating
from sfa.nn.layers import BatchNorm, check_batch_size, check_sizes, init_xavier_
from sfa.nn.node_encoders import CHUNK, Convolution
from sfa.nn.sparse import Propagation, neighbor_sums, propagation_of
from sfa.ranges import FewCount, Width
from sfa.registry import register
from sfa.tasks import Task


class GraphEncoder(nn.Module, ABC):
    r"""A stack of layers with the readout of InfoGraph and GraphCL: sums over the nodes of a graph, side by side.

    .. math::
        g = \Big\Vert_{l=1}^{L} \; \sum_{i} h_i^{(l)}

    A batch is the disjoint union of ``G`` undirected graphs, as PyTorch Geometric's ``DataLoader`` makes it, with
    ``edge_index`` ``(2, m)`` in both directions, ``ptr`` ``(G + 1,)`` and ``batch`` ``(N,)``.

    Args:
        hidden: Width of a layer; embeddings are ``hidden * layers`` wide.
        layers: Number of layers.
    """

    task: ClassVar[Task] = "graph"
    across_processes: bool = False  # whether the nodes of all processes are one batch: sfa.distributed

    def __init__(self, hidden: int, layers: int) -> None:
        super().__init__()
        check_sizes(hidden, layers)
        self.width = hidden * layers

    @abstractmethod
    def layer_outputs(self, batch: Data, generator: torch.Generator | None = None) -> Iterator[Tensor]:
        """Yield the node embeddings ``(N, hidden)`` of each layer, from the first to the last."""

    def nodes(self, batch: Data, generator: torch.Generator | None = None) -> Tensor:
        """Compute embeddings ``(N, width)`` of the nodes: the outputs of all layers side by side."""
        self._check(batch)
        return torch.cat(list(self.layer_outputs(batch, generator)), dim=1)

    def forward(self, batch: Data, generator: torch.Generator | None = None) -> Tensor:
        """Compute embeddings ``(G, width)`` of the graphs: those of :meth:`nodes`, summed over each graph."""
        self._check(batch)
        return torch.cat([sum_pool(h, batch.ptr) for h in self.layer_outputs(batch, generator)], dim=1)

    @torch.no_grad()
    def embed(self, data: Data, *, chunk: int = CHUNK) -> Tensor:
        """Compute the output in ``eval()``, some ``chunk`` nodes of whole graphs at a time."""
        with evaluating(self):
            return torch.cat([self(part) for part in whole_graphs(data, chunk)])

    def _check(self, batch: Data) -> None:
        check_batch(batch)
        check_batch_size(self, batch.num_nodes, "nodes in a batch of graphs")


def features_of(batch: Data, dtype: torch.dtype) -> Tensor:
    """Return the features ``(N, d)`` of a batch, with zeros in the columns that its ``feature_mask`` leaves out."""
    x: Tensor = batch.x.to(dtype)
    mask = batch.get("feature_mask")
    return x if mask is None else x * mask.to(dtype)


def whole_graphs(data: Data, chunk: int) -> Iterator[Data]:
    """Yield batches of the graphs in order, of at most ``chunk`` nodes; a larger graph is a batch of its own."""
    check_batch(data)
    if not torch.equal(*data.batch[data.edge_index]):
        raise InputError("An edge joins nodes of two graphs, which are to be embedded each for itself.")
    if data.num_nodes <= chunk:
        yield data
        return
    ptr, structure = data.ptr, structure_of(data)
    edges = torch.stack([structure.sorted(end) for end in data.edge_index])
    weight = None if data.edge_weight is None else structure.sorted(data.edge_weight)
    first = 0
    while first < len(ptr) - 1:
        last = max(first + 1, int(torch.searchsorted(ptr, ptr[first] + chunk, right=True)) - 1)
        start, stop = int(ptr[first]), int(ptr[last])
        own = slice(int(structure.edge_rowptr[start]), int(structure.edge_rowptr[stop]))
        yield make_batch(
            some_rows(data.x, start, stop),
            edges[:, own] - start,
            None if weight is None else weight[own],
            ptr[first : last + 1] - start,
            data.batch[start:stop] - first,
        )
        first = last


@register("encoder", "gin")
class GIN(GraphEncoder):
    r"""Layers that add the neighbors' features to a node's own and apply a perceptron to the sum.

    From `"How Powerful are Graph Neural Networks?" <https://arxiv.org/abs/1810.00826>`_ (Xu et al., 2019).

    .. math::
        h_i^{(l+1)} = \mathrm{BN}\Big( \mathrm{ReLU}\Big( \mathrm{MLP}_l \Big(
        (1 + \epsilon) \, h_i^{(l)} + \sum_{j} w_{ij} h_j^{(l)} \Big) \Big) \Big), \qquad \epsilon = 0

    over the neighbors :math:`j` of :math:`i`, with perceptrons Linear–ReLU–Linear, Xavier-initialized with biases of 0.
    """

    def __init__(self, in_features: int, hidden: Width = 32, *, layers: FewCount = 3) -> None:
        super().__init__(hidden, layers)
        self.layers = nn.ModuleList(Layer(hidden if layer else in_features, hidden) for layer in range(layers))

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
        return self.norm(self.outer(inner.relu()).relu())  # type: ignore[no-any-return]


@register("encoder", "pooled-gcn")
class PooledGCN(GraphEncoder):
    """The stack of :class:`~sfa.nn.gin.GIN` with the paper's convolution (Eq. 1) in place of sum and perceptron."""

    def __init__(self, in_features: int, hidden: Width = 32, *, layers: FewCount = 3) -> None:
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
