"""Map embeddings to points of a plane: near ones stay near, and the same embeddings give the same map."""

from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.linalg import orthogonal_procrustes
from threadpoolctl import threadpool_limits

Points = NDArray[np.float64]

FEWEST, MOST = 8, 5_000
"""The fewest items that t-SNE can map, and the most that it maps at once, in half a minute on one core."""
SAMPLE, NEIGHBORS = 4_000, 5
"""The number of items that t-SNE maps where there are more, and of those among which another item is placed."""


class PlanarMap(NamedTuple):
    """Points ``(n, 2)`` and, in a few words, how they were computed."""

    points: Points
    how: str


def planar_map(z: NDArray[np.float32], *, items: str = "nodes", seed: int = 0) -> PlanarMap:
    """Map embeddings ``(n, d)``, scaled to rows of length one, by t-SNE, or by PCA if they are too few.

    Of more than ``MOST`` rows a random sample is mapped, and each of the others is placed at the weighted mean of its
    nearest in the sample. The map is turned by :func:`upright`.
    """
    length = np.linalg.norm(z, axis=1, keepdims=True)
    rows = np.asarray(z / np.where(length > 0, length, 1), dtype=np.float32)
    if len(rows) < FEWEST or rows.shape[1] < 2 or np.ptp(rows, axis=0).max() == 0:
        u, sigma, _ = np.linalg.svd(rows.astype(np.float64) - rows.mean(0, dtype=np.float64), full_matrices=False)
        points = np.zeros((len(rows), 2))
        points[:, : len(sigma)] = (u * sigma)[:, :2]
        return PlanarMap(upright(points), "PCA, first two components")
    # The partial sums of more than two threads are added in the order in which the threads end.
    with threadpool_limits(min(2, torch.get_num_threads()), user_api="openmp"):
        if len(rows) <= MOST:
            return PlanarMap(upright(plane(rows, seed=seed)), f"t-SNE of {len(rows)} {items}")
        chosen = np.sort(np.random.default_rng(seed).choice(len(rows), SAMPLE, replace=False))
        points = placed_among(rows, chosen, plane(rows[chosen], seed=seed))
    how = f"t-SNE of {SAMPLE} of {len(rows)} {items}, the others among their {NEIGHBORS} nearest of these"
    return PlanarMap(upright(points), how)


def plane(rows: NDArray[np.floating[Any]], *, seed: int = 0) -> Points:
    """Compute t-SNE of unit rows, started from their principal components."""
    from sklearn.manifold import TSNE

    perplexity = min(30, max(2, (len(rows) - 1) / 4))
    points: Points = TSNE(2, perplexity=perplexity, init="pca", random_state=seed).fit_transform(rows)
    return points


def placed_among(rows: NDArray[np.float32], chosen: NDArray[np.int64], points: Points) -> Points:
    r"""Place all unit rows ``(n, d)`` on the map ``points`` ``(m, 2)`` of the ``m`` chosen ones.

    Each of the others is at the weighted mean of its nearest, with weights :math:`e^{20 \cos(z_i, z_j)}`.
    """
    from sklearn.neighbors import KNeighborsRegressor

    result = np.empty((len(rows), 2))
    result[chosen] = points
    others = np.setdiff1d(np.arange(len(rows)), chosen)
    if len(others):
        count = min(NEIGHBORS, len(chosen))
        nearest = KNeighborsRegressor(count, metric="cosine", weights=lambda distance: np.exp(-20 * distance))
        result[others] = nearest.fit(rows[chosen], points).predict(rows[others])
    return result


def upright(points: Points) -> Points:
    """Turn or mirror a map: its longest extent lies across, and the longer tails point to the right and to the top."""
    centered = points - points.mean(0)
    _, directions = np.linalg.eigh(centered.T @ centered)
    turned = centered @ directions[:, ::-1]
    return np.asarray(turned * np.where((turned**3).sum(0) < 0, -1, 1))


def turned_like(points: Points, others: Points) -> Points:
    """Turn or mirror a map to lie as close as it can to another of the same items."""
    centered = points - points.mean(0)
    rotation, _ = orthogonal_procrustes(centered, others - others.mean(0))
    return np.asarray(centered @ rotation)
