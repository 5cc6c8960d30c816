"""What every sampler shares: an epoch cut into steps, and batches cut out of the graph."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import torch
from torch import Tensor
from torch_geometric.data import Data

from sfa.errors import InputError
from sfa.graph.pattern import pattern_of
from sfa.levels import Level
from sfa.ranges import Count, check_whole
from sfa.sampling.numbering import Numbering
from sfa.sampling.rows import row_entries, take_rows


class Sampler(ABC):
    """Cuts an epoch over a graph into batches.

    Each step has seeds, and its batch is a subgraph around them; any part of a step's seeds gives a batch too, so that
    several processes can share a step. Plans and batches are a function of the graph, the options and the state of the
    generator. Beyond the graph and its compressed rows, memory is one number a node and what a batch needs. A sampler
    makes one batch at a time, and threads need one each.

    Subclasses say what :meth:`subgraph` lies around seeds, which are nodes unless they say otherwise.

    Args:
        graph: An undirected graph in memory (not on a GPU), as :func:`sfa.data.build_graph` makes it; its features may
            be dense, ``torch.sparse_csr`` or in a mapped file.
        batch_size: Seeds of a step at most.
    """

    seeds_are = "nodes"
    level: ClassVar[Level] = "node"
    """What it cuts up: one graph, or a set of graphs."""
    for_walks: ClassVar[bool] = False
    """Whether its batches are the whole graph with nodes to start from, of use to methods that walk alone."""

    def __init__(self, graph: Data, *, batch_size: Count = 1024) -> None:
        check_whole("batch_size", batch_size, 1)
        self.graph = graph
        self.batch_size = batch_size
        self.num_seeds = int(graph.num_nodes)
        self._pattern = pattern_of(graph.edge_index, graph.num_nodes)
        self._weight = None if graph.edge_weight is None else self._pattern.sorted(graph.edge_weight)
        self._numbering = Numbering(graph.num_nodes)

    def plan(self, generator: torch.Generator) -> list[Tensor]:
        """The seeds of each step of one epoch: every seed once, in random order, in steps as equal as can be."""
        steps = -(-self.num_seeds // self.batch_size)
        return list(torch.randperm(self.num_seeds, generator=generator).tensor_split(steps))

    def batch(self, seeds: Tensor, generator: torch.Generator) -> Data:
        """The batch of these seeds, some or all of one step's.

        Args:
            seeds: ``(k,)``, distinct.
            generator: Source of randomness.

        Returns:
            A graph whose ``edge_index`` is undirected and sorted, with the ``x`` and, if there are any,
            ``edge_weight`` of the whole one; ``nodes`` ``(n_b,)`` are the numbers of its nodes there, and a loss counts
            the first ``roots`` of them.
        """
        self._check(seeds)
        return self.subgraph(seeds, generator)

    @abstractmethod
    def subgraph(self, seeds: Tensor, generator: torch.Generator) -> Data:
        """The batch of seeds that were checked."""

    def _induced(self, nodes: Tensor) -> Data:
        """The batch of these nodes, in ascending order, with all edges among them and all of them roots.

        Every edge of every node is looked at, once: a hub costs its degree.
        """
        entries, rowptr = row_entries(self._pattern.edge_rowptr, nodes)
        with self._numbering as numbers:
            numbers.add(nodes)
            col = numbers[self._pattern.edge_col.index_select(0, entries)]
        inside = col >= 0
        row = torch.arange(len(nodes)).repeat_interleave(rowptr.diff(), output_size=len(col))
        weight = None if self._weight is None else self._weight[entries[inside]]
        return self._cut(nodes, torch.stack([row[inside], col[inside]]), weight, roots=len(nodes))

    def _cut(self, nodes: Tensor, edge_index: Tensor, edge_weight: Tensor | None, *, roots: int) -> Data:
        x = take_rows(self.graph.x, nodes)
        batch = Data(x=x, edge_index=edge_index, nodes=nodes, num_nodes=len(nodes), roots=roots)
        if edge_weight is not None:
            batch.edge_weight = edge_weight
        return batch

    def _check(self, seeds: Tensor) -> None:
        if seeds.dtype != torch.int64 or seeds.dim() != 1 or len(seeds) == 0:
            raise InputError(f"Seeds are int64 numbers (k,), one or more, not {seeds.dtype} {tuple(seeds.shape)}.")
        ascending = seeds.sort().values
        lowest, highest = int(ascending[0]), int(ascending[-1])
        if lowest < 0 or highest >= self.num_seeds:
            wrong = lowest if lowest < 0 else highest
            raise InputError(f"Seeds are {self.seeds_are} from 0 to {self.num_seeds - 1}, not {wrong}.")
        if bool((ascending.diff() == 0).any()):
            raise InputError(f"Seeds are distinct, but of these {len(seeds)} some are given twice.")
