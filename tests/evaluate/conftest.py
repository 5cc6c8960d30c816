"""Points in heaps that overlap, as nodes of a graph, graphs of a set or images, whose embedding is known."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

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


@pytest.fixture
def blob_set(blobs: MakeGraph) -> MakeGraph:
    """``blob_set(300)`` is a set of so many graphs of two joined nodes, with embeddings ``z`` and labels ``y``."""

    def make(n: int = 300, **options: Any) -> Data:
        points = blobs(n, **options)
        first = 2 * torch.arange(n)
        edges = torch.stack([torch.stack([first, first + 1], 1), torch.stack([first + 1, first], 1)]).flatten(1)
        graphs = Data(x=torch.ones(2 * n, 1), edge_index=edges, y=points.y, z=points.x, name="pairs")
        graphs.ptr, graphs.batch = 2 * torch.arange(n + 1), torch.arange(n).repeat_interleave(2)
        return graphs

    return make


@pytest.fixture
def blob_images(blobs: MakeGraph) -> MakeGraph:
    """``blob_images(300)`` is a set of so many images of one pixel, with embeddings ``z`` and labels ``y``.

    With ``test=60`` the last 60 of them are its test part.
    """

    def make(n: int = 300, *, test: int = 0, **options: Any) -> Data:
        points = blobs(n, **options)
        images = Data(x=torch.zeros(n, 1, 1, 3, dtype=torch.uint8), y=points.y, z=points.x, name="dots")
        if test > 0:
            images.train_mask = torch.arange(n) < n - test
            images.test_mask = ~images.train_mask
        return images

    return make
