"""Uniform sampling of neighbors, hop by hop (GraphSAGE: Hamilton et al., 2017)."""

from __future__ import annotations

from typing import Annotated

import torch
from annotated_types import MinLen
from torch import Tensor
from torch_geometric.data import Data

from sfa.errors import InputError
from sfa.graph.draws import distinct_below
from sfa.graph.structure import row_entries, sort_edges
from sfa.ranges import Count, check_whole
from sfa.registry import register
from sfa.sampling.base import GraphSampler

Fanouts = Annotated[tuple[Count, ...], MinLen(1)]


@register("sampler", "neighbours")
class Neighbors(GraphSampler):
    r"""The seeds, which are the roots, and around them some neighbours, some neighbours of those, and so on.

    .. math::
        F_0 = \text{seeds}, \qquad F_h = \bigcup_{v \in F_{h-1}} S_h(v) \setminus \bigcup_{g < h} F_g

    where :math:`S_h(v)` are ``fanouts[h - 1]`` distinct neighbors of ``v``, every set of them as likely, or all that
    it has. Nodes are asked for neighbors once, when they are reached. The edges are those sampled, in both directions.

    A graph convolution of a batch normalizes with the degrees of the batch. With no fewer than the largest degree
    at every hop, ``layers`` convolutions give the roots their embeddings of the whole graph from ``layers + 1`` hops
    on: the last hop completes the degrees of those before it.

    Args:
        graph: The whole graph.
        batch_size: Roots of a step at most.
        fanouts: Neighbors at most that a node is asked for, hop by hop.
    """

    def __init__(self, graph: Data, *, batch_size: Count = 1024, fanouts: Fanouts = (10, 10)) -> None:
        if not isinstance(fanouts, (tuple, list)) or not fanouts:
            raise InputError(f"fanouts must hold a number of neighbours for each of one hop or more, not {fanouts!r}.")
        for fanout in fanouts:
            check_whole("A fanout", fanout, 1)
        super().__init__(graph, batch_size=batch_size)
        self.fanouts = tuple(fanouts)

    def subgraph(self, seeds: Tensor, generator: torch.Generator) -> Data:
        sampled = []
        with self._numbering as numbers:
            numbers.add(seeds)
            frontier = seeds
            for fanout in self.fanouts:
                source, entry = sample_entries(self._structure.edge_rowptr, frontier, fanout, generator)
                target = self._structure.edge_col.index_select(0, entry)
                frontier = torch.unique(target[numbers[target] < 0])
                numbers.add(frontier)
                sampled.append(torch.stack([source, target, entry]))
            source, target, entry = torch.cat(sampled, dim=1)
            nodes, row, col = numbers.nodes, numbers[source], numbers[target]
        edge_index, given = sort_edges(torch.cat([row, col]), torch.cat([col, row]), len(nodes))
        weight = None
        if self._weight is not None:
            weight = self._weight[torch.cat([entry, self._structure.edge_twin[entry]])[given]]
        return self._cut(nodes, edge_index, weight, roots=len(seeds))


def sample_entries(rowptr: Tensor, rows: Tensor, count: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Draw up to ``count`` entries of each of some rows of a CSR matrix: all that it has, or a uniform set of so many.

    Returns:
        The row of each entry, ``(m,)``, and where it stands among the entries of the matrix, ``(m,)``.
    """
    degree = rowptr[rows + 1] - rowptr[rows]
    few, many = rows[degree <= count], rows[degree > count]
    entries, picked = row_entries(rowptr, few)
    source = few.repeat_interleave(picked.diff(), output_size=len(entries))
    if len(many) == 0:
        return source, entries
    sampled = rowptr[many] + distinct_below(degree[degree > count], count, generator)
    return torch.cat([source, many.repeat(count)]), torch.cat([entries, sampled.flatten()])
