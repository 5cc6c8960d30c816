"""Batches of graphs as one disjoint union: rates, ranks, pooling, induced subgraphs, and random changes of edges."""

import copy

import torch
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.utils import cumsum, subgraph

from sfa.errors import InputError
from sfa.graph.structure import csr_structure, is_stored, sort_edges, structure_of
from sfa.graph.walks import draw_below
from sfa.ranges import check_number
from sfa.seeding import derive_seed

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
    """Draw the rank ``(k,)``, from 0, of each element in a random order of its group; groups ``(k,)`` ascend from 0."""
    bits = min(62, 63 - len(sizes).bit_length())  # a sort key is the group and as many random bits as fit
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
    nodes, x, graph = keep.nonzero().squeeze(1), batch.x, batch.batch
    edges, weights = subgraph(keep, batch.edge_index, batch.edge_weight, relabel_nodes=True, num_nodes=len(keep))
    ptr = cumsum(keep.long()).index_select(0, batch.ptr)
    return make_batch(x.index_select(0, nodes), edges, weights, ptr, graph.index_select(0, nodes))


def make_batch(x: Tensor, edge_index: Tensor, edge_weight: Tensor | None, ptr: Tensor, graph: Tensor) -> Data:
    """Build a batch of its parts, where ``graph`` ``(N,)`` is the graph of each node."""
    return Data(x=x, edge_index=edge_index, ptr=ptr, batch=graph, num_nodes=len(graph), edge_weight=edge_weight)


def sum_pool(h: Tensor, ptr: Tensor) -> Tensor:
    """Sum the rows ``ptr[k]`` to ``ptr[k + 1]`` of ``h`` ``(N, d)`` for each graph ``k``, half precision in float32."""
    wide = h.to(torch.promote_types(h.dtype, torch.float32))
    return wide.new_zeros(len(ptr) - 1, *h.shape[1:]).index_add(0, graph_of_nodes(ptr, len(h)), wide)


def graph_of_nodes(ptr: Tensor, nodes: int) -> Tensor:
    """Return the graph of each node, ``(nodes,)``, of graphs that begin at ``ptr``."""
    sizes = ptr.diff()
    if int(ptr[0]) != 0 or int(ptr[-1]) != nodes or bool((sizes < 0).any()):
        raise InputError(f"ptr must rise from 0 to the number of nodes, {nodes}, and ends at {int(ptr[-1])}.")
    return torch.arange(len(sizes), device=ptr.device).repeat_interleave(sizes, output_size=nodes)


def rewire(batch: Data, drop: Tensor, add: Tensor, generator: torch.Generator | None = None) -> Data:
    """Remove ``drop`` ``(G,)`` undirected edges of each graph, and add ``add`` ``(G,)`` that it did not have.

    Every set of edges is as likely to go, and every set of pairs of different nodes without an edge as likely to come;
    if there are fewer such pairs, all come. A new edge has the weight of a random edge of its graph.
    """
    structure = structure_of(batch)
    edge_index = structure.sorted(batch.edge_index.T).T
    weight = None if batch.edge_weight is None else structure.sorted(batch.edge_weight)
    graph = batch.batch.index_select(0, edge_index[0])
    number, edges = structure.sorted(structure.undirected[0]), structure.undirected[1]
    graph_of_undirected = graph.new_empty(edges).index_copy_(0, number, graph)
    ranks = random_ranks(graph_of_undirected, graph_of_undirected.bincount(minlength=len(drop)), generator)
    kept = (ranks >= drop.index_select(0, graph_of_undirected)).index_select(0, number).nonzero().squeeze(1)
    left, weights = edge_index.index_select(1, kept), None if weight is None else weight.index_select(0, kept)
    if not bool(add.any()):
        return with_edges(batch, left, weights)
    new = draw_new_pairs(edge_index, batch.ptr, batch.batch, add, generator)
    row, col = torch.cat([left, new, new.flip(0)], dim=1)
    joined, given = sort_edges(row, col, batch.num_nodes)
    if weight is not None and weights is not None:
        of_new, size = batch.batch.index_select(0, new[0]), graph.bincount(minlength=len(add))
        some_edge = (size.cumsum(0) - size)[of_new] + draw_below(size[of_new], generator)
        weights = torch.cat([weights, *[weight.index_select(0, some_edge)] * 2]).index_select(0, given)
    return with_edges(batch, joined, weights)


def draw_new_pairs(
    edge_index: Tensor, ptr: Tensor, graph: Tensor, add: Tensor, generator: torch.Generator | None
) -> Tensor:
    """Draw pairs ``(2, k)`` of nodes without an edge, the smaller node first, ``add`` ``(G,)`` of each graph.

    The ordered pairs of different nodes are numbered through all graphs, ``n_g - 1`` a row, and those without an edge
    are numbered among themselves, so that no draw hits an edge.
    """
    size = ptr.diff()
    width = (size - 1).clamp_min(0)
    first = (size * width).cumsum(0) - size * width
    row, col = edge_index
    of_edge = graph.index_select(0, row)
    local = (row - ptr[of_edge]) * width[of_edge] + col - ptr[of_edge] - (col > row).long()
    free_before = first[of_edge] + local - torch.arange(len(row), device=row.device)
    free = size * width - of_edge.bincount(minlength=len(size))

    pool = free.minimum(torch.where(add > 0, 4 * add + 16, 0))  # more than needed, as some come twice
    of_pool = torch.arange(len(size), device=row.device).repeat_interleave(pool)
    drawn = draw_below(free[of_pool], generator)
    drawn = torch.where((pool == free)[of_pool], rank_in_group(of_pool, pool), drawn) + (free.cumsum(0) - free)[of_pool]
    local = drawn + torch.searchsorted(free_before, drawn, right=True) - first[of_pool]
    row, col = local // width[of_pool], local % width[of_pool]
    ends = torch.stack([row, col + (col >= row)]) + ptr[of_pool]

    keys = torch.unique(torch.minimum(*ends) * len(graph) + torch.maximum(*ends))
    pairs = torch.stack([keys // len(graph), keys % len(graph)])
    of_pair = graph.index_select(0, pairs[0])
    ranks = random_ranks(of_pair, of_pair.bincount(minlength=len(size)), generator)
    return pairs[:, ranks < add[of_pair]]


def replace_edges(graph: Data, share: float, seed: int) -> Data:
    """Replace a fraction of the undirected edges of a graph by random pairs of nodes that had none.

    Every set of edges is as likely to go, and every set of pairs as likely to come. An edge takes its weight with it.
    The draw depends only on the seed and the edges. The result has the fraction as its ``edge_noise``.
    """
    check_number("share", share, at_most=1)
    if is_stored(graph):
        raise InputError("The edges of a stored graph cannot be replaced: leave out edge_noise.")
    n, given = graph.num_nodes, graph.edge_index.cpu()
    structure = csr_structure(given, n)
    number, edges = structure.undirected
    count, free = round(share * edges), n * (n - 1) // 2 - edges
    if count == 0:
        return graph
    if free < count:
        raise InputError(
            f"The graph has {free} pairs of nodes without an edge, and an edge noise of {share:g} would put {count} of "
            f"its {edges} edges there: take less."
        )
    generator = torch.Generator().manual_seed(derive_seed(seed, 8))
    new_of = torch.full((edges,), -1)  # the number of the new pair that each undirected edge becomes
    new_of[torch.randperm(edges, generator=generator)[:count]] = torch.arange(count)
    one_graph = torch.tensor([0, n]), torch.zeros(n, dtype=torch.int64)
    new = draw_new_pairs(structure.sorted(given.T).T, *one_graph, torch.tensor([count]), generator)
    new_of = new_of[number]
    ends = new[:, new_of.clamp_min(0)]
    ends = torch.where(given[0] < given[1], ends, ends.flip(0))
    row, col = torch.where(new_of < 0, given, ends)
    joined, place = sort_edges(row, col, n)
    noisy = copy.copy(graph)
    noisy.edge_index, noisy.edge_noise = joined.to(graph.edge_index.device), share
    if graph.edge_weight is not None:
        noisy.edge_weight = graph.edge_weight[place.to(graph.edge_weight.device)]
    return noisy
