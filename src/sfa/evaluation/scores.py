"""Scores over splits, and the difference of two of them."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from sfa.errors import InputError
from sfa.evaluation.probe import ProbeResult


@dataclass(frozen=True)
class Score:
    """Accuracy of one embedding, split by split, so that two of them can be compared pairwise."""

    name: str
    results: tuple[ProbeResult, ...]

    @property
    def accuracies(self) -> NDArray[np.float64]:
        """Test accuracy per split, in per cent."""
        return np.array([result.test for result in self.results])

    @property
    def mean(self) -> float:
        return float(self.accuracies.mean())

    @property
    def std(self) -> float:
        """Standard deviation over the splits."""
        return float(self.accuracies.std(ddof=1))

    def __str__(self) -> str:
        return f"{self.mean:.2f} ± {self.std:.2f}"

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "name": self.name,
            "mean": self.mean,
            "std": self.std,
            "test": [result.test for result in self.results],
            "validation": [result.validation for result in self.results],
            "c": [result.c for result in self.results],
        }


@dataclass(frozen=True)
class Difference:
    """Mean difference of two scores over the same splits, with its 95 % confidence interval."""

    mean: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.mean:+.2f} [{self.low:+.2f}, {self.high:+.2f}]"

    def as_dict(self) -> dict[str, float]:
        """For JSON."""
        return asdict(self)


def paired_difference(score: Score, baseline: Score) -> Difference:
    """How much better ``score`` is than ``baseline``, split by split (Student's t over the splits).

    The interval speaks of the choice of splits alone, not of the training seed.
    """
    if len(score.results) != len(baseline.results) or len(score.results) < 2:
        raise InputError("Two scores are compared over the same splits, at least two of them.")
    differences = score.accuracies - baseline.accuracies
    mean, error = float(differences.mean()), float(stats.sem(differences))
    half = float(stats.t.ppf(0.975, len(differences) - 1)) * error
    return Difference(mean, mean - half, mean + half)
