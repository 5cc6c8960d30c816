"""Maps: the same every time, whichever way the embeddings are turned; near ones stay near."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfa.report import planar_map as module
from sfa.report.planar_map import placed_among, planar_map, turned_like, upright

SEEDS = st.integers(0, 2**32 - 1)


def blobs(count: int = 60, width: int = 6, classes: int = 3, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    y = np.arange(count) % classes
    z = 4 * np.eye(width)[y] + 0.3 * rng.standard_normal((count, width))
    return z.astype(np.float32), y


def share_of_neighbours_alike(points: np.ndarray, y: np.ndarray) -> float:
    distances = np.square(points[:, None] - points[None]).sum(2)
    np.fill_diagonal(distances, np.inf)
    return float((y[distances.argmin(1)] == y).mean())


def rotation(angle: float, mirrored: bool) -> np.ndarray:
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    return turn @ np.diag([1, -1 if mirrored else 1])


def test_a_map_is_the_same_every_time_and_keeps_classes_together() -> None:
    z, y = blobs()
    first, second = planar_map(z, items="molecules"), planar_map(z.copy(), items="molecules")
    np.testing.assert_array_equal(first.points, second.points)
    assert first.how == "t-SNE of 60 molecules"
    assert share_of_neighbours_alike(first.points, y) > 0.95


def test_of_many_items_some_are_mapped_and_the_others_placed_among_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST", 100)
    monkeypatch.setattr(module, "SAMPLE", 50)
    z, y = blobs(130)
    found = planar_map(z, seed=3)
    assert found.how == "t-SNE of 50 of 130 nodes, the others among their 5 nearest of these"
    np.testing.assert_array_equal(found.points, planar_map(z, seed=3).points)
    assert share_of_neighbours_alike(found.points, y) > 0.95


@given(SEEDS, st.integers(1, 12), st.integers(0, 9))
def test_placing_is_a_weighted_mean_of_the_nearest(seed: int, sampled: int, others: int) -> None:
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((sampled + others, 4)).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    chosen = np.sort(rng.choice(len(rows), sampled, replace=False))
    points = rng.standard_normal((sampled, 2))
    found = placed_among(rows, chosen, points)
    for number, row in enumerate(rows.astype(np.float64)):
        if number in chosen:
            expected = points[list(chosen).index(number)]
        else:
            cosines = [float(row @ rows[other].astype(np.float64)) for other in chosen]
            nearest = sorted(range(sampled), key=lambda i: -cosines[i])[:5]
            weights = [np.exp(20 * cosines[i]) for i in nearest]
            expected = sum(w * points[i] for w, i in zip(weights, nearest, strict=True)) / sum(weights)
        np.testing.assert_allclose(found[number], expected, rtol=1e-4, atol=1e-5)


@given(SEEDS, st.floats(0, 7), st.booleans())
def test_a_turned_or_mirrored_map_comes_out_the_same(seed: int, angle: float, mirrored: bool) -> None:
    rng = np.random.default_rng(seed)
    points = rng.exponential(size=(40, 2)) * [5, 1] + 3
    straight = upright(points)
    np.testing.assert_allclose(upright(points @ rotation(angle, mirrored)), straight, atol=1e-8)
    np.testing.assert_allclose(straight.mean(0), 0, atol=1e-9)
    assert straight[:, 0].std() >= straight[:, 1].std()
    assert ((straight**3).sum(0) >= 0).all()
    distances = [np.linalg.norm(p[:, None] - p[None], axis=2) for p in (points, straight)]
    np.testing.assert_allclose(*distances, atol=1e-9)


@given(SEEDS, st.floats(0, 7), st.booleans())
def test_a_map_is_turned_to_lie_like_another(seed: int, angle: float, mirrored: bool) -> None:
    rng = np.random.default_rng(seed)
    others = rng.standard_normal((30, 2)) * [3, 1]
    others -= others.mean(0)
    found = turned_like(others @ rotation(angle, mirrored) + 5, others)
    np.testing.assert_allclose(found, others, atol=1e-8)


@pytest.mark.parametrize(("count", "width"), [(1, 4), (2, 4), (7, 3), (20, 1)])
def test_too_few_items_or_columns_are_shown_by_their_principal_components(count: int, width: int) -> None:
    z = np.random.default_rng(1).standard_normal((count, width)).astype(np.float32)
    found = planar_map(z)
    assert found.how == "PCA, first two components"
    assert found.points.shape == (count, 2)
    unit = z / np.linalg.norm(z, axis=1, keepdims=True)
    shown, all_of_it = (np.square(p - p.mean(0)).sum() for p in (found.points, unit))
    largest = np.sort(np.linalg.svd(unit - unit.mean(0), compute_uv=False))[::-1][:2]
    assert shown == pytest.approx(np.square(largest).sum(), abs=1e-6)
    assert shown <= all_of_it + 1e-6


def test_embeddings_that_are_all_the_same_are_one_point() -> None:
    np.testing.assert_array_equal(planar_map(np.ones((50, 3), dtype=np.float32)).points, np.zeros((50, 2)))
    np.testing.assert_array_equal(planar_map(np.zeros((50, 3), dtype=np.float32)).points, np.zeros((50, 2)))
