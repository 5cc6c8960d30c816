"""k-means: all runs, each from a start of its own, in one batch."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from sfa.errors import InputError
from sfa.ranges import check_number, check_whole

CHUNK = 2**13
"""Rows whose distances to the centres of all runs are held at a time."""


@dataclass(frozen=True)
class Clusterings:
    """What k-means found in each run.

    Attributes:
        labels: The nearest centre of every point, ``(runs, n)``.
        inertia: Sum of squared distances to it, float64 ``(runs,)``.
        centres: ``(runs, k, d)``.
        iterations: How often the centres moved, ``(runs,)``.
    """

    labels: Tensor
    inertia: Tensor
    centres: Tensor
    iterations: Tensor


@torch.no_grad()
def k_means(
    z: Tensor,
    clusters: int,
    *,
    runs: int = 10,
    max_iterations: int = 300,
    tolerance: float = 1e-4,
    initial: Tensor | None = None,
    generator: torch.Generator | None = None,
) -> Clusterings:
    r"""Put points around ``k`` centres, several times, as scikit-learn's ``KMeans`` does (Lloyd's algorithm).

    .. math::
        \min_{c_1 \dots c_k} \sum_i \min_j \lVert z_i - c_j \rVert_2^2

    Each centre moves to the mean of the points nearest to it, until the squared moves of all sum to no more than
    ``tolerance`` times the mean variance of the columns. A centre without points is put on
    the point farthest from its own centre; if all points are on their centres, it stays.

    Args:
        z: Points ``(n, d)``; computed with in float64 if that is their dtype, else in float32.
        clusters: ``k``, from 1 to ``n``.
        runs: Independent runs. None is preferred: report their mean and spread, or take the least inertia.
        max_iterations: Most moves of the centres.
        tolerance: 0 or more.
        initial: Centres ``(runs, k, d)`` to start from; those of :func:`greedy_starts` by default.
        generator: Source of the starts, on the CPU; the global one if not given.
    """
    _check(z, clusters, runs, initial)
    check_whole("max_iterations", max_iterations, 1)
    check_number("tolerance", tolerance)
    z = z.detach().to(torch.float64 if z.dtype == torch.float64 else torch.float32)
    mean = z.mean(0)
    x = z - mean  # differences of large numbers lose digits
    centres = greedy_starts(x, clusters, runs, generator) if initial is None else initial.to(x) - mean
    iterations = torch.full((runs,), max_iterations)
    allowed = tolerance * float(x.var(0, correction=0).mean())
    moving = torch.arange(runs)
    for iteration in range(1, max_iterations + 1):
        before, (own, distances) = centres[moving], nearest(x, centres[moving])
        after = torch.stack([_means(x, *run) for run in zip(own, distances, before, strict=True)])
        settled = (after - before).square().sum((1, 2)) <= allowed
        centres[moving] = after
        iterations[moving[settled]] = iteration
        moving = moving[~settled]
        if len(moving) == 0:
            break
    labels, distances = nearest(x, centres)
    return Clusterings(labels, distances.sum(1, dtype=torch.float64), centres + mean, iterations)


def greedy_starts(z: Tensor, clusters: int, runs: int, generator: torch.Generator | None = None) -> Tensor:
    """Centres ``(runs, k, d)`` to start from: greedy k-means++ (Arthur and Vassilvitskii, 2007).

    The first is a point drawn uniformly. For each further one ``2 + ⌊log k⌋`` points are drawn with probabilities
    proportional to their squared distances from the centres so far; the one that leaves the least sum of them stays.
    """
    n, trials = len(z), 2 + int(math.log(clusters))
    chosen = torch.randint(n, (runs, 1), generator=generator)
    distance = _squared_distances(z, z[chosen]).squeeze(1)
    for _ in range(clusters - 1):
        cumulative = distance.double().cumsum(1)
        draws = torch.rand(runs, trials, dtype=torch.float64, generator=generator) * cumulative[:, -1:]
        candidates = torch.searchsorted(cumulative, draws, right=True).clamp_max_(n - 1)  # n if all distances are 0
        closer = _squared_distances(z, z[candidates]).minimum(distance.unsqueeze(1))
        best = closer.sum(2, dtype=torch.float64).argmin(1, keepdim=True)
        chosen = torch.cat([chosen, candidates.gather(1, best)], 1)
        distance = closer.take_along_dim(best.unsqueeze(2), 1).squeeze(1)
    return z[chosen]


def nearest(z: Tensor, centres: Tensor) -> tuple[Tensor, Tensor]:
    """Number of each point's nearest centre, the first of several, and its squared distance; both ``(runs, n)``."""
    runs, k, _ = centres.shape
    flat = centres.flatten(0, 1)
    half_squares = flat.square().sum(1) / 2
    offsets = k * torch.arange(runs)
    labels, distances = [], []
    for rows in torch.split(z, CHUNK):
        own = torch.addmm(half_squares, rows, flat.mT, alpha=-1).view(-1, runs, k).min(2).indices
        labels.append(own)
        # From differences, not from the products above, where a point on its centre would have a distance of rounding.
        columns = [(rows - flat[number]).square().sum(1) for number in (own + offsets).unbind(1)]
        distances.append(torch.stack(columns, 1))
    return torch.cat(labels).mT.contiguous(), torch.cat(distances).mT.contiguous()


def _means(x: Tensor, labels: Tensor, distances: Tensor, before: Tensor) -> Tensor:
    """Mean of the points of each centre, ``(k, d)``."""
    counts = labels.bincount(minlength=len(before)).to(x.dtype)
    sums = torch.zeros_like(before).index_add_(0, labels, x)
    for empty, far in _taken(distances, (counts == 0).nonzero().squeeze(1)):
        sums[labels[far]] -= x[far]
        counts[labels[far]] -= 1
        sums[empty], counts[empty] = x[far], 1
    counts = counts.unsqueeze(1)
    return torch.where(counts > 0, sums / counts.clamp_min(1), before)


def _taken(distances: Tensor, empty: Tensor) -> Iterator[tuple[int, int]]:
    """A point for each empty centre, the farthest first; none if all points are on their centres."""
    if len(empty) > 0 and distances.max() > 0:
        yield from zip(empty.tolist(), distances.topk(len(empty)).indices.tolist(), strict=True)


def _squared_distances(z: Tensor, centres: Tensor) -> Tensor:
    """Of every point from every centre, ``(runs, k, n)``."""
    flat = centres.flatten(0, 1)
    products = torch.addmm(z.square().sum(1), flat, z.mT, alpha=-2)
    return products.add_(flat.square().sum(1, keepdim=True)).clamp_min_(0).view(*centres.shape[:2], -1)


def _check(z: Tensor, clusters: int, runs: int, initial: Tensor | None) -> None:
    if z.dim() != 2 or len(z) == 0 or not z.is_floating_point() or not z.isfinite().all():
        raise InputError(f"Points are a finite floating-point matrix (n, d), not {z.dtype} of shape {tuple(z.shape)}.")
    check_whole("clusters", clusters, 1)
    check_whole("runs", runs, 1)
    if clusters > len(z):
        raise InputError(f"{len(z)} points cannot be put into {clusters} clusters.")
    shape = (runs, clusters, z.shape[1])
    if initial is not None and (initial.shape != shape or not initial.isfinite().all()):
        raise InputError(f"Initial centres are finite numbers of shape {shape}, not {tuple(initial.shape)}.")
