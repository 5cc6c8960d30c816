"""Randomness as a function of the seed and the step: nothing to save, nothing to restore, nothing global."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch


def derive_seed(seed: int, *path: int) -> int:
    """A 64-bit seed for one purpose of a run, independent of those for other paths."""
    return int(np.random.SeedSequence([seed, *path]).generate_state(1, np.uint64)[0])


def step_generator(seed: int, epoch: int, device: torch.device | str = "cpu") -> torch.Generator:
    """The generator of one training step. A resumed run draws what an uninterrupted one would have drawn."""
    return torch.Generator(device).manual_seed(derive_seed(seed, 1, epoch))


@contextmanager
def seeded_initialisation(seed: int) -> Iterator[None]:
    """Initialise weights reproducibly inside, and leave the global generator as it was."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(derive_seed(seed, 0))
        yield
