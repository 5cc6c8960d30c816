"""What a process sees in each step: its batch and its randomness, functions of the seed, the epoch, the step and it."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator

import torch
from torch import Tensor
from torch_geometric.data import Data

from sfa import processes
from sfa.errors import InputError
from sfa.sampling import Sampler, WholeGraph
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

    def __init__(
        self, graph: Data, sampler: Callable[[Data], Sampler], seed: int, device: torch.device | str = "cpu"
    ) -> None:
        self.count, self.rank = processes.count(), processes.rank()
        self.seed = seed
        self.device = torch.device(device)
        self.sampler = sampler(graph)
        if self.sampler.for_walks:  # every batch has the whole graph, which is moved once
            self.sampler.graph = copy.copy(graph).to(device)
        self._at_least = self.count if self.sampler.seeds_are == "clusters" else max(2, self.count)
        if self.sampler.num_seeds < self._at_least:
            raise InputError(
                f"{self.sampler.num_seeds} {self.sampler.seeds_are} cannot be shared by {self.count} processes: "
                "train with fewer of them, or cut the graph into more clusters."
            )
        self._whole = isinstance(self.sampler, WholeGraph) and self.count == 1
        self._graph = copy.copy(graph).to(device) if self._whole else graph  # PyG moves in place

    def plan(self, epoch: int) -> list[Tensor]:
        """The seeds of this process in each step of an epoch, at least one; a step of too few is joined to another."""
        plan = self.sampler.plan(plan_generator(self.seed, epoch))
        return [seeds.tensor_split(self.count)[self.rank] for seeds in _joined(plan, self._at_least)]

    def batch(self, epoch: int, step: int, seeds: Tensor) -> Data:
        """The batch around these seeds, on the device."""
        if self._whole:
            return self._graph
        batch = self.sampler.batch(seeds, batch_generator(self.seed, epoch, step, rank=self.rank))
        return batch.to(self.device)

    def again(self, epoch: int, plan: list[Tensor]) -> Iterator[tuple[Data, torch.Generator]]:
        """The batches of an epoch once more, each with a generator that none of its steps has."""
        for step, seeds in enumerate(plan):
            yield self.batch(epoch, step, seeds), self.generator(epoch, len(plan) + step)

    def generator(self, epoch: int, step: int) -> torch.Generator:
        """What the views and the spectral map of a step draw from."""
        return step_generator(self.seed, epoch, step, rank=self.rank, device=self.device)


def _joined(plan: list[Tensor], at_least: int) -> list[Tensor]:
    """The steps of a plan, those with too few seeds joined to the ones after, at the end to the one before."""
    steps: list[Tensor] = []
    for seeds in plan:
        if steps and len(steps[-1]) < at_least:
            steps[-1] = torch.cat([steps[-1], seeds])
        else:
            steps.append(seeds)
    if len(steps) > 1 and len(steps[-1]) < at_least:
        steps[-2:] = [torch.cat(steps[-2:])]
    return steps
