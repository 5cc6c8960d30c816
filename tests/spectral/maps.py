"""Feature maps and generators for tests."""

from __future__ import annotations

import torch
from torch import Tensor


def seeded(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def random_map(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=seeded(seed), dtype=torch.float64)


def low_rank(n: int, d: int, rank: int, dtype: torch.dtype = torch.float64) -> Tensor:
    return (random_map(n, rank) @ random_map(rank, d, seed=1)).to(dtype)
