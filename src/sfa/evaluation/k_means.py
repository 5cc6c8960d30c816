"""k-means: all runs, each with seeds of its own, in one batch."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from sfa.errors import InputError
from sfa.spectral.arguments import check_number, check_whole

DISTANCES_TOGETHER = 2**22
"""Distances of rows to centres that are held at a time."""


@dataclass(frozen=True)
class Clusterings:
    """What k-means found in each run.

    Attributes:
        labels: The nearest centre of every row, ``(runs, n)``.
        inertia: Sum of squared distances to it, float64 ``(runs,)``.
        centres: ``(runs, k, d)``.
        iterations: How often the centres moved, ``(runs,)``.
    """

    labels: Tensor
    inertia: Tensor
    centres: Tensor
    iterations: Tensor


def k_means(
    z: Tensor,
    clusters: int,
    *,
    runs: int = 10,
    max_iterations: int = 300,
    tolerance: float = 1e-4,
    generator: torch.Generator,
) -> Clusterings:
    r"""Cluster rows around ``k`` centres, several times from other seeds, as scikit-learn's ``KMeans`` does.

    .. math::
        \min_{c_1 \dots c_k} \sum_i \min_j \lVert z_i - c_j \rVert_2^2

    Seeds are those of :func:`plus_plus`, and :func:`lloyd` moves them. No run is preferred: report their mean and
    spread, or take the one of least inertia.

    Args:
        z: Embeddings ``(n, d)``; computed with in their dtype (half precision in float32).
        clusters: ``k``, from 1 to ``n``.
        runs: Independent runs.
        max_iterations: Most moves of the centres.
        tolerance: See :func:`lloyd`.
        generator: Source of the seeds, on the CPU.
    """
    centres = plus_plus(z, clusters, runs=runs, generator=generator)
    return lloyd(z, centres, max_iterations=max_iterations, tolerance=tolerance)


def plus_plus(z: Tensor, clusters: int, *, runs: int = 10, generator: torch.Generator) -> Tensor:
    """Centres ``(runs, k, d)`` to start from: greedy k-means++ (Arthur and Vassilvitskii, 2007).

    The first is a row drawn uniformly. For each further one ``2 + ⌊log k⌋`` rows are drawn with probabilities
    proportional to their squared distance from the centres so far, and the one that leaves the least sum of them stays.
    """
    x, _ = _centred(z)
    n = len(x)
    check_whole("clusters", clusters, 1)
    check_whole("runs", runs, 1)
    if clusters > n:
        raise InputError(f"{n} rows have at most as many clusters, not {clusters}.")
    trials = 2 + int(math.log(clusters))
    chosen = torch.randint(n, (runs, 1), generator=generator)
    distance = _squared_distances(x, x[chosen]).squeeze(1)
    for _ in range(clusters - 1):
        cumulative = distance.double().cumsum(1)
        draws = torch.rand(runs, trials, dtype=torch.float64, generator=generator) * cumulative[:, -1:]
        candidates = torch.searchsorted(cumulative, draws, right=True).clamp_max_(n - 1)  # n if all distances are 0
        closer = _squared_distances(x, x[candidates]).minimum(distance.unsqueeze(1))
        best = closer.sum(2, dtype=torch.float64).argmin(1, keepdim=True)
        chosen = torch.cat([chosen, candidates.gather(1, best)], 1)
        distance = closer.take_along_dim(best.unsqueeze(2), 1).squeeze(1)
    return z.detach()[chosen].to(x.dtype)


@torch.no_grad()
def lloyd(z: Tensor, centres: Tensor, *, max_iterations: int = 300, tolerance: float = 1e-4) -> Clusterings:
    """Move each centre to the mean of the rows nearest to it, until none of them changes its centre.

    A run also ends when its centres move, squared and summed, by no more than ``tolerance`` times the mean variance of
    the columns. A centre without rows is put on the row farthest from its own centre; if all are on their centres, it
    stays. All this is as in scikit-learn, and so is the result from the same centres.

    Args:
        z: Embeddings ``(n, d)``.
        centres: Where to start, ``(runs, k, d)``.
        max_iterations: Most moves of the centres.
        tolerance: 0 or more.
    """
    x, mean = _centred(z)
    check_whole("max_iterations", max_iterations, 1)
    check_number("tolerance", tolerance)
    if centres.dim() != 3 or centres.shape[2] != x.shape[1] or not centres.isfinite().all():
        raise InputError(f"Centres are finite numbers (runs, k, {x.shape[1]}), not of shape {tuple(centres.shape)}.")
    centres = centres.detach().to(x.dtype) - mean
    shift_allowed = tolerance * float(x.var(0, correction=0).mean())
    labels = torch.full((len(centres), len(x)), -1)
    iterations = torch.full((len(centres),), max_iterations)
    moving = torch.arange(len(centres))
    for iteration in range(1, max_iterations + 1):
        before = centres[moving]
        nearest = _nearest(x, before)
        after = torch.stack([_means(x, *run) for run in zip(nearest, before, strict=True)])
        same = (nearest == labels[moving]).all(1)
        settled = same | ((after - before).square().sum((1, 2)) <= shift_allowed)
        centres[moving], labels[moving] = after, nearest
        iterations[moving[settled]] = iteration
        moving = moving[~settled]
        if len(moving) == 0:
            break
    labels = _nearest(x, centres)
    inertia = torch.stack([_inertia(x, *run) for run in zip(labels, centres, strict=True)])
    return Clusterings(labels, inertia, centres + mean, iterations)


def _centred(z: Tensor) -> tuple[Tensor, Tensor]:
    """Rows without their mean, and the mean: differences of large numbers lose digits."""
    if z.dim() != 2 or len(z) == 0 or not z.is_floating_point() or not z.isfinite().all():
        raise InputError(f"Rows to cluster are a finite matrix (n, d), not {z.dtype} of shape {tuple(z.shape)}.")
    x = z.detach().to(torch.float64 if z.dtype == torch.float64 else torch.float32)
    mean = x.mean(0)
    return x - mean, mean


def _nearest(x: Tensor, centres: Tensor) -> Tensor:
    """Number of the nearest centre of each row, ``(runs, n)``; the first of several."""
    runs, k, _ = centres.shape
    flat = centres.flatten(0, 1)
    half_squares = flat.square().sum(1) / 2
    nearest = [
        torch.addmm(half_squares, rows, flat.mT, alpha=-1).unflatten(1, (runs, k)).min(2).indices
        for rows in x.split(max(1, DISTANCES_TOGETHER // (runs * k)))
    ]
    return torch.cat(nearest).mT.contiguous()


def _means(x: Tensor, labels: Tensor, before: Tensor) -> Tensor:
    """Mean of the rows of each centre, ``(k, d)``."""
    counts = labels.bincount(minlength=len(before)).to(x.dtype)
    sums = torch.zeros_like(before).index_add_(0, labels, x)
    for empty, far in _farthest(x, labels, before, (counts == 0).nonzero().squeeze(1)):
        sums[labels[far]] -= x[far]
        counts[labels[far]] -= 1
        sums[empty], counts[empty] = x[far], 1
    counts = counts.unsqueeze(1)
    return torch.where(counts > 0, sums / counts.clamp_min(1), before)


def _farthest(x: Tensor, labels: Tensor, centres: Tensor, empty: Tensor) -> Iterator[tuple[int, int]]:
    """A row for each empty centre, the farthest from its own centre first; none if all are on their centres."""
    if len(empty) > 0:
        distances, rows = (x - centres[labels]).square().sum(1).topk(len(empty))
        if distances[0] > 0:
            yield from zip(empty.tolist(), rows.tolist(), strict=True)


def _inertia(x: Tensor, labels: Tensor, centres: Tensor) -> Tensor:
    rows = max(1, DISTANCES_TOGETHER // x.shape[1]) if x.shape[1] else len(x)
    pieces = zip(x.split(rows), labels.split(rows), strict=True)
    return torch.stack([(part - centres[own]).double().square().sum() for part, own in pieces]).sum()


def _squared_distances(x: Tensor, centres: Tensor) -> Tensor:
    """Of every row from every centre, ``(runs, k, n)``."""
    flat = centres.flatten(0, 1)
    products = torch.addmm(x.square().sum(1), flat, x.mT, alpha=-2)
    return products.add_(flat.square().sum(1, keepdim=True)).clamp_min_(0).unflatten(0, centres.shape[:2])
