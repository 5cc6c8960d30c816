"""Randomness as a function of the seed and the step, so that nothing needs to be saved or restored."""

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch


def derive_seed(seed: int, *path: int) -> int:
    """Return a 64-bit seed for one purpose of a run, independent of those for other paths."""
    return int(np.random.SeedSequence([seed, *path]).generate_state(1, np.uint64)[0])


def step_generator(
    seed: int, epoch: int, step: int = 0, *, rank: int = 0, device: torch.device | str = "cpu"
) -> torch.Generator:
    """Return the generator of one training step of one process."""
    path = (epoch, step, rank) if rank else (epoch, step)
    return torch.Generator(device).manual_seed(derive_seed(seed, 1, *path))


def plan_generator(seed: int, epoch: int) -> torch.Generator:
    """Return the generator of the plan of an epoch, the same on all processes."""
    return torch.Generator().manual_seed(derive_seed(seed, 2, epoch))


def batch_generator(seed: int, epoch: int, step: int, *, rank: int = 0) -> torch.Generator:
    """Return the generator that the batch of one step of one process is sampled with."""
    return torch.Generator().manual_seed(derive_seed(seed, 3, epoch, step, rank))


def generator_on(device: torch.device, generator: torch.Generator | None) -> torch.Generator | None:
    """Return a generator on a device: the given one, if it is there, or one that it seeds."""
    if generator is None or generator.device.type == device.type:
        return generator
    seed = torch.randint(2**63 - 1, (), generator=generator, device=generator.device)
    return torch.Generator(device).manual_seed(int(seed))


@contextmanager
def seeded_initialization(seed: int) -> Iterator[None]:
    """Initialize weights reproducibly inside, and leave the global generator as it was."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(derive_seed(seed, 0))
        yield
