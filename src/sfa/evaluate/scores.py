"""The score of an embedding under a protocol, split by split, and the paired difference of two scores."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sfa.errors import InputError

FORMATS = {"r2": ".3f", "rmse": ".4g"}  # of numbers that are not in per cent
DIGITS = 9  # decimals to which differences in per cent are compared; the rest is rounding


@dataclass(frozen=True)
class Score:
    """The score of one embedding under a protocol."""

    name: str
    protocol: str
    values: Mapping[str, tuple[float, ...]]  # of each metric, the main one first, on every split, mostly in per cent
    chosen: tuple[Any, ...] = ()  # the setting that was selected on each split: C, a step, k …
    validation: Mapping[str, tuple[float, ...]] = field(default_factory=dict)  # metrics that it was selected by
    splits: str = ""  # digest of the protocol's settings and splits; scores can be paired if theirs is the same

    @property
    def main(self) -> str:
        """The metric that a single number stands for."""
        return next(iter(self.values))

    def of(self, metric: str | None = None) -> tuple[float, ...]:
        """Return the values of a metric, by default the main one."""
        if metric is not None and metric not in self.values:
            raise InputError(f"{self.protocol} measures {', '.join(self.values)}, not {metric!r}.")
        return self.values[metric or self.main]

    def mean(self, metric: str | None = None) -> float:
        return float(np.mean(self.of(metric)))

    def std(self, metric: str | None = None) -> float:
        """Return the standard deviation over the splits or runs; NaN if there is but one."""
        values = self.of(metric)
        return float(np.std(values, ddof=1)) if len(values) > 1 else math.nan

    def text(self, metric: str | None = None) -> str:
        """Format for instance as ``82.45 ± 0.82``; a single value just as ``82.45``."""
        std, form = self.std(metric), FORMATS.get(metric or self.main, ".2f")
        return f"{self.mean(metric):{form}}" + ("" if math.isnan(std) else f" ± {std:{form}}")

    __str__ = text

    def as_dict(self) -> dict[str, Any]:
        """Return it for JSON; ``mean`` and ``std`` are those of the main metric."""
        return {
            "name": self.name,
            "protocol": self.protocol,
            "mean": self.mean(),
            "std": None if math.isnan(self.std()) else self.std(),
            "values": {metric: list(values) for metric, values in self.values.items()},
            "chosen": list(self.chosen),
            "validation": {metric: list(values) for metric, values in self.validation.items()},
            "splits": self.splits,
        }

    @classmethod
    def from_dict(cls, given: Mapping[str, Any]) -> Score:
        """Read what :meth:`as_dict` wrote, also where ``validation`` is a list of the main metric, or is not there."""
        try:
            values = {str(metric): tuple(map(float, of)) for metric, of in given["values"].items()}
            if not values or not all(values.values()):
                raise ValueError("no values")
            found = given.get("validation") or {}
            found = found if isinstance(found, Mapping) else {next(iter(values)): found}
            validation = {str(metric): tuple(map(float, of)) for metric, of in found.items()}
            chosen, splits = tuple(given["chosen"]), str(given["splits"])
            return cls(str(given["name"]), str(given["protocol"]), values, chosen, validation, splits)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise InputError(f"This is not a score as sfa writes it: {error!r}.") from error


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
        return asdict(self)


def paired_difference(score: Score, baseline: Score, metric: str | None = None) -> Difference:
    """Compute how much better ``score`` is than ``baseline``, split by split.

    Interval and p-value are of the choice of splits, not of the training seed, and too narrow as random splits overlap.
    """
    from scipy import stats  # slow to import, and scores alone need none

    values, others = score.of(metric), baseline.of(metric)
    if score.protocol != baseline.protocol or len(values) != len(others) or len(values) < 2:
        given = f"{len(values)} of {score.protocol} with {len(others)} of {baseline.protocol}"
        raise InputError(f"Two scores are compared over the same splits, at least two of them, not {given}.")
    if score.splits != baseline.splits:
        raise InputError(f"Two scores of {score.protocol} on other splits, or with other settings, cannot be paired.")
    differences = np.subtract(values, others).round(DIGITS)
    mean, error = float(differences.mean()), float(stats.sem(differences))
    half = float(stats.t.ppf(0.975, len(differences) - 1)) * error
    return Difference(mean, mean - half, mean + half, signed_rank_p_value(differences))


def score_difference(score: Score, baseline: Score, metric: str | None = None) -> Difference:
    """Compute the paired difference; of a single split the difference alone, as nothing tells what chance would do."""
    if len(score.of(metric)) > 1:
        return paired_difference(score, baseline, metric)
    return Difference(score.mean(metric) - baseline.mean(metric), math.nan, math.nan, math.nan)


def signed_rank_p_value(differences: ArrayLike) -> float:
    """Compute the two-sided p-value of Wilcoxon's signed-rank test (1945), exact also where differences tie.

    Differences of 0 are left out; equal sizes share their mean rank. With ``W⁺`` the sum of the ranks of the positive
    ones, and every sign as likely as its opposite, it is ``min(1, 2 min(P(W ≤ W⁺), P(W ≥ W⁺)))``.
    """
    from scipy import stats

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


def pool_seeds(scores: Mapping[int, Score], metric: str) -> Score:
    """Return one score whose values are the seeds' means over splits, or the splits of the only seed."""
    first = scores[min(scores)]
    if len(scores) == 1:
        return first
    means = tuple(scores[seed].mean(metric) for seed in sorted(scores))
    return Score(first.name, first.protocol, {metric: means}, splits=first.splits)
