"""What a process sees in each step: its batch and its randomness, functions of the seed, the epoch, the step and it."""

from __future__ import annotations

import copy
from collections.abc import Callable

import torch
from torch import Tensor
from torch_geometric.data import Data

from sfa import processes
from sfa.graph.sampling import Sampler, WholeGraph
from sfa.seeding import batch_generator, plan_generator, step_generator


class Steps:
    """The steps of all epochs. Several processes share a step: each has a part of its seeds, and a batch around them.

    Nothing here needs saving: a resumed run sees what an uninterrupted one would have seen.

    Args:
        graph: The whole graph; the caller's stays where it is.
        sampler: Makes the sampler of a graph, for instance ``WholeGraph``.
        seed: Source of all randomness.
        device: Where batches go.
    """

    def __init__(self, graph: Data, sampler: Callable[[Data], Sampler], seed: int, device: torch.device) -> None:
        self.count, self.rank = processes.count(), processes.rank()
        self.seed = seed
        self.device = device
        self.sampler = sampler(graph)
        self._whole = isinstance(self.sampler, WholeGraph) and self.count == 1
        self._graph = copy.copy(graph).to(device) if self._whole else graph  # PyG moves in place

    def plan(self, epoch: int) -> list[Tensor]:
        """The seeds of this process in each step of an epoch; a step with fewer seeds than processes is left out."""
        plan = self.sampler.plan(plan_generator(self.seed, epoch))
        parts = [seeds.tensor_split(self.count) for seeds in plan]
        return [part[self.rank] for part in parts if len(part[-1]) > 0]

    def batch(self, epoch: int, step: int, seeds: Tensor) -> Data:
        """The batch around these seeds, on the device."""
        if self._whole:
            return self._graph
        batch = self.sampler.batch(seeds, batch_generator(self.seed, epoch, step, rank=self.rank))
        return batch.to(self.device)

    def generator(self, epoch: int, step: int) -> torch.Generator:
        """What the views and the spectral map of a step draw from."""
        return step_generator(self.seed, epoch, step, rank=self.rank, device=self.device)
