"""Batches of METIS clusters (Cluster-GCN: Chiang et al., 2019)."""

from __future__ import annotations

from weakref import WeakKeyDictionary

import torch
from torch import Tensor
from torch_geometric.data import Data

from sfa.errors import InputError
from sfa.graph.structure import CSRStructure, row_entries
from sfa.ranges import Count, check_whole
from sfa.registry import register
from sfa.sampling.base import GraphSampler

_CUTS: WeakKeyDictionary[CSRStructure, dict[int, Tensor]] = WeakKeyDictionary()
"""What METIS took long for, as long as the graph's edges live."""


@register("sampler", "clusters")
class Clusters(GraphSampler):
    """Some clusters of the graph, all their nodes roots, and all edges among them.

    METIS cuts the graph once into clusters of about equal size with few edges between them: the same for the same
    graph and options, whatever the seed. Seeds are clusters; a step joins as many, in random order, as have
    ``batch_size`` nodes together, and at least one.

    Args:
        graph: The whole graph; its edge weights do not count in the cutting.
        batch_size: Nodes of a step at most, unless a single cluster has more.
        clusters: How many; by default so many that about ten make a batch. There are fewer where METIS leaves some
            empty or there are not as many nodes.
    """

    seeds_are = "clusters"

    def __init__(self, graph: Data, *, batch_size: Count = 2048, clusters: Count | None = None) -> None:
        if clusters is None:
            check_whole("batch_size", batch_size, 1)
            clusters = -(-10 * int(graph.num_nodes) // batch_size)
        check_whole("clusters", clusters, 1)
        super().__init__(graph, batch_size=batch_size)
        cuts = _CUTS.setdefault(self._structure, {})
        if clusters not in cuts:
            cuts[clusters] = metis_clusters(self._structure, clusters)
        cluster_of = cuts[clusters]
        self.sizes = cluster_of.bincount()
        self.num_seeds = len(self.sizes)
        self._start = torch.cat([self.sizes.new_zeros(1), self.sizes.cumsum(0)])
        self._by_cluster = cluster_of.argsort(stable=True)

    def plan(self, generator: torch.Generator) -> list[Tensor]:
        """Draw the clusters of each step of one epoch: every cluster once, in random order."""
        order = torch.randperm(self.num_seeds, generator=generator)
        return list(torch.split(order, joined(self.sizes[order], self.batch_size)))

    def subgraph(self, seeds: Tensor, generator: torch.Generator) -> Data:
        members, _ = row_entries(self._start, seeds)
        return self._induce(self._by_cluster[members].sort().values)


def metis_clusters(structure: CSRStructure, clusters: int) -> Tensor:
    """Cut a graph by METIS: the cluster of each node ``(n,)``, from 0 with none empty, of so many at most."""
    try:
        import pymetis
    except ImportError:
        raise InputError("The sampler clusters needs pymetis: install it with pip install 'sfa[large]'.") from None
    nodes = structure.num_nodes
    if clusters == 1 or clusters >= nodes:  # METIS itself crashes on one part, and on more parts than nodes
        return torch.arange(nodes) % clusters
    _ = structure.edge_twin  # refuses edges of one direction only, on which METIS crashes too
    adjacency = pymetis.CSRAdjacency(structure.edge_rowptr.numpy(), structure.edge_col.numpy())
    parts = pymetis.part_graph(clusters, adjacency, options=pymetis.Options(seed=0)).vertex_part
    numbered: Tensor = torch.unique(torch.tensor(parts), return_inverse=True)[1]
    return numbered


def joined(sizes: Tensor, limit: int) -> list[int]:
    """Count the consecutive things of these sizes to join each time: as many as stay within ``limit``, at least one."""
    ends, counts, done = sizes.cumsum(0), [], 0
    while done < len(sizes):
        room = limit + (int(ends[done - 1]) if done else 0)
        stop = max(int(torch.searchsorted(ends, room, right=True)), done + 1)
        counts.append(stop - done)
        done = stop
    return counts
