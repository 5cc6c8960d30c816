"""The base classes of samplers, and of samplers whose batches are graphs."""

from abc import ABC, abstractmethod
from functools import cached_property
from typing import ClassVar

import torch
from torch import Tensor
from torch_geometric.data import Data

from sfa.errors import InputError
from sfa.graph.structure import expand_rowptr, row_entries, structure_of, take_rows
from sfa.ranges import Count, check_whole
from sfa.tasks import Task


class Sampler(ABC):
    """Cut an epoch over a graph, or over a set of graphs or images, into batches.

    Each step has seeds, and its batch is the data around them. Any part of a step's seeds gives a batch too, so that
    several processes can share a step. Threads need a sampler each.

    Args:
        data: In memory (not on a GPU) or in a mapped file.
        batch_size: Seeds (nodes to start from, graphs or images) of a step at most.
    """

    seeds_are = "nodes"
    task: ClassVar[Task] = "node"  # of the data that it samples from
    has_one_size: ClassVar[bool] = False  # whether batches have nearly the same number of rows
    for_walks: ClassVar[bool] = False  # whether its batches are the whole graph with nodes to start from

    def __init__(self, data: Data, *, batch_size: int, num_seeds: int) -> None:
        check_whole("batch_size", batch_size, 1)
        self.data, self.batch_size, self.num_seeds = data, batch_size, num_seeds

    def plan(self, generator: torch.Generator) -> list[Tensor]:
        """Draw the seeds of each step of one epoch: every seed once, in random order, in steps as equal as can be."""
        steps = -(-self.num_seeds // self.batch_size)
        return list(torch.randperm(self.num_seeds, generator=generator).tensor_split(steps))

    def batch(self, seeds: Tensor, generator: torch.Generator) -> Data:
        """Return the batch that a method is called on, of distinct seeds ``(k,)``, some or all of one step's."""
        if seeds.dtype != torch.int64 or seeds.dim() != 1 or len(seeds) == 0:
            raise InputError(f"Seeds are int64 numbers (k,), one or more, not {seeds.dtype} {tuple(seeds.shape)}.")
        ascending = seeds.sort().values
        for seed in (int(ascending[0]), int(ascending[-1])):
            if not 0 <= seed < self.num_seeds:
                raise InputError(f"Seeds are {self.seeds_are} from 0 to {self.num_seeds - 1}, not {seed}.")
        if bool((ascending.diff() == 0).any()):
            raise InputError(f"Seeds are distinct, but of these {len(seeds)} some are given twice.")
        return self.subgraph(seeds, generator)

    @abstractmethod
    def subgraph(self, seeds: Tensor, generator: torch.Generator) -> Data:
        """Return the batch of seeds that were checked."""


class GraphSampler(Sampler):
    """A sampler whose batches are graphs: ``edge_index`` undirected and sorted, with ``x`` and any ``edge_weight``.

    ``nodes`` ``(n_b,)`` are the numbers of a batch's nodes in the whole graph, and a loss counts the first ``roots`` of
    them. Features may be dense, ``torch.sparse_csr`` or in a mapped file. Beyond the graph and its compressed rows,
    memory is one number a node, of a stored graph none, and what a batch needs.
    """

    def __init__(self, data: Data, *, batch_size: Count = 1024) -> None:
        super().__init__(data, batch_size=batch_size, num_seeds=int(data.num_nodes))
        self._structure = structure_of(data)
        self._weight = None if data.edge_weight is None else self._structure.sorted(data.edge_weight)

    @cached_property
    def _table(self) -> Tensor:
        return torch.zeros(self.data.num_nodes, dtype=torch.int64)

    def _find(self, wanted: Tensor, nodes: Tensor) -> tuple[Tensor, Tensor]:
        """Return where each of the wanted nodes is among some distinct nodes, and whether it is there at all."""
        if self._structure.is_mapped:
            ascending, order = nodes.sort()
            place = order[torch.searchsorted(ascending, wanted).clamp_max(len(nodes) - 1)]
            return place, nodes.index_select(0, place) == wanted
        self._table[nodes] = torch.arange(len(nodes))  # nothing is cleared: entries of other nodes are found out below
        place = self._table.index_select(0, wanted).clamp_max(len(nodes) - 1)
        return place, nodes.index_select(0, place) == wanted

    def _induce(self, nodes: Tensor) -> Data:
        """Cut out these ascending nodes, all of them roots, with all edges among them; a hub costs its degree."""
        entries, rowptr = row_entries(self._structure.edge_rowptr, nodes)
        col, inside = self._find(self._structure.edge_col.index_select(0, entries), nodes)
        row = expand_rowptr(rowptr, len(col))
        weight = None if self._weight is None else self._weight[entries[inside]]
        return self._cut(nodes, torch.stack([row[inside], col[inside]]), weight, roots=len(nodes))

    def _cut(self, nodes: Tensor, edge_index: Tensor, edge_weight: Tensor | None, *, roots: int) -> Data:
        weight = {} if edge_weight is None else {"edge_weight": edge_weight}
        x = take_rows(self.data.x, nodes)
        return Data(x=x, edge_index=edge_index, nodes=nodes, num_nodes=len(nodes), roots=roots, **weight)
