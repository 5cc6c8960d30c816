"""Samplers of one graph (whole, neighbors, walks, METIS clusters, starts of walks), of graph sets and of images."""

import copy
from typing import Annotated, ClassVar
from weakref import WeakKeyDictionary

import torch
from annotated_types import MinLen
from torch import Tensor
from torch_geometric.data import Data

from sfa.errors import InputError
from sfa.graph.batches import make_batch
from sfa.graph.structure import CSRStructure, expand_rowptr, is_stored, row_entries, sort_edges, take_rows
from sfa.graph.walks import Transitions, distinct_below, draw_distinct, random_walks
from sfa.ranges import Count, FewCount, check_whole
from sfa.registry import register
from sfa.sampling.base import GraphSampler, Sampler
from sfa.tasks import Task, task_of

Fanouts = Annotated[tuple[Count, ...], MinLen(1)]
_CLUSTERS: WeakKeyDictionary[CSRStructure, dict[int, Tensor]] = WeakKeyDictionary()  # by METIS, which takes long


@register("sampler", "whole")
class WholeGraph(GraphSampler):
    """The whole graph, one step an epoch.

    Its batch is the graph itself, without ``nodes`` and ``roots``. Some of the nodes as seeds, in one of several
    processes, give a graph with all nodes and edges in which these nodes come first and are the roots.
    """

    has_one_size = True

    def __init__(self, data: Data) -> None:
        super().__init__(data, batch_size=max(1, int(data.num_nodes)))

    def subgraph(self, seeds: Tensor, generator: torch.Generator) -> Data:
        if len(seeds) == self.num_seeds:
            return self.data
        others = torch.ones(self.num_seeds, dtype=torch.bool)
        others[seeds] = False
        nodes = torch.cat([seeds, others.nonzero().flatten()])
        row, col = nodes.argsort()[self.data.edge_index]  # the inverse permutation gives the new numbers
        edge_index, given = sort_edges(row, col, len(nodes))
        weight = None if self.data.edge_weight is None else self.data.edge_weight[given]
        return self._cut(nodes, edge_index, weight, roots=len(seeds))


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
        for fanout in self.fanouts:
            source, entry = sample_entries(self._structure.edge_rowptr, hops[-1], fanout, generator)
            target = self._structure.edge_col.index_select(0, entry)
            _, is_known = self._find(target, torch.cat(hops))
            hops.append(torch.unique(target[~is_known]))
            sampled.append(torch.stack([source, target, entry]))
        source, target, entry = torch.cat(sampled, dim=1)
        nodes = torch.cat(hops)
        row, col = (self._find(ends, nodes)[0] for ends in (source, target))
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

    def __init__(self, data: Data, *, batch_size: Count = 512, length: FewCount = 3) -> None:
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


@register("sampler", "starts")
class Starts(GraphSampler):
    """The whole graph with ``seeds`` ``(k,)``, the nodes that a method starts walks from; every node once an epoch."""

    for_walks = True
    has_one_size = True

    def __init__(self, data: Data, *, batch_size: Count = 128) -> None:
        super().__init__(data, batch_size=batch_size)

    def subgraph(self, seeds: Tensor, generator: torch.Generator) -> Data:
        return copy.copy(self.data).update({"seeds": seeds})


@register("sampler", "random-nodes")
class RandomNodes(Starts):
    """The same, but with a limited number of steps: an epoch of a large graph visits some random nodes.

    Args:
        batch_size: Seeds of a step at most.
        steps: Steps of an epoch at most.
    """

    def __init__(self, data: Data, *, batch_size: Count = 1024, steps: FewCount = 30) -> None:
        super().__init__(data, batch_size=batch_size)
        self.steps = steps

    def plan(self, generator: torch.Generator) -> list[Tensor]:
        """Draw the seeds of each step of one epoch; of a stored graph without a permutation of all nodes."""
        count = self.steps * self.batch_size
        if not is_stored(self.data) or count >= self.num_seeds:
            return super().plan(generator)[: self.steps]
        return list(torch.split(draw_distinct(self.num_seeds, count, generator), self.batch_size))


@register("sampler", "graphs")
class Graphs(GraphSampler):
    """Some graphs of a set, whole: their disjoint union, as ``torch_geometric.data.Batch`` would collate them."""

    seeds_are = "graphs"
    task: ClassVar[Task] = "graph"

    def __init__(self, data: Data, *, batch_size: Count = 128) -> None:
        if task_of(data) != "graph":
            raise InputError("The sampler graphs needs a set of graphs, and this is one graph.")
        super().__init__(data, batch_size=batch_size)
        self.num_seeds = len(data.ptr) - 1
        if self.num_seeds < 2:
            raise InputError("Only one graph in the set, and at least 2 are needed to learn from: use NodeEmbedder.")

    def subgraph(self, seeds: Tensor, generator: torch.Generator) -> Data:
        """Return the union of these graphs, in the order of the seeds; ``graphs`` are their numbers in the set."""
        nodes, ptr = row_entries(self.data.ptr, seeds)
        entries, rowptr = row_entries(self._structure.edge_rowptr, nodes)
        graph_of_node, row = expand_rowptr(ptr, len(nodes)), expand_rowptr(rowptr, len(entries))
        shift = (ptr[:-1] - self.data.ptr[seeds]).index_select(0, graph_of_node)
        col = self._structure.edge_col.index_select(0, entries) + shift.index_select(0, row)
        weight = None if self._weight is None else self._weight.index_select(0, entries)
        batch = make_batch(take_rows(self.data.x, nodes), torch.stack([row, col]), weight, ptr, graph_of_node)
        batch.graphs = seeds
        return batch


@register("sampler", "images")
class Images(Sampler):
    """Some images of a set. Where the set has a part for training (``train_mask``), no image outside of it is seen."""

    seeds_are = "images"
    task: ClassVar[Task] = "image"
    has_one_size = True

    def __init__(self, data: Data, *, batch_size: Count = 256) -> None:
        if task_of(data) != "image":
            raise InputError("The sampler images needs a set of images, and this is of graphs.")
        own = data.get("train_mask")
        self._numbers = torch.arange(data.num_nodes) if own is None else own.nonzero().flatten()
        super().__init__(data, batch_size=batch_size, num_seeds=len(self._numbers))
        if self.num_seeds < 2:
            raise InputError(f"At least 2 images are needed to learn from; there are {self.num_seeds}.")

    def subgraph(self, seeds: Tensor, generator: torch.Generator) -> Data:
        """Return these images and their labels, in the order of the seeds; ``images`` are their numbers in the set."""
        images, y = self._numbers[seeds], self.data.get("y")
        return Data(x=take_rows(self.data.x, images), y=None if y is None else y[images], images=images)
