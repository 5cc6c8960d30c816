"""Noise on purpose in a graph's edges: some of them join other nodes than they did."""

from __future__ import annotations

import copy

import torch
from torch import Tensor
from torch_geometric.data import Data

from sfa.errors import InputError
from sfa.graph.pattern import pattern_of
from sfa.graph.rewiring import new_pairs
from sfa.graph.sorted_edges import sorted_edges
from sfa.ranges import check_number
from sfa.seeding import derive_seed


def replace_edges(graph: Data, share: float, seed: int) -> Data:
    """A graph of as many edges, of which a share is replaced by random pairs of nodes that had none.

    Every set of so many undirected edges is as likely to go, and every set of pairs of different nodes without an edge
    as likely to come. An edge takes its weight with it. The draw depends on the seed and the edges alone. Features stay
    as they are, those too that were made of the edges. The result says what was done to it, as ``edge_noise``.

    Args:
        graph: Undirected, each edge in both directions, as :func:`sfa.data.as_graph` makes it.
        share: Of the undirected edges, from 0 to 1; rounded to whole edges.
        seed: Source of randomness.
    """
    check_number("share", share, at_most=1)
    n, given = graph.num_nodes, graph.edge_index.cpu()
    pattern = pattern_of(given, n)
    edges = pattern.undirected[1]
    count = round(share * edges)
    if count == 0:
        return graph
    _check_free(n, edges, count, share)
    generator = torch.Generator().manual_seed(derive_seed(seed, 8))
    pair = torch.full((edges,), -1)
    pair[torch.randperm(edges, generator=generator)[:count]] = torch.arange(count)
    new = _free_pairs(pattern.sorted(given.T).T, n, count, generator)
    joined, place = sorted_edges(*_moved(given, pair[pattern.undirected[0]], new), n)
    noisy = copy.copy(graph)
    noisy.edge_index = joined.to(graph.edge_index.device)
    if graph.edge_weight is not None:
        noisy.edge_weight = graph.edge_weight[place.to(graph.edge_weight.device)]
    noisy.edge_noise = share
    return noisy


def _check_free(nodes: int, edges: int, count: int, share: float) -> None:
    free = nodes * (nodes - 1) // 2 - edges
    if free < count:
        raise InputError(
            f"The graph has {free} pairs of nodes without an edge, and an edge noise of {share:g} would put {count} of "
            f"its {edges} edges there: take less."
        )


def _free_pairs(edge_index: Tensor, nodes: int, count: int, generator: torch.Generator) -> Tensor:
    """``(2, count)``: different pairs that sorted edges do not join, each with the smaller node first."""
    one_graph = torch.zeros(nodes, dtype=torch.int64)
    return new_pairs(edge_index, torch.tensor([0, nodes]), one_graph, torch.tensor([count]), generator)


def _moved(edge_index: Tensor, pair: Tensor, new: Tensor) -> tuple[Tensor, Tensor]:
    """Rows and columns ``(m,)`` of the edges, those with the number of a new pair there, the two directions apart."""
    row, col = edge_index
    low, high = new[:, pair.clamp_min(0)]
    stays, up = pair < 0, row < col
    return torch.where(stays, row, torch.where(up, low, high)), torch.where(stays, col, torch.where(up, high, low))
