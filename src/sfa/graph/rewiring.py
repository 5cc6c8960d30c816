"""Edges of graphs removed and added at random: an exact number in each graph of a batch."""

from __future__ import annotations

import torch
from torch import Tensor
from torch_geometric.data import Data

from sfa.graph.batches import places, random_ranks, with_edges
from sfa.graph.pattern import Pattern, pattern_of
from sfa.graph.sorted_edges import sorted_edges

SPARE = 4, 16
"""Pairs drawn for each that is wanted, and beyond that, as some come twice; where no more are free all are taken."""


def rewired(batch: Data, drop: Tensor, add: Tensor, generator: torch.Generator | None = None) -> Data:
    """The batch without so many undirected edges of each graph, ``(G,)``, and with so many that it did not have.

    Every set of edges of a graph is as likely to go, and every set of its pairs of different nodes without an edge as
    likely to come; if there are fewer such pairs, all come. The two directions of an edge go and come together, and a
    new one has the weight of a random edge of its graph, if edges have weights.
    """
    pattern = pattern_of(batch.edge_index, batch.num_nodes)
    edge_index = pattern.sorted(batch.edge_index.T).T
    weight = None if batch.edge_weight is None else pattern.sorted(batch.edge_weight)
    graph = batch.batch.index_select(0, edge_index[0])
    kept = _kept(pattern, graph, drop, generator).nonzero().squeeze(1)
    left = edge_index.index_select(1, kept)
    left_weight = None if weight is None else weight.index_select(0, kept)
    if not bool(add.any()):
        return with_edges(batch, left, left_weight)
    new = new_pairs(edge_index, batch.ptr, batch.batch, add, generator)
    row, col = torch.cat([left, new, new.flip(0)], dim=1)
    joined, given = sorted_edges(row, col, batch.num_nodes)
    if weight is None or left_weight is None:
        return with_edges(batch, joined, None)
    new_weight = _weights(weight, graph, batch.batch.index_select(0, new[0]), len(add), generator)
    return with_edges(batch, joined, torch.cat([left_weight, new_weight, new_weight]).index_select(0, given))


def new_pairs(edge_index: Tensor, ptr: Tensor, graph: Tensor, add: Tensor, generator: torch.Generator | None) -> Tensor:
    """``(2, k)``: pairs of nodes without an edge, each once with the smaller node first, in so many of each graph.

    The ordered pairs of different nodes are numbered through all graphs, ``n_g - 1`` a row, and those without an edge
    are numbered among themselves: no pair is drawn in vain because it is an edge. Pairs drawn twice count once, so that
    what is left is a random order of distinct ones.
    """
    size = ptr.diff()
    width = (size - 1).clamp_min(0)
    first = (size * width).cumsum(0) - size * width
    row, col = edge_index
    of_edge = graph.index_select(0, row)
    local = (row - ptr[of_edge]) * width[of_edge] + col - ptr[of_edge] - (col > row).long()
    free_before = first[of_edge] + local - torch.arange(len(row), device=row.device)
    free = size * width - of_edge.bincount(minlength=len(size))

    pool = free.minimum(torch.where(add > 0, SPARE[0] * add + SPARE[1], 0))
    of_pool = torch.arange(len(size), device=row.device).repeat_interleave(pool)
    drawn = _below(free[of_pool], generator)
    drawn = torch.where((pool == free)[of_pool], places(of_pool, pool), drawn) + (free.cumsum(0) - free)[of_pool]
    local = drawn + torch.searchsorted(free_before, drawn, right=True) - first[of_pool]
    row, col = local // width[of_pool], local % width[of_pool]
    ends = torch.stack([row, col + (col >= row)]) + ptr[of_pool]

    keys = torch.unique(torch.minimum(*ends) * len(graph) + torch.maximum(*ends))
    pairs = torch.stack([keys // len(graph), keys % len(graph)])
    of_pair = graph.index_select(0, pairs[0])
    ranks = random_ranks(of_pair, of_pair.bincount(minlength=len(size)), generator)
    return pairs[:, ranks < add[of_pair]]


def _kept(pattern: Pattern, graph: Tensor, drop: Tensor, generator: torch.Generator | None) -> Tensor:
    """``(m,)``: which of the sorted edges, each in its graph, stay."""
    given, edges = pattern.undirected
    number = pattern.sorted(given)
    graph_of = graph.new_empty(edges).index_copy_(0, number, graph)
    ranks = random_ranks(graph_of, graph_of.bincount(minlength=len(drop)), generator)
    return (ranks >= drop.index_select(0, graph_of)).index_select(0, number)


def _weights(weight: Tensor, graph: Tensor, of_new: Tensor, graphs: int, generator: torch.Generator | None) -> Tensor:
    """The weight of a random edge of the same graph for each new edge."""
    size = graph.bincount(minlength=graphs)
    start = size.cumsum(0) - size
    return weight.index_select(0, start[of_new] + _below(size[of_new], generator))


def _below(bounds: Tensor, generator: torch.Generator | None) -> Tensor:
    """For each of the bounds ≥ 1 a whole number from 0 to the bound minus 1."""
    # No product of a float64 below 1 and a whole number rounds up to that number.
    draw = torch.rand(bounds.shape, dtype=torch.float64, generator=generator, device=bounds.device)
    return (draw * bounds).long()
