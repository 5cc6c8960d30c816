"""Subgraphs around seed nodes: sampled neighbors, hop by hop, and random walks."""

from __future__ import annotations

from typing import Annotated

import torch
from annotated_types import MinLen
from torch import Tensor
from torch_geometric.data import Data

from sfa.errors import InputError
from sfa.graph.draws import distinct_below
from sfa.graph.structure import row_entries, sort_edges
from sfa.graph.walks import Transitions, random_walks
from sfa.ranges import Count, check_whole
from sfa.registry import register
from sfa.sampling.base import GraphSampler

Fanouts = Annotated[tuple[Count, ...], MinLen(1)]


@register("sampler", "neighbours")
class Neighbors(GraphSampler):
    r"""The seeds, which are the roots, and around them some neighbors, some neighbors of those, and so on.

    The uniform sampling of `"Inductive Representation Learning on Large Graphs" <https://arxiv.org/abs/1706.02216>`_
    (GraphSAGE; Hamilton et al., 2017):

    .. math::
        F_0 = \text{seeds}, \qquad F_h = \bigcup_{v \in F_{h-1}} S_h(v) \setminus \bigcup_{g < h} F_g

    where :math:`S_h(v)` are ``fanouts[h - 1]`` distinct neighbors of ``v``, drawn uniformly, or all that it has. The
    edges are those sampled, in both directions. With fanouts of the largest degree, ``layers`` graph convolutions give
    the roots their embeddings of the whole graph from ``layers + 1`` hops on: the last one completes all degrees.

    Args:
        batch_size: Roots of a step at most.
        fanouts: Neighbors at most that a node is asked for, hop by hop.
    """

    def __init__(self, data: Data, *, batch_size: Count = 1024, fanouts: Fanouts = (10, 10)) -> None:
        if not isinstance(fanouts, (tuple, list)) or not fanouts:
            raise InputError(f"fanouts must hold a number of neighbors for each of one hop or more, not {fanouts!r}.")
        for fanout in fanouts:
            check_whole("A fanout", fanout, 1)
        super().__init__(data, batch_size=batch_size)
        self.fanouts = tuple(fanouts)

    def subgraph(self, seeds: Tensor, generator: torch.Generator) -> Data:
        hops, sampled = [seeds], []
        with self._lend_table(hops) as number:
            number[seeds] = torch.arange(len(seeds))
            for fanout in self.fanouts:
                source, entry = sample_entries(self._structure.edge_rowptr, hops[-1], fanout, generator)
                target = self._structure.edge_col.index_select(0, entry)
                hops.append(torch.unique(target[number.index_select(0, target) < 0]))
                number[hops[-1]] = torch.arange(len(hops[-1])) + sum(map(len, hops[:-1]))
                sampled.append(torch.stack([source, target, entry]))
            source, target, entry = torch.cat(sampled, dim=1)
            nodes, row, col = torch.cat(hops), number.index_select(0, source), number.index_select(0, target)
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


@register("sampler", "random-walks")
class RandomWalks(GraphSampler):
    """All nodes that random walks from the seeds visit, all of them roots, and all edges among them.

    The random-walk sampler of `"GraphSAINT: Graph Sampling Based Inductive Learning Method"
    <https://arxiv.org/abs/1907.04931>`_ (Zeng et al., 2020); edge weights do not steer the walks. A step has at most
    ``batch_size · (length + 1)`` nodes. Finding its edges costs the sum of their degrees.

    Args:
        batch_size: Walks of a step at most.
        length: Edges of a walk.
    """

    def __init__(self, data: Data, *, batch_size: Count = 512, length: Count = 3) -> None:
        check_whole("length", length, 1)
        super().__init__(data, batch_size=batch_size)
        self.length = length
        self._transitions = Transitions(self._structure)

    def subgraph(self, seeds: Tensor, generator: torch.Generator) -> Data:
        walks = random_walks(self._transitions, seeds, self.length, generator)
        return self._induce(torch.unique(walks))
