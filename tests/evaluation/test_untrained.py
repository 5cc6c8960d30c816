"""Embeddings of image sets without an encoder."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch_geometric.data import Data

from sfa.evaluation import untrained
from sfa.evaluation.untrained import UNTRAINED

raw_pixels = UNTRAINED["image"]["raw pixels"]


def some_images(*shape: int) -> Data:
    return Data(x=torch.from_numpy(np.random.default_rng(0).integers(0, 256, shape, dtype=np.uint8)))


@pytest.mark.parametrize("together", [1024, 3])
def test_raw_pixels_are_the_pixels(together: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(untrained, "TOGETHER", together)
    images = some_images(7, 40, 5, 3)
    rows = raw_pixels(images)
    assert rows.dtype == torch.float32
    assert np.array_equal(rows.numpy(), images.x.numpy().reshape(7, 600).astype(np.float32) / np.float32(255))


def test_too_many_pixels_are_averaged_over_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    images = some_images(5, 64, 16, 3)
    monkeypatch.setattr(untrained, "MOST_BYTES", 4 * 5 * 64 * 16 * 3 - 1)
    rows = raw_pixels(images).view(5, 32, 16, 3)
    expected = images.x.double().view(5, 32, 2, 16, 3).mean(2) / 255
    torch.testing.assert_close(rows.double(), expected, rtol=0, atol=1e-6)
