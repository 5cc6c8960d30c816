"""Two scores over the same splits: how much they differ, and whether chance would do as much."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from sfa.errors import InputError
from sfa.evaluate.scores import Score

DIGITS = 9
"""Differences in per cent that agree to so many decimals are the same: the rest is rounding."""


@dataclass(frozen=True)
class Difference:
    """Mean difference of two scores over the same splits, its 95 % interval (Student) and Wilcoxon's p-value."""

    mean: float
    low: float
    high: float
    p_value: float

    def __str__(self) -> str:
        return f"{self.mean:+.2f} [{self.low:+.2f}, {self.high:+.2f}]"

    def as_dict(self) -> dict[str, float]:
        """For JSON."""
        return asdict(self)


def paired_difference(score: Score, baseline: Score, metric: str | None = None) -> Difference:
    """How much better ``score`` is than ``baseline``, split by split.

    Interval and p-value speak of the choice of splits alone, not of the training seed; and as random splits overlap,
    they are somewhat too sure of themselves.
    """
    values, others = score.of(metric), baseline.of(metric)
    if score.protocol != baseline.protocol or len(values) != len(others) or len(values) < 2:
        raise InputError(
            f"Two scores are compared over the same splits, at least two of them, not {len(values)} of "
            f"{score.protocol} with {len(others)} of {baseline.protocol}."
        )
    if score.splits != baseline.splits:
        raise InputError(
            f"Two scores of {score.protocol} on different splits, or with other settings, cannot be paired."
        )
    differences = np.subtract(values, others).round(DIGITS)
    mean, error = float(differences.mean()), float(stats.sem(differences))
    half = float(stats.t.ppf(0.975, len(differences) - 1)) * error
    return Difference(mean, mean - half, mean + half, signed_rank_p_value(differences))


def score_difference(score: Score, baseline: Score, metric: str | None = None) -> Difference:
    """The paired one; of a single split the difference alone, since nothing tells what chance would do."""
    if len(score.of(metric)) > 1:
        return paired_difference(score, baseline, metric)
    return Difference(score.mean(metric) - baseline.mean(metric), math.nan, math.nan, math.nan)


def signed_rank_p_value(differences: ArrayLike) -> float:
    r"""The two-sided p-value of Wilcoxon's signed-rank test (1945), exact also where differences tie.

    Differences of 0 are left out; equal sizes share their mean rank. With ``W⁺`` the sum of the ranks of the positive
    ones, and every sign as likely as its opposite,

    .. math::
        p = \min\big(1,\; 2 \min\big( P(W \le W^+),\; P(W \ge W^+) \big) \big).
    """
    d = np.asarray(differences, dtype=np.float64)
    d = d[d != 0]
    if len(d) == 0:
        return 1.0
    ranks = np.rint(2 * stats.rankdata(np.abs(d))).astype(np.int64)  # twice the rank is whole, ties or not
    probability = np.ones(1)
    for rank in ranks:  # each difference is positive and adds its rank, or not, with equal probability
        probability = (np.pad(probability, (0, rank)) + np.pad(probability, (rank, 0))) / 2
    positive = int(ranks[d > 0].sum())
    return float(min(1.0, 2 * min(probability[: positive + 1].sum(), probability[positive:].sum())))
