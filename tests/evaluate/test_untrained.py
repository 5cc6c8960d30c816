"""Embeddings of nodes and of image sets without an encoder."""

from __future__ import annotations

import copy
import warnings

import numpy as np
import pytest
import torch
from torch_geometric.data import Data

from sfa.data import build_graph
from sfa.evaluate import baselines as untrained
from sfa.evaluate.baselines import BASELINES

raw_pixels = BASELINES["image"]["raw pixels"]


@pytest.mark.parametrize("sparse", [False, True])
def test_propagated_features_by_hand(sparse: bool) -> None:
    """A path of three nodes and one alone, the last of the path without features."""
    x = np.array([[1.0, 0, 0], [0, 2, 0], [0, 0, 0], [3, 0, 4]], dtype=np.float32)
    graph = build_graph(x, np.array([[0, 1, 1, 2], [1, 0, 2, 1]]))
    if sparse:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            graph.x = graph.x.to_sparse_csr()
    a = np.array([[1 / 2, 6**-0.5, 0, 0], [6**-0.5, 1 / 3, 6**-0.5, 0], [0, 6**-0.5, 1 / 2, 0], [0, 0, 0, 1]])
    hops = [x, a @ x, a @ a @ x]
    lengths = [np.linalg.norm(h, axis=1, keepdims=True) for h in hops]
    expected = np.hstack([h / np.where(length > 0, length, 1) for h, length in zip(hops, lengths, strict=True)])
    found = BASELINES["node"]["propagated features"](graph)
    assert found.dtype == torch.float32
    np.testing.assert_allclose(found.numpy(), expected, atol=1e-6)


@pytest.mark.parametrize("layout", [torch.strided, torch.sparse_csr])
def test_wide_features_are_projected_first(
    planted: Data, layout: torch.layout, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Which nearly keeps the angles between nodes."""
    wide = copy.copy(planted)
    wide.x = torch.nn.functional.one_hot(torch.arange(60) % 20, 2000).float()
    exact = BASELINES["node"]["propagated features"](wide)
    assert exact.shape == (60, 6000)
    monkeypatch.setattr(untrained, "MOST_BYTES", 4 * 60 * 6000 - 1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        wide.x = wide.x if layout == torch.strided else wide.x.to_sparse_csr()
    rows = BASELINES["node"]["propagated features"](wide)
    assert rows.shape == (60, 3 * 256)
    assert torch.equal(rows, BASELINES["node"]["propagated features"](wide))
    assert (rows @ rows.T - exact @ exact.T).abs().mean() < 0.15


def test_columns_on_different_scales_are_standardized() -> None:
    """An age and an income; counts of words and columns on one scale stay as they are."""
    rng = np.random.default_rng(0)
    people = np.stack([rng.normal(40, 12, 50), rng.normal(30_000, 9_000, 50), np.full(50, 7.0)], axis=1)
    edges = np.array([[0, 1], [1, 0]])
    raw = BASELINES["node"]["raw features"](build_graph(people.astype(np.float32), edges))
    expected = (people[:, :2] - people[:, :2].mean(0)) / people[:, :2].std(0)
    np.testing.assert_allclose(raw[:, :2], expected, atol=1e-4)
    assert torch.equal(raw[:, 2], torch.zeros(50)), "a constant column says nothing"
    alone = BASELINES["node"]["propagated features"](build_graph(people.astype(np.float32), edges))[2, :3]
    np.testing.assert_allclose(alone, raw[2] / np.linalg.norm(raw[2]), atol=1e-5)
    kinds = np.eye(6, dtype=np.float32)[np.arange(50) % 6]
    table = np.concatenate([people[:, :1], kinds], axis=1).astype(np.float32)  # an age beside categories
    assert BASELINES["node"]["raw features"](build_graph(table, edges))[:, 0].std() < 1.1
    divided = build_graph(table / table.sum(1, keepdims=True), edges)
    assert torch.equal(BASELINES["node"]["raw features"](divided), divided.x), "rows that were scaled stay"
    for x in (rng.poisson(0.3, (50, 3)) * np.array([1, 20, 300]), rng.normal(0, 1, (50, 3)) * np.array([1, 2, 3])):
        graph = build_graph(x.astype(np.float32), edges)
        assert torch.equal(BASELINES["node"]["raw features"](graph), graph.x)


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
