"""Samplers of subgraphs: neighbors hop by hop, random walks, and METIS clusters."""

from typing import Annotated
from weakref import WeakKeyDictionary

import torch
from annotated_types import MinLen
from torch import Tensor
from torch_geometric.data import Data

from sfa.errors import InputError
from sfa.graph.draws import distinct_below
from sfa.graph.structure import CSRStructure, row_entries, sort_edges
from sfa.graph.walks import Transitions, random_walks
from sfa.ranges import Count, check_whole
from sfa.registry import register
from sfa.sampling.base import GraphSampler

Fanouts = Annotated[tuple[Count, ...], MinLen(1)]
_CLUSTERS: WeakKeyDictionary[CSRStructure, dict[int, Tensor]] = WeakKeyDictionary()  # by METIS, which takes long


@register("sampler", "neighbours")
class Neighbors(GraphSampler):
    """The seeds, which are the roots, and around them some neighbors, some neighbors of those, and so on.

    The uniform sampling of `"Inductive Representation Learning on Large Graphs" <https://arxiv.org/abs/1706.02216>`_
    (GraphSAGE; Hamilton et al., 2017). Every node of hop ``h`` that was not reached before is asked for ``fanouts[h]``
    distinct neighbors, or for all that it has. The edges are those sampled, in both directions. With fanouts of the
    largest degree, ``layers`` graph convolutions give the roots their embeddings of the whole graph from ``layers + 1``
    hops on: the last one completes all degrees.

    Args:
        batch_size: Roots of a step at most.
        fanouts: Neighbors that a node is asked for at most, hop by hop.
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
        if self._weight is None:
            return self._cut(nodes, edge_index, None, roots=len(seeds))
        both = torch.cat([entry, self._structure.edge_twin[entry]])
        return self._cut(nodes, edge_index, self._weight[both[given]], roots=len(seeds))


def sample_entries(rowptr: Tensor, rows: Tensor, count: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Draw up to ``count`` entries of some rows of a CSR matrix; return the row and the place of each, ``(m,)``."""
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
    <https://arxiv.org/abs/1907.04931>`_ (Zeng et al., 2020); edge weights do not steer the walks.

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


@register("sampler", "clusters")
class Clusters(GraphSampler):
    """Some clusters of the graph, all their nodes roots, and all edges among them.

    The batches of `"Cluster-GCN: An Efficient Algorithm for Training Deep and Large Graph Convolutional Networks"
    <https://arxiv.org/abs/1905.07953>`_ (Chiang et al., 2019). METIS cuts the graph once, whatever the seed and the
    edge weights, into clusters of about equal size with few edges between them. A step joins as many, in random order,
    as have ``batch_size`` nodes together, and at least one.

    Args:
        batch_size: Nodes of a step at most, unless a single cluster has more.
        clusters: Number of clusters at most; by default about ten make a batch.
    """

    seeds_are = "clusters"

    def __init__(self, data: Data, *, batch_size: Count = 2048, clusters: Count | None = None) -> None:
        super().__init__(data, batch_size=batch_size)
        clusters = -(-10 * self.num_seeds // batch_size) if clusters is None else clusters
        check_whole("clusters", clusters, 1)
        known = _CLUSTERS.setdefault(self._structure, {})
        if clusters not in known:
            known[clusters] = metis_clusters(self._structure, clusters)
        self.sizes = known[clusters].bincount()
        self.num_seeds = len(self.sizes)
        self._start = torch.cat([self.sizes.new_zeros(1), self.sizes.cumsum(0)])
        self._by_cluster = known[clusters].argsort(stable=True)

    def plan(self, generator: torch.Generator) -> list[Tensor]:
        order = torch.randperm(self.num_seeds, generator=generator)
        return list(torch.split(order, joined(self.sizes[order], self.batch_size)))

    def subgraph(self, seeds: Tensor, generator: torch.Generator) -> Data:
        members, _ = row_entries(self._start, seeds)
        return self._induce(self._by_cluster[members].sort().values)


def metis_clusters(structure: CSRStructure, clusters: int) -> Tensor:
    """Return the cluster of each node ``(n,)`` by METIS, numbered from 0 with none empty, of so many at most."""
    try:
        import pymetis
    except ImportError:
        raise InputError("The sampler clusters needs pymetis: install it with pip install 'sfa[large]'.") from None
    if clusters == 1 or clusters >= structure.num_nodes:  # METIS crashes on one part, and on more parts than nodes
        return torch.arange(structure.num_nodes) % clusters
    _ = structure.edge_twin  # refuses edges of one direction only, on which METIS crashes too
    adjacency = pymetis.CSRAdjacency(structure.edge_rowptr.numpy(), structure.edge_col.numpy())
    parts = pymetis.part_graph(clusters, adjacency, options=pymetis.Options(seed=0)).vertex_part
    numbered: Tensor = torch.unique(torch.tensor(parts), return_inverse=True)[1]
    return numbered


def joined(sizes: Tensor, limit: int) -> list[int]:
    """Count how many consecutive sizes to join each time: as many as stay within ``limit``, at least one."""
    ends, counts, done = sizes.cumsum(0), [], 0
    while done < len(sizes):
        room = limit + (int(ends[done - 1]) if done else 0)
        counts.append(max(int(torch.searchsorted(ends, room, right=True)) - done, 1))
        done += counts[-1]
    return counts
