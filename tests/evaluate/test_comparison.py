"""Paired differences, against SciPy and against every sign written out."""

from collections.abc import Sequence
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from sfa.errors import InputError
from sfa.evaluate import Score, paired_difference
from sfa.evaluate.scores import signed_rank_p_value


def score(values: Sequence[float], protocol: str = "honest") -> Score:
    return Score("some", protocol, {"accuracy": tuple(values), "other": tuple(-value for value in values)})


def slow_p_value(differences: Sequence[float]) -> float:
    """All assignments of signs; those with a sum of positive ranks as far out as the one seen, on its side."""
    sizes = [abs(d) for d in differences if d != 0]
    ranks = [sum(other < own for other in sizes) + (sizes.count(own) + 1) / 2 for own in sizes]
    seen = sum(rank for d, rank in zip([d for d in differences if d != 0], ranks, strict=True) if d > 0)
    sums = [
        sum(rank for rank, sign in zip(ranks, signs, strict=True) if sign)
        for signs in product([0, 1], repeat=len(ranks))
    ]
    below, above = sum(total <= seen for total in sums), sum(total >= seen for total in sums)
    return min(1.0, 2 * min(below, above) / len(sums))


def test_the_interval_is_that_of_scipy() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.normal(80, 1, 20), rng.normal(79, 1, 20)
    difference = paired_difference(score(a.tolist()), score(b.tolist()))
    interval = stats.ttest_rel(a, b).confidence_interval(0.95)
    assert (difference.low, difference.high) == pytest.approx((interval.low, interval.high))
    assert difference.mean == pytest.approx(np.mean(a - b))
    assert difference.p_value == pytest.approx(stats.wilcoxon(a, b, method="exact").pvalue)
    opposite = paired_difference(score(a.tolist()), score(b.tolist()), "other")
    assert opposite.mean == pytest.approx(-difference.mean)
    assert opposite.p_value == pytest.approx(difference.p_value)


@settings(max_examples=50)
@given(st.lists(st.integers(-4, 4), min_size=1, max_size=9))
def test_the_p_value_counts_all_signs_with_ties_and_zeros(differences: list[int]) -> None:
    assert signed_rank_p_value(differences) == pytest.approx(slow_p_value(differences))


def test_differences_that_rounding_alone_tells_apart_are_ties() -> None:
    """One node more in seven is one node more, wherever one starts."""
    before, after = ([100 * hits / 7 for hits in of] for of in ((1, 2, 3, 4, 5), (2, 3, 4, 5, 4)))
    assert len({abs(b - a) for a, b in zip(before, after, strict=True)}) > 1
    assert paired_difference(score(after), score(before)).p_value == pytest.approx(slow_p_value([1, 1, 1, 1, -1]))


def test_equal_scores_differ_by_nothing() -> None:
    same = score([80.0, 81.0])
    assert str(paired_difference(same, same)) == "+0.00 [+0.00, +0.00]"
    assert paired_difference(same, same).p_value == 1


@pytest.mark.parametrize(("other", "protocol"), [([1.0, 2.0, 3.0], "honest"), ([1.0, 2.0], "knn"), ([1.0], "honest")])
def test_scores_over_other_splits_cannot_be_compared(other: list[float], protocol: str) -> None:
    with pytest.raises(InputError, match="same splits"):
        paired_difference(score([1.0, 2.0][: max(1, len(other))]), score(other, protocol))
