"""Embeddings as points of a plane: near ones stay near, and the same embeddings give the same map."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.linalg import orthogonal_procrustes
from threadpoolctl import threadpool_limits

Points = NDArray[np.float64]

FEWEST = 8
"""With fewer items t-SNE has no neighborhoods to keep."""
MOST = 5_000
"""Up to so many items t-SNE takes half a minute of one core."""
SAMPLE = 4_000
"""Of more items, so many are mapped by t-SNE."""
NEIGHBORS = 5
"""Of the sample, among which another item is placed."""
SHARPNESS = 20.0
"""How much more a nearer one of them counts: e^(20 cos)."""


@dataclass(frozen=True)
class PlanarMap:
    """Points ``(n, 2)`` and, in a few words, how they were found."""

    points: Points
    how: str


def planar_map(z: NDArray[np.float32], *, items: str = "nodes", seed: int = 0) -> PlanarMap:
    """Map embeddings ``(n, d)``, brought to rows of length one: by t-SNE where that is affordable.

    Of more than ``MOST`` rows a random sample is mapped, and each of the others is put at the weighted mean of its
    nearest in the sample. The map is turned so that its longest extent lies across (:func:`upright`).
    """
    length = np.linalg.norm(z, axis=1, keepdims=True)
    rows = np.asarray(z / np.where(length > 0, length, 1), dtype=np.float32)
    if len(rows) < FEWEST or rows.shape[1] < 2 or np.ptp(rows, axis=0).max() == 0:
        u, sigma, _ = np.linalg.svd(rows.astype(np.float64) - rows.mean(0, dtype=np.float64), full_matrices=False)
        points = np.zeros((len(rows), 2))
        points[:, : len(sigma)] = (u * sigma)[:, :2]
        return PlanarMap(upright(points), "PCA, first two components")
    # Partial sums of more than two threads are added up in the order in which they happen to end.
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
    r"""Place all rows on a map of some of them: the others at the weighted mean of their nearest, by the cosine.

    .. math::
        p_i = \frac{\sum_{j \in N(i)} w_{ij} p_j}{\sum_{j \in N(i)} w_{ij}}, \qquad w_{ij} = e^{20 \cos(z_i, z_j)}

    Args:
        rows: ``(n, d)``, of length one.
        chosen: The numbers of those that are on the map.
        points: Where they are, ``(len(chosen), 2)``.
    """
    from sklearn.neighbors import KNeighborsRegressor

    result = np.empty((len(rows), 2))
    result[chosen] = points
    others = np.setdiff1d(np.arange(len(rows)), chosen)
    if len(others):
        nearest = KNeighborsRegressor(
            min(NEIGHBORS, len(chosen)), metric="cosine", weights=lambda distance: np.exp(-SHARPNESS * distance)
        )
        result[others] = nearest.fit(rows[chosen], points).predict(rows[others])
    return result


def upright(points: Points) -> Points:
    """Turn a map about its center of mass: its longest extent across, the longer tails to the right and to the top.

    A turned or mirrored map says the same; so there is one of them, whichever came out.
    """
    centred = points - points.mean(0)
    _, directions = np.linalg.eigh(centred.T @ centred)
    turned = centred @ directions[:, ::-1]
    skew = (turned**3).sum(0)
    return np.asarray(turned * np.where(skew < 0, -1, 1))


def turned_like(points: Points, others: Points) -> Points:
    """Turn, or mirror, a map to lie as close as it can to another of the same items."""
    centred = points - points.mean(0)
    rotation, _ = orthogonal_procrustes(centred, others - others.mean(0))
    return np.asarray(centred @ rotation)
