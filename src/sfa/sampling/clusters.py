"""Batches of METIS clusters."""

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

_CLUSTERS: WeakKeyDictionary[CSRStructure, dict[int, Tensor]] = WeakKeyDictionary()
"""Results of METIS, which takes long, as long as the graph's edges live."""


@register("sampler", "clusters")
class Clusters(GraphSampler):
    """Some clusters of the graph, all their nodes roots, and all edges among them.

    The batches of `"Cluster-GCN: An Efficient Algorithm for Training Deep and Large Graph Convolutional Networks"
    <https://arxiv.org/abs/1905.07953>`_ (Chiang et al., 2019). METIS cuts the graph once, without its edge weights,
    into clusters of about equal size with few edges between them: the same for the same graph and options, whatever the
    seed. Seeds are clusters; a step joins as many, in random order, as have ``batch_size`` nodes together, and at least
    one.

    Args:
        batch_size: Nodes of a step at most, unless a single cluster has more.
        clusters: How many; by default so many that about ten make a batch. There are fewer where METIS leaves some
            empty or there are not as many nodes.
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
        """Draw the clusters of each step of one epoch: every cluster once, in random order."""
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
