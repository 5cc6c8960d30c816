"""How well clusters agree with classes, whatever the clusters are called."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from scipy.special import xlogy


def contingency(clusters: NDArray[np.int64], classes: NDArray[np.int64]) -> NDArray[np.int64]:
    """How many points each cluster shares with each class, ``(clusters, classes)``; empty ones have no row."""
    rows, row = np.unique(clusters, return_inverse=True)
    columns, column = np.unique(classes, return_inverse=True)
    counts = np.bincount(row * len(columns) + column, minlength=len(rows) * len(columns))
    return counts.reshape(len(rows), len(columns))


def normalised_mutual_information(counts: NDArray[np.int64]) -> float:
    r"""Mutual information over the mean of the two entropies (NMI), from 0 to 1; 1 if both are trivial.

    .. math::
        \frac{2 \, I(K; Y)}{H(K) + H(Y)}
    """
    joint = counts / counts.sum()
    entropies = [-float(xlogy(share, share).sum()) for share in (joint.sum(1), joint.sum(0), joint.ravel())]
    information = entropies[0] + entropies[1] - entropies[2]
    size = entropies[0] + entropies[1]
    return min(1.0, max(0.0, 2 * information / size)) if size > 0 else 1.0


def adjusted_rand_index(counts: NDArray[np.int64]) -> float:
    r"""Pairs put together rightly, over what chance gives (ARI; Hubert and Arabie, 1985): 1 is perfect, 0 is chance.

    .. math::
        \frac{\sum_{ij} \binom{n_{ij}}2 - E}{\tfrac12 \big( \sum_i \binom{a_i}2 + \sum_j \binom{b_j}2 \big) - E},
        \qquad E = \sum_i \binom{a_i}2 \sum_j \binom{b_j}2 \Big/ \binom n2
    """
    both, rows, columns, every = (
        float((n * (n - 1.0) / 2).sum()) for n in (counts, counts.sum(1), counts.sum(0), counts.sum())
    )
    expected = rows * columns / every if every > 0 else 0.0
    most = (rows + columns) / 2
    return (both - expected) / (most - expected) if most != expected else 1.0


def assignment_accuracy(counts: NDArray[np.int64]) -> float:
    """Share of points in the right cluster, each cluster standing for another class: the best of all assignments."""
    rows, columns = linear_sum_assignment(counts, maximize=True)
    return float(counts[rows, columns].sum() / counts.sum())
