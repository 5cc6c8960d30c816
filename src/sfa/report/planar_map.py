"""Embeddings as points of a plane: near ones stay near, and the same embeddings give the same map."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from sfa.evaluate.probes.neighbours import nearest_rows
from sfa.matrices import unit_rows
from sfa.plots import plane

Points = NDArray[np.float64]

FEWEST = 8
"""With fewer items t-SNE has no neighbourhoods to keep."""
MOST = 5_000
"""Up to so many items t-SNE takes half a minute of one core."""
SAMPLE = 4_000
"""Of more items, so many are mapped by t-SNE."""
NEIGHBOURS = 5
"""Of the sample, among which another item is placed."""
SHARPNESS = 20.0
"""How much more a nearer one of them counts: e^(20 cos)."""


@dataclass(frozen=True)
class PlanarMap:
    """Points ``(n, 2)`` and, in a few words, how they were found."""

    points: Points
    how: str


def planar_map(z: NDArray[np.float32], *, items: str = "nodes", seed: int = 0) -> PlanarMap:
    """A map of embeddings ``(n, d)``, brought to rows of length one: t-SNE where that is affordable.

    Of more than ``MOST`` rows a random sample is mapped, and each of the others is put at the weighted mean of its
    nearest in the sample. The map is turned so that its longest extent lies across (:func:`upright`).
    """
    rows: NDArray[np.float32] = unit_rows(torch.from_numpy(np.ascontiguousarray(z))).numpy()
    if len(rows) < FEWEST or rows.shape[1] < 2 or np.ptp(rows, axis=0).max() == 0:
        return PlanarMap(upright(_principal_plane(rows)), "PCA, first two components")
    # Partial sums of more than two threads are added up in the order in which they happen to end.
    with threadpool_limits(min(2, torch.get_num_threads()), user_api="openmp"):
        if len(rows) <= MOST:
            return PlanarMap(upright(plane(rows, seed=seed)), f"t-SNE of {len(rows)} {items}")
        chosen = np.sort(np.random.default_rng(seed).choice(len(rows), SAMPLE, replace=False))
        points = placed_among(rows, chosen, plane(rows[chosen], seed=seed))
    how = f"t-SNE of {SAMPLE} of {len(rows)} {items}, the others among their {NEIGHBOURS} nearest of these"
    return PlanarMap(upright(points), how)


def placed_among(rows: NDArray[np.float32], chosen: NDArray[np.int64], points: Points) -> Points:
    r"""All rows on a map of some of them: the others at the weighted mean of their nearest, by the cosine.

    .. math::
        p_i = \frac{\sum_{j \in N(i)} w_{ij} p_j}{\sum_{j \in N(i)} w_{ij}}, \qquad w_{ij} = e^{20 \cos(z_i, z_j)}

    Args:
        rows: ``(n, d)``, of length one.
        chosen: The numbers of those that are on the map.
        points: Where they are, ``(len(chosen), 2)``.
    """
    result = np.empty((len(rows), 2))
    result[chosen] = points
    others = np.setdiff1d(np.arange(len(rows)), chosen)
    sample, places = torch.from_numpy(rows[chosen]), torch.from_numpy(points)
    found = [
        ((cosines.double() * SHARPNESS).softmax(1).unsqueeze(2) * places[nearest]).sum(1)
        for cosines, nearest in nearest_rows(
            torch.from_numpy(rows[others]), sample, min(NEIGHBOURS, len(sample)), sample.new_zeros(len(sample))
        )
    ]
    result[others] = torch.cat(found).numpy() if found else 0
    return result


def upright(points: Points) -> Points:
    """A map about its centre of mass, its longest extent across, the longer tails to the right and to the top.

    A turned or mirrored map says the same; so there is one of them, whichever came out.
    """
    centred = points - points.mean(0)
    _, directions = np.linalg.eigh(centred.T @ centred)
    turned = centred @ directions[:, ::-1]
    skew = (turned**3).sum(0)
    return np.asarray(turned * np.where(skew < 0, -1, 1))


def turned_like(points: Points, others: Points) -> Points:
    r"""A map turned, or mirrored, to lie as close as it can to another of the same items (Schönemann, 1966).

    .. math::
        \min_{R^\top R = I} \lVert P R - Q \rVert_F, \qquad R = U V^\top, \quad P^\top Q = U \Sigma V^\top
    """
    u, _, vt = np.linalg.svd((points - points.mean(0)).T @ (others - others.mean(0)))
    return np.asarray((points - points.mean(0)) @ u @ vt)


def _principal_plane(rows: NDArray[np.float32]) -> Points:
    """The first two principal components; zeros where there are fewer."""
    centred = rows.astype(np.float64) - rows.mean(0, dtype=np.float64)
    u, sigma, _ = np.linalg.svd(centred, full_matrices=False)
    result = np.zeros((len(rows), 2))
    width = min(2, len(sigma))
    result[:, :width] = u[:, :width] * sigma[:width]
    return result
