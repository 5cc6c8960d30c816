"""Points in three heaps that overlap, as a graph whose embedding is known."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch_geometric.data import Data

MakeGraph = Callable[..., Data]


@pytest.fixture
def blobs() -> MakeGraph:
    """``blobs(300)`` is a ring of so many nodes with embeddings ``x`` ``(n, 6)`` and labels ``y`` of 3 classes."""

    def make(n: int = 300, *, noise: float = 1.5, classes: int = 3, seed: int = 0) -> Data:
        rng = np.random.default_rng(seed)
        y = rng.integers(0, classes, n)
        x = np.eye(classes)[y] @ rng.normal(size=(classes, 6)) + noise * rng.normal(size=(n, 6))
        ring = np.stack([np.arange(n), (np.arange(n) + 1) % n])
        edges = np.concatenate([ring, ring[::-1]], 1)
        return Data(x=torch.from_numpy(x), y=torch.from_numpy(y), edge_index=torch.from_numpy(edges))

    return make
