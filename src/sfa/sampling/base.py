"""What samplers share: an epoch cut into steps, a batch for the seeds of each, and pieces of one graph."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import torch
from torch import Tensor
from torch_geometric.data import Data

from sfa.errors import InputError
from sfa.graph.structure import csr_structure, expand_rowptr, row_entries, take_rows
from sfa.ranges import Count, check_whole
from sfa.tasks import Task


class Sampler(ABC):
    """Cuts an epoch over a graph, or over a set of graphs or images, into batches.

    Each step has seeds, and its batch is what lies around them; any part of a step's seeds gives a batch too, so that
    several processes can share a step. Plans and batches are a function of the data, the options and the state of the
    generator. A sampler makes one batch at a time, and threads need one each.

    Args:
        graph: The data, in memory (not on a GPU) or in a mapped file.
        batch_size: Seeds of a step at most.
        num_seeds: How many there are.
    """

    seeds_are = "nodes"
    task: ClassVar[Task] = "node"
    """What it cuts up: one graph, a set of graphs, or a set of images."""
    for_walks: ClassVar[bool] = False
    """Whether its batches are the whole graph with nodes to start from, of use to methods that walk alone."""

    def __init__(self, graph: Data, *, batch_size: int, num_seeds: int) -> None:
        check_whole("batch_size", batch_size, 1)
        self.graph = graph
        self.batch_size = batch_size
        self.num_seeds = num_seeds

    def plan(self, generator: torch.Generator) -> list[Tensor]:
        """Draw the seeds of each step of one epoch: every seed once, in random order, in steps as equal as can be."""
        steps = -(-self.num_seeds // self.batch_size)
        return list(torch.randperm(self.num_seeds, generator=generator).tensor_split(steps))

    def batch(self, seeds: Tensor, generator: torch.Generator) -> Data:
        """Return the batch of distinct seeds ``(k,)``, some or all of one step's: what a method is called on."""
        if seeds.dtype != torch.int64 or seeds.dim() != 1 or len(seeds) == 0:
            raise InputError(f"Seeds are int64 numbers (k,), one or more, not {seeds.dtype} {tuple(seeds.shape)}.")
        ascending = seeds.sort().values
        lowest, highest = int(ascending[0]), int(ascending[-1])
        if lowest < 0 or highest >= self.num_seeds:
            wrong = lowest if lowest < 0 else highest
            raise InputError(f"Seeds are {self.seeds_are} from 0 to {self.num_seeds - 1}, not {wrong}.")
        if bool((ascending.diff() == 0).any()):
            raise InputError(f"Seeds are distinct, but of these {len(seeds)} some are given twice.")
        return self.subgraph(seeds, generator)

    @abstractmethod
    def subgraph(self, seeds: Tensor, generator: torch.Generator) -> Data:
        """Return the batch of seeds that were checked."""


class GraphSampler(Sampler):
    """A sampler whose batch is a graph: ``edge_index`` undirected and sorted, with the ``x`` and, if there are any, the
    ``edge_weight`` of the whole one. ``nodes`` ``(n_b,)`` are the numbers of its nodes there, and a loss counts the
    first ``roots`` of them.

    The whole graph is one that :func:`sfa.data.build_graph` makes; its features may be dense, ``torch.sparse_csr`` or
    in a mapped file. Beyond it and its compressed rows, memory is one number a node and what a batch needs. Seeds are
    nodes unless a subclass says otherwise.
    """

    def __init__(self, graph: Data, *, batch_size: Count = 1024) -> None:
        super().__init__(graph, batch_size=batch_size, num_seeds=int(graph.num_nodes))
        self._structure = csr_structure(graph.edge_index, graph.num_nodes)
        self._weight = None if graph.edge_weight is None else self._structure.sorted(graph.edge_weight)
        self._numbering = Numbering(graph.num_nodes)

    def _induce(self, nodes: Tensor) -> Data:
        """Cut out these ascending nodes, all of them roots, with all edges among them: a hub costs its degree."""
        entries, rowptr = row_entries(self._structure.edge_rowptr, nodes)
        with self._numbering as numbers:
            numbers.add(nodes)
            col = numbers[self._structure.edge_col.index_select(0, entries)]
        inside = col >= 0
        row = expand_rowptr(rowptr, len(col))
        weight = None if self._weight is None else self._weight[entries[inside]]
        return self._cut(nodes, torch.stack([row[inside], col[inside]]), weight, roots=len(nodes))

    def _cut(self, nodes: Tensor, edge_index: Tensor, edge_weight: Tensor | None, *, roots: int) -> Data:
        x = take_rows(self.graph.x, nodes)
        batch = Data(x=x, edge_index=edge_index, nodes=nodes, num_nodes=len(nodes), roots=roots)
        if edge_weight is not None:
            batch.edge_weight = edge_weight
        return batch


class Numbering:
    """A table from nodes to their numbers 0, 1, … in a batch, filled inside a ``with`` block.

    At its end it is emptied where it was touched: a batch costs nothing of the size of the graph.
    """

    def __init__(self, num_nodes: int) -> None:
        self._table = torch.full((num_nodes,), -1)
        self._added: list[Tensor] = []

    def __enter__(self) -> Numbering:
        return self

    def __exit__(self, *_: Any) -> None:
        self._table[self.nodes] = -1
        self._added.clear()

    def add(self, nodes: Tensor) -> None:
        """Give the next numbers to these nodes, which are distinct and have none yet."""
        known = sum(map(len, self._added))
        self._added.append(nodes)
        self._table[nodes] = torch.arange(known, known + len(nodes))

    def __getitem__(self, nodes: Tensor) -> Tensor:
        """Return the numbers of these nodes ``(k,)``; -1 for one that has none."""
        return self._table.index_select(0, nodes)

    @property
    def nodes(self) -> Tensor:
        """All nodes that have a number, in the order of their numbers."""
        return torch.cat([*self._added, torch.empty(0, dtype=torch.int64)])
