"""Pairs of nodes of a graph that a generator decides on: its edges, and a sample of the pairs that are none."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.utils import softmax

from sfa.graph.batches import induced, undirected_edges, with_edges
from sfa.graph.pattern import Pattern, pattern_of
from sfa.graph.rewiring import rewired
from sfa.graph.sorted_edges import sorted_edges
from sfa.graph.walks import Transitions, random_walks


class Candidates(NamedTuple):
    """``k`` undirected pairs of nodes of the same graph, in the order of (smaller, larger) node."""

    pairs: Tensor
    """``(2, k)``, the smaller node first."""
    graph: Tensor
    """``(k,)``: the graph of each."""
    joined: Tensor
    """``(k,)``: whether it is an edge of the batch."""
    stands_for: Tensor
    """``(k,)``: 1 for an edge; for another pair, how many of its graph there are to each that was drawn."""
    pattern: Pattern
    """Where they are as entries of a matrix, in both directions."""


def candidate_pairs(batch: Data, generator: torch.Generator | None = None) -> Candidates:
    """All edges of a batch of graphs and, in each graph, a uniform sample of as many pairs that are none.

    Of a graph that is nearly complete all pairs are candidates, and each stands for itself.
    """
    edges = undirected_edges(batch)
    union = rewired(with_edges(batch, batch.edge_index, None), torch.zeros_like(edges), edges, generator).edge_index
    pairs = union[:, union[0] < union[1]]
    graph = batch.batch.index_select(0, pairs[0])
    joined = Transitions(pattern_of(batch.edge_index, batch.num_nodes)).joins(*pairs)
    nodes = batch.ptr.diff()
    others, drawn = nodes * (nodes - 1) // 2 - edges, graph[~joined].bincount(minlength=len(nodes))
    weight = (others / drawn.clamp_min(1)).to(batch.x.dtype)
    return Candidates(
        pairs, graph, joined, weight.index_select(0, graph).where(~joined, 1), Pattern(union, batch.num_nodes)
    )


def step_chances(candidates: Candidates, scores: Tensor, least: float) -> Tensor:
    r"""How likely a walk goes from ``i`` to ``j``, for all candidates in both directions, ``(2 k,)`` in sorted order.

    .. math::
        p(i \to j) = \frac{w_{ij}\, e^{s_{ij}}}{\sum_k w_{ik}\, e^{s_{ik}}}

    with :math:`w` for the number of pairs that a candidate stands for, so that the sum estimates that over all pairs.
    Pairs that each have less than ``least`` of it are left out, unless a node would be left with none.

    Args:
        candidates: ``k`` pairs.
        scores: ``s``, ``(k,)``.
        least: Probability of a step.
    """
    pattern = candidates.pattern
    number, _ = pattern.undirected
    row = torch.arange(pattern.num_nodes, device=number.device).repeat_interleave(pattern.edge_rowptr.diff())
    weight = candidates.stands_for.index_select(0, number)
    chances: Tensor = softmax(scores.index_select(0, number) + weight.log(), row, num_nodes=pattern.num_nodes)
    kept = chances >= least * weight
    some = torch.zeros(pattern.num_nodes, dtype=torch.bool, device=row.device).index_fill(0, row[kept], True)
    return chances.where(kept | ~some.index_select(0, row), 0)


def walked_view(
    batch: Data, transitions: Transitions, walks: int, length: int, generator: torch.Generator | None = None
) -> Data:
    """The nodes that ``walks`` random walks on each graph pass, of ``length`` steps each, joined where one went.

    Walks start at nodes drawn uniformly, with replacement. The view is undirected and without weights; a graph without
    nodes stays so.
    """
    nodes = batch.ptr.diff()
    first, size = batch.ptr[:-1][nodes > 0, None], nodes[nodes > 0, None]
    # No product of a float64 below 1 and a whole number rounds up to that number.
    draw = torch.rand(len(size), walks, dtype=torch.float64, generator=generator, device=size.device)
    paths = random_walks(transitions, (first + (draw * size).long()).flatten(), length, generator)
    passed = torch.zeros(batch.num_nodes, dtype=torch.bool, device=paths.device).index_fill(0, paths.flatten(), True)
    here, there = paths[:-1].flatten(), paths[1:].flatten()
    here, there = here[here != there], there[here != there]
    steps, _ = sorted_edges(torch.cat([here, there]), torch.cat([there, here]), batch.num_nodes)
    return induced(with_edges(batch, steps, None), passed)
