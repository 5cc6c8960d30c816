"""Scores and their differences."""

import numpy as np
import pytest
from scipy import stats

from sfa.errors import InputError
from sfa.evaluation import Score, paired_difference
from sfa.evaluation.probe import ProbeResult


def score(values: list[float]) -> Score:
    return Score("some", tuple(ProbeResult(value, value + 1, 1.0) for value in values))


def test_mean_and_sample_deviation() -> None:
    values = [80.0, 82.0, 85.0]
    assert score(values).mean == pytest.approx(np.mean(values))
    assert score(values).std == pytest.approx(np.std(values, ddof=1))
    assert str(score(values)) == "82.33 ± 2.52"
    assert score(values).as_dict()["test"] == values


def test_paired_difference_is_the_t_interval_of_scipy() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.normal(80, 1, 20), rng.normal(79, 1, 20)
    difference = paired_difference(score(a.tolist()), score(b.tolist()))
    interval = stats.ttest_rel(a, b).confidence_interval(0.95)
    assert (difference.low, difference.high) == pytest.approx((interval.low, interval.high))
    assert difference.mean == pytest.approx(np.mean(a - b))


def test_equal_scores_differ_by_nothing() -> None:
    same = score([80.0, 81.0])
    assert str(paired_difference(same, same)) == "+0.00 [+0.00, +0.00]"


def test_scores_over_other_splits_cannot_be_compared() -> None:
    with pytest.raises(InputError, match="same splits"):
        paired_difference(score([1.0, 2.0]), score([1.0, 2.0, 3.0]))
