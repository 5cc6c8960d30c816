"""k-means of several runs at once, against scikit-learn from the same starts."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.cluster import KMeans
from threadpoolctl import threadpool_limits
from torch import Tensor

from sfa.errors import InputError
from sfa.evaluate import k_means as module
from sfa.evaluate.k_means import greedy_starts, k_means, nearest


def blobs(n: int, d: int, centres: int, spread: float, seed: int) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    means = torch.randn(centres, d, generator=generator, dtype=torch.float64)
    noise = torch.randn(n, d, generator=generator, dtype=torch.float64)
    return means[torch.randint(centres, (n,), generator=generator)] + spread * noise


def by_scikit_learn(z: Tensor, initial: Tensor) -> tuple[np.ndarray, float, np.ndarray]:
    with threadpool_limits(1):
        found = KMeans(len(initial), init=initial.numpy(), n_init=1, algorithm="lloyd").fit(z.numpy())
    return found.labels_, found.inertia_, found.cluster_centers_


@settings(max_examples=25)
@given(
    n=st.integers(20, 90),
    d=st.integers(1, 6),
    k=st.integers(1, 6),
    spread=st.floats(0.1, 1.5),
    seed=st.integers(0, 999),
)
def test_every_run_is_scikit_learns_from_the_same_start(n: int, d: int, k: int, spread: float, seed: int) -> None:
    z = blobs(n, d, k, spread, seed) + 100  # far from the origin
    initial = torch.stack([z[torch.randperm(n)[:k]] for _ in range(3)])
    found = k_means(z, k, runs=3, initial=initial)
    for run in range(3):
        labels, inertia, centres = by_scikit_learn(z, initial[run])
        assert found.labels[run].tolist() == labels.tolist()
        assert found.inertia[run].item() == pytest.approx(inertia, rel=1e-9)
        np.testing.assert_allclose(found.centres[run].numpy(), centres, rtol=1e-9)


def test_a_cluster_that_loses_all_points_takes_the_farthest() -> None:
    z = blobs(60, 2, 3, 0.3, 0)
    far = torch.tensor([[1e3, 1e3], [2e3, -1e3]], dtype=torch.float64)
    initial = torch.cat([z[:2], far])[None]
    found = k_means(z, 4, runs=1, initial=initial)
    labels, inertia, _ = by_scikit_learn(z, initial[0])
    assert sorted(np.unique(labels).tolist()) == found.labels[0].unique().tolist() == [0, 1, 2, 3]
    assert found.inertia[0].item() == pytest.approx(inertia, rel=1e-9)


def test_starts_are_as_good_as_scikit_learns() -> None:
    """The mean inertia of the starts alone, over many draws, against scikit-learn's own k-means++."""
    from sklearn.cluster import kmeans_plusplus

    z = blobs(300, 4, 12, 0.4, 1)
    ours = nearest(z, greedy_starts(z, 12, 200, torch.Generator().manual_seed(0)))[1].sum(1)
    theirs = []
    for seed in range(200):
        centres, _ = kmeans_plusplus(z.numpy(), 12, random_state=seed)
        theirs.append(nearest(z, torch.from_numpy(centres)[None])[1].sum().item())
    error = np.hypot(ours.std().item(), np.std(theirs)) / 200**0.5
    assert abs(ours.mean().item() - np.mean(theirs)) < 4 * error
    random = z[torch.stack([torch.randperm(300, generator=torch.Generator().manual_seed(s))[:12] for s in range(200)])]
    assert ours.mean() < 0.8 * nearest(z, random)[1].sum(1).mean()


def test_rows_in_chunks_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    z = blobs(100, 3, 4, 0.7, 2)
    whole = k_means(z, 4, generator=torch.Generator().manual_seed(0))
    monkeypatch.setattr(module, "CHUNK", 7)
    chunked = k_means(z, 4, generator=torch.Generator().manual_seed(0))
    assert torch.equal(whole.labels, chunked.labels)
    torch.testing.assert_close(whole.inertia, chunked.inertia)


def test_single_precision_far_from_the_origin() -> None:
    z = blobs(90, 3, 3, 0.1, 5)
    initial = z[[0, 30, 60]][None]
    expected = k_means(z, 3, runs=1, initial=initial)
    far = k_means((z + 10_000).float(), 3, runs=1, initial=initial + 10_000)
    assert torch.equal(far.labels, expected.labels)
    torch.testing.assert_close(far.inertia, expected.inertia, rtol=1e-2, atol=0)
    assert far.centres.dtype == torch.float32


def test_the_generator_decides_and_runs_differ() -> None:
    z = blobs(80, 3, 8, 1.0, 3)
    one, two = (k_means(z, 8, runs=6, generator=torch.Generator().manual_seed(4)) for _ in range(2))
    assert torch.equal(one.labels, two.labels)
    assert len(one.inertia.unique()) > 1


@pytest.mark.parametrize("k", [1, 2, 5])
def test_duplicates_and_constant_points(k: int) -> None:
    for z in (torch.ones(5, 3), torch.tensor([[0.0], [0.0], [1.0], [1.0], [1.0]])):
        found = k_means(z, k, runs=3, generator=torch.Generator().manual_seed(0))
        assert found.inertia.tolist() == pytest.approx([float(((z - z.mean(0)) ** 2).sum()) if k == 1 else 0.0] * 3)
        assert found.labels.max() < k
    assert k_means(torch.eye(5), 5, runs=2).inertia.tolist() == pytest.approx([0.0, 0.0], abs=1e-6)


@pytest.mark.parametrize(
    ("z", "options", "message"),
    [
        (torch.ones(3, 2), {"clusters": 4}, "3 points cannot be put into 4 clusters"),
        (torch.ones(3, 2), {"clusters": 0}, "clusters must be"),
        (torch.ones(3, 2), {"clusters": 2, "runs": 0}, "runs must be"),
        (torch.full((3, 2), torch.nan), {"clusters": 2}, "finite"),
        (torch.ones(3), {"clusters": 2}, "matrix"),
        (torch.ones(3, 2), {"clusters": 2, "initial": torch.ones(1, 2, 2)}, "Initial centres"),
    ],
)
def test_what_cannot_be_clustered_is_named(z: Tensor, options: dict[str, int], message: str) -> None:
    with pytest.raises(InputError, match=message):
        k_means(z, **options)  # type: ignore[arg-type]
