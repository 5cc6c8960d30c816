"""Deterministic batches and generators, and batches that a thread makes while the step before them runs."""

import copy
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from typing import NamedTuple, TypeVar

import torch
from torch import Tensor
from torch_geometric.data import Data

from sfa import distributed
from sfa.errors import InputError
from sfa.graph.structure import is_stored
from sfa.sampling import Images, Sampler, WholeGraph
from sfa.seeding import batch_generator, plan_generator, step_generator
from sfa.tasks import task_of

T = TypeVar("T")


class Part(NamedTuple):
    """The part of a step that a process sees at once, and its share of the seeds of all processes."""

    batch: Data
    share: float
    is_last: bool


class BatchPlan:
    """Deterministic batches and generators, derived from (seed, epoch, step, rank), so that nothing needs saving.

    A step has at most ``accumulate`` parts, whose gradients are added up; fewer where they would have less than two
    seeds, or less than a process. Several processes share the seeds of a part. The sampler is by default
    :class:`~sfa.sampling.Images` for images, and else :class:`~sfa.sampling.WholeGraph`.
    """

    def __init__(
        self,
        data: Data,
        sampler: Callable[[Data], Sampler] | None,
        seed: int,
        device: torch.device | str = "cpu",
        accumulate: int = 1,
    ) -> None:
        self.count, self.rank = distributed.world_size(), distributed.rank()
        self.seed, self.device, self.accumulate = seed, torch.device(device), accumulate
        self.sampler = (sampler or (Images if task_of(data) == "image" else WholeGraph))(data)
        if self.sampler.for_walks:  # every batch has the whole graph, which is moved once
            data = self.sampler.data = move(copy.copy(data), self.device)
        num_seeds, seeds = self.sampler.num_seeds, self.sampler.seeds_are
        self._at_least = self.count if seeds == "clusters" else max(2, self.count)
        if num_seeds < self._at_least:
            raise InputError(f"{num_seeds} {seeds} cannot be shared by {self.count} processes: train with fewer.")
        self._whole = isinstance(self.sampler, WholeGraph) and self.count == 1
        self.data = move(copy.copy(data), self.device) if self._whole else data

    def plan(self, epoch: int) -> list[Tensor]:
        """Draw the seeds of each step of an epoch, of all processes; a step of too few is joined to the next one."""
        steps: list[Tensor] = []
        for seeds in self.sampler.plan(plan_generator(self.seed, epoch)):
            if steps and len(steps[-1]) < self._at_least:
                steps[-1] = torch.cat([steps[-1], seeds])
            else:
                steps.append(seeds)
        if len(steps) > 1 and len(steps[-1]) < self._at_least:
            steps[-2:] = [torch.cat(steps[-2:])]
        return steps

    def parts(self, epoch: int, step: int, seeds: Tensor) -> Iterator[Part]:
        """Yield the parts that this process sees of a step with these seeds, on the device."""
        generator = batch_generator(self.seed, epoch, step, rank=self.rank)
        parts = seeds.tensor_split(max(1, min(self.accumulate, len(seeds) // self._at_least)))
        for number, part in enumerate(parts, start=1):
            own = part.tensor_split(self.count)[self.rank]
            is_whole = self._whole and len(own) == self.sampler.num_seeds
            batch = self.data if is_whole else move(self.sampler.batch(own, generator), self.device)
            yield Part(batch, len(part) / len(seeds), is_last=number == len(parts))

    def first(self) -> Data:
        """Return the first batch of this process, which shows how large batches are."""
        return next(self.parts(0, 0, self.plan(0)[0])).batch

    def rest(self, epoch: int, plan: list[Tensor], first: int) -> Iterator[Part]:
        """Yield the parts of all steps of an epoch from number ``first`` on."""
        for step, seeds in enumerate(plan[first:], start=first):
            yield from self.parts(epoch, step, seeds)

    def again(self, epoch: int, plan: list[Tensor]) -> Iterator[tuple[Data, torch.Generator]]:
        """Yield the batches of an epoch once more, with generators that none of its steps has."""
        for step, seeds in enumerate(plan):
            generator = self.generator(epoch, len(plan) + step)
            for part in self.parts(epoch, step, seeds):
                yield part.batch, generator

    def generator(self, epoch: int, step: int) -> torch.Generator:
        """Return the generator that the views and the spectral map of a step draw from, part after part."""
        return step_generator(self.seed, epoch, step, rank=self.rank, device=self.device)


def move(data: Data, device: torch.device) -> Data:
    """Move data to a device, in place; to a GPU from pinned memory, so that the thread need not wait for the copy.

    A stored graph stays where it is: a method takes the rows that it needs to the device.
    """
    if is_stored(data):
        return data

    def pinned(x: Tensor) -> Tensor:
        return x.pin_memory() if device.type == "cuda" and x.device.type == "cpu" and x.layout == torch.strided else x

    return data.apply(lambda x: pinned(x).to(device, non_blocking=True))


def prefetch(thread: Executor, items: Iterator[T]) -> Iterator[T]:
    """Yield items, none of them ``None``, while an executor of one worker makes the next: memory holds one more."""
    made = thread.submit(next, items, None)
    while (item := made.result()) is not None:
        made = thread.submit(next, items, None)
        yield item
