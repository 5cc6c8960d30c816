"""Batches of graphs as one disjoint union: counts and random ranks within each graph, and nodes cut out of all."""

from __future__ import annotations

import torch
from torch import Tensor
from torch_geometric.data import Data

from sfa.errors import InputError
from sfa.graph.rates import Rate, check_rate


def check_batch(batch: Data) -> None:
    """``batch`` says where its graphs begin, and which graph each node is of."""
    if batch.get("ptr") is None or batch.get("batch") is None:
        raise InputError(
            "A batch of graphs has ptr (G + 1,) and batch (N,), as torch_geometric's DataLoader and Batch make them, "
            "and this graph has not."
        )
    if batch.x is not None and batch.x.layout != torch.strided:
        raise InputError("The features of a batch of graphs are sparse, and dense ones are needed: x.to_dense().")


def shares(name: str, rate: Rate, sizes: Tensor) -> Tensor:
    """``(G,)`` whole numbers ``floor(rate · size)`` of groups of these sizes, with one rate for all or one for each.

    What is whole but for rounding counts as whole: 0.7 of 10 is 7, in float32 too.
    """
    check_rate(name, rate, len(sizes))
    precision = torch.finfo(rate.dtype).eps if isinstance(rate, Tensor) else torch.finfo(torch.float64).eps
    share = rate.double() if isinstance(rate, Tensor) else rate
    return (share * sizes.double() * (1 + 2 * precision)).long().minimum(sizes)


def random_ranks(group: Tensor, sizes: Tensor, generator: torch.Generator | None = None) -> Tensor:
    """``(k,)``: each thing's place, from 0, in a random order of its group, every order as likely.

    One sort of ``k`` keys, which are the group followed by as many random bits as there is room for.

    Args:
        group: ``(k,)``, ascending, from 0.
        sizes: ``(G,)``, how many things each group has; they sum to ``k``.
        generator: Source of randomness.
    """
    bits = min(62, 63 - len(sizes).bit_length())
    keys = torch.randint(2**bits, group.shape, generator=generator, device=group.device).add_(group << bits)
    return torch.empty_like(group).index_copy_(0, keys.argsort(), places(group, sizes))


def places(group: Tensor, sizes: Tensor) -> Tensor:
    """``(k,)``: each thing's place, from 0, among those of its group, which stand together."""
    start = sizes.cumsum(0) - sizes
    return torch.arange(len(group), device=group.device) - start.index_select(0, group)


def undirected_edges(batch: Data) -> Tensor:
    """``(G,)``: how many undirected edges each graph has."""
    graph: Tensor = batch.batch.index_select(0, batch.edge_index[0])
    return graph.bincount(minlength=len(batch.ptr) - 1) // 2


def with_features(batch: Data, x: Tensor) -> Data:
    """The same graphs with other node features ``(N, d)``; nothing else is copied."""
    return _batch(x, batch.edge_index, batch.edge_weight, batch.ptr, batch.batch)


def with_edges(batch: Data, edge_index: Tensor, edge_weight: Tensor | None) -> Data:
    """The same nodes with other edges; nothing else is copied."""
    return _batch(batch.x, edge_index, edge_weight, batch.ptr, batch.batch)


def induced(batch: Data, keep: Tensor) -> Data:
    """The batch of the nodes to keep, ``(N,)`` true or false, and of all edges among them: as many graphs as before.

    Nodes are numbered anew in their old order; a graph may be left with none.
    """
    nodes = keep.nonzero().squeeze(1)
    number = keep.cumsum(0)
    row, col = batch.edge_index
    edges = (keep.index_select(0, row) & keep.index_select(0, col)).nonzero().squeeze(1)
    edge_index = number.index_select(0, batch.edge_index.index_select(1, edges).flatten()).view(2, -1) - 1
    edge_weight = None if batch.edge_weight is None else batch.edge_weight.index_select(0, edges)
    ptr = torch.cat([number.new_zeros(1), number]).index_select(0, batch.ptr)
    return _batch(batch.x.index_select(0, nodes), edge_index, edge_weight, ptr, batch.batch.index_select(0, nodes))


def _batch(x: Tensor, edge_index: Tensor, edge_weight: Tensor | None, ptr: Tensor, graph: Tensor) -> Data:
    batch = Data(x=x, edge_index=edge_index, ptr=ptr, batch=graph, num_nodes=len(graph))
    if edge_weight is not None:
        batch.edge_weight = edge_weight
    return batch
