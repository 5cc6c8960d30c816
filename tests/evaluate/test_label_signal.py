"""Which directions tell classes apart, against a regression of the class indicators done at length."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch_geometric.data import Data

from sfa.errors import InputError
from sfa.evaluate import label_signal
from sfa.registry import resolve


def by_regression(z: np.ndarray, y: np.ndarray, first: int) -> float:
    """The trace of Pillai and Bartlett, over its maximum, of the first left singular vectors."""
    u = np.linalg.svd(z - z.mean(0), full_matrices=False)[0][:, :first]
    indicators = (y[:, None] == np.unique(y)).astype(float)
    indicators = indicators / np.sqrt(indicators.sum(0))  # orthonormal, with the constant among their combinations
    return float(np.square(u.T @ indicators).sum() / (indicators.shape[1] - 1))


@pytest.mark.parametrize(("n", "d"), [(60, 7), (9, 20)])
def test_against_a_regression(n: int, d: int) -> None:
    rng = np.random.default_rng(0)
    y = rng.permutation(np.arange(n) % 3)
    z = rng.normal(size=(n, d)) + 3 * rng.normal(size=(3, d))[y]
    signal = label_signal(torch.from_numpy(z), y)
    assert signal.shape == (min(n, d),)
    for first in (1, 2, 5):
        assert float(signal[:first].sum()) == pytest.approx(by_regression(z, y, first), abs=1e-9)


def test_signal_is_where_it_was_put() -> None:
    y = np.arange(400) % 2
    z = torch.randn(400, 4, generator=torch.Generator().manual_seed(0)) * torch.tensor([100.0, 10.0, 1.0, 0.1])
    z[:, 2] = torch.from_numpy(y).float() * 2 - 1  # the third strongest
    signal = label_signal(z, y)
    assert signal.argmax() == 2
    assert signal[2] > 0.95
    assert signal.sum() == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize("scale", [1e-180, 1.0, 1e180])
def test_degenerate_embeddings(scale: float) -> None:
    y = np.array([0, 0, 1, 1, 2, 2])
    flat = torch.full((6, 3), scale, dtype=torch.float64)
    assert label_signal(flat, y).tolist() == [0.0, 0.0, 0.0]
    line = scale * torch.tensor([0.0, 0, 1, 1, 2, 2], dtype=torch.float64)[:, None].repeat(1, 3)
    signal = label_signal(line, y)
    assert signal.tolist() == pytest.approx([0.5, 0, 0], abs=1e-9)  # one of the two ways in which three classes differ


def test_protocol_adds_directions_up() -> None:
    rng = np.random.default_rng(1)
    y = rng.integers(-1, 3, 80)  # some unknown
    z = torch.from_numpy(rng.normal(size=(80, 6)))
    score = resolve("protocol", "label-signal").evaluate(z, Data(y=torch.from_numpy(y), num_nodes=80), name="mine")
    known, rows = y >= 0, torch.nn.functional.normalize(z)
    expected = 100 * label_signal(rows[torch.from_numpy(known)], y[known]).cumsum(0)
    assert list(score.values) == [f"first {4**power}" for power in range(5)]
    assert [values for (values,) in score.values.values()] == pytest.approx(
        [*expected[[0, 3]].tolist(), *[float(expected[-1])] * 3]
    )


def test_one_class_is_refused() -> None:
    graph = Data(y=torch.zeros(5, dtype=torch.long), num_nodes=5)
    with pytest.raises(InputError, match="at least 2 classes"):
        resolve("protocol", "label-signal").check(graph)
