"""Batches of graphs as one disjoint union: rates, random ranks within each graph, pooling, induced subgraphs."""

import torch
from torch import Tensor
from torch_geometric.data import Data

from sfa.errors import InputError

Rate = float | Tensor
"""A probability from 0 to 1, one for all or one for each."""


def check_rate(name: str, rate: Rate, number: int) -> None:
    """Raise unless ``rate`` is a probability, or a tensor of ``number`` probabilities."""
    if isinstance(rate, Tensor) and rate.shape != (number,):
        raise InputError(f"{name} is one probability or {number} of them, not a tensor of shape {tuple(rate.shape)}.")
    rates = torch.as_tensor(rate, dtype=torch.float64)
    wrong = rates[~((rates >= 0) & (rates <= 1))]
    if len(wrong):
        what = "are probabilities" if isinstance(rate, Tensor) else "is a probability"
        raise InputError(f"{name} {what} from 0 to 1, not {wrong[0]:g}.")


def check_batch(batch: Data) -> None:
    """Raise unless ``batch`` has ``ptr`` and ``batch``, and dense features."""
    if batch.get("ptr") is None or batch.get("batch") is None:
        raise InputError("A batch of graphs needs ptr (G + 1,) and batch (N,), as torch_geometric's DataLoader makes.")
    if batch.x is not None and batch.x.layout != torch.strided:
        raise InputError("The features of a batch of graphs are sparse, and dense ones are needed: x.to_dense().")


def rate_counts(rate: float, sizes: Tensor) -> Tensor:
    """Compute ``floor(rate · size)`` ``(G,)`` of groups of these sizes; 0.29 of 100 is 29, despite rounding."""
    return (rate * sizes.double() * (1 + 2 * torch.finfo(torch.float64).eps)).long().minimum(sizes)


def random_ranks(group: Tensor, sizes: Tensor, generator: torch.Generator | None = None) -> Tensor:
    """Draw the rank ``(k,)``, from 0, of each element in a uniformly random order of its group.

    Groups ``(k,)`` ascend from 0 and have ``sizes`` ``(G,)``. Sort keys are the group and as many random bits as fit.
    """
    bits = min(62, 63 - len(sizes).bit_length())
    keys = torch.randint(2**bits, group.shape, generator=generator, device=group.device).add_(group << bits)
    return torch.empty_like(group).index_copy_(0, keys.argsort(), rank_in_group(group, sizes))


def rank_in_group(group: Tensor, sizes: Tensor) -> Tensor:
    """Return the position ``(k,)``, from 0, of each element in its group; groups are contiguous."""
    start = sizes.cumsum(0) - sizes
    return torch.arange(len(group), device=group.device) - start.index_select(0, group)


def undirected_edges(batch: Data) -> Tensor:
    """Count the undirected edges of each graph, ``(G,)``."""
    graph: Tensor = batch.batch.index_select(0, batch.edge_index[0])
    return graph.bincount(minlength=len(batch.ptr) - 1) // 2


def with_edges(batch: Data, edge_index: Tensor, edge_weight: Tensor | None) -> Data:
    """Return the same nodes with other edges; nothing else is copied."""
    return make_batch(batch.x, edge_index, edge_weight, batch.ptr, batch.batch)


def induce(batch: Data, keep: Tensor) -> Data:
    """Return the subgraphs that the nodes to keep, a mask ``(N,)``, induce, with as many graphs; some may be empty."""
    nodes = keep.nonzero().squeeze(1)
    number = keep.cumsum(0)
    row, col = batch.edge_index
    edges = (keep.index_select(0, row) & keep.index_select(0, col)).nonzero().squeeze(1)
    edge_index = number.index_select(0, batch.edge_index.index_select(1, edges).flatten()).view(2, -1) - 1
    edge_weight = None if batch.edge_weight is None else batch.edge_weight.index_select(0, edges)
    ptr = torch.cat([number.new_zeros(1), number]).index_select(0, batch.ptr)
    return make_batch(batch.x.index_select(0, nodes), edge_index, edge_weight, ptr, batch.batch.index_select(0, nodes))


def make_batch(x: Tensor, edge_index: Tensor, edge_weight: Tensor | None, ptr: Tensor, graph: Tensor) -> Data:
    """Build a batch of its parts, where ``graph`` ``(N,)`` is the graph of each node."""
    weight = {} if edge_weight is None else {"edge_weight": edge_weight}
    return Data(x=x, edge_index=edge_index, ptr=ptr, batch=graph, num_nodes=len(graph), **weight)


def sum_pool(h: Tensor, ptr: Tensor) -> Tensor:
    r"""Sum the rows of each graph, :math:`g_k = \sum_{i \in \text{graph } k} h_i`; zeros for a graph without nodes.

    Graph ``k`` has the rows ``ptr[k]`` to ``ptr[k + 1]`` of ``h`` ``(N, d)``. Half precision is summed in float32.
    """
    wide = h.to(torch.promote_types(h.dtype, torch.float32))
    return wide.new_zeros(len(ptr) - 1, *h.shape[1:]).index_add(0, graph_of_nodes(ptr, len(h)), wide)


def graph_of_nodes(ptr: Tensor, nodes: int) -> Tensor:
    """Return the graph of each node, ``(nodes,)``, of graphs that begin at ``ptr``."""
    sizes = ptr.diff()
    if int(ptr[0]) != 0 or int(ptr[-1]) != nodes or bool((sizes < 0).any()):
        raise InputError(f"ptr must rise from 0 to the number of nodes, {nodes}, and ends at {int(ptr[-1])}.")
    return torch.arange(len(sizes), device=ptr.device).repeat_interleave(sizes, output_size=nodes)
