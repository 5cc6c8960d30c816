"""What every sampler shares: an epoch cut into steps, and a batch for the seeds of each."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import torch
from torch import Tensor
from torch_geometric.data import Data

from sfa.errors import InputError
from sfa.levels import Level
from sfa.ranges import check_whole


class Sampler(ABC):
    """Cuts an epoch over a graph, or over a set of graphs or images, into batches.

    Each step has seeds, and its batch is what lies around them; any part of a step's seeds gives a batch too, so that
    several processes can share a step. Plans and batches are a function of the data, the options and the state of the
    generator. A sampler makes one batch at a time, and threads need one each.

    Subclasses say what :meth:`subgraph` lies around seeds.

    Args:
        graph: The data, in memory (not on a GPU) or in a mapped file.
        batch_size: Seeds of a step at most.
        num_seeds: How many there are.
    """

    seeds_are = "nodes"
    level: ClassVar[Level] = "node"
    """What it cuts up: one graph, a set of graphs, or a set of images."""
    for_walks: ClassVar[bool] = False
    """Whether its batches are the whole graph with nodes to start from, of use to methods that walk alone."""

    def __init__(self, graph: Data, *, batch_size: int, num_seeds: int) -> None:
        check_whole("batch_size", batch_size, 1)
        self.graph = graph
        self.batch_size = batch_size
        self.num_seeds = num_seeds

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
            What a method of this level is called on.
        """
        self._check(seeds)
        return self.subgraph(seeds, generator)

    @abstractmethod
    def subgraph(self, seeds: Tensor, generator: torch.Generator) -> Data:
        """The batch of seeds that were checked."""

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
