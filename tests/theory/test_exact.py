"""The rules of integration on their own: stretches, panels, and straight lines."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfa.theory.exact import FLAT, panels, segments, straight


@given(st.lists(st.floats(-1000, 1000), min_size=1, max_size=8), st.floats(FLAT, 90), st.floats(FLAT, 90))
def test_stretches_cover_every_corner_and_do_not_meet(corners: list[float], before: float, after: float) -> None:
    stretches = segments(np.array(corners), before, after)
    assert stretches[0][0] == min(corners) - before
    assert stretches[-1][1] == max(corners) + after
    for (_, high), (low, _) in pairwise(stretches):
        assert high < low
    for corner in corners:
        assert any(low <= corner - FLAT and corner + FLAT <= high for low, high in stretches)
    assert all(any(low <= corner <= high for corner in corners) for low, high in stretches)


@given(st.floats(-500, 500), st.floats(0.1, 300))
def test_panels_integrate_a_logistic_density(low: float, length: float) -> None:
    """The integral of σ(u)(1-σ(u)), a function with poles at ±iπ, is the logistic function itself."""
    middle = low + length / 3
    u, weight = panels(low, low + length)
    assert (np.diff(u) > 0).all()
    assert low < u[0] < u[-1] < low + length
    assert weight.sum() == pytest.approx(length, rel=1e-12)
    density = 1 / (2 + 2 * np.cosh(np.clip(u - middle, -300, 300)))
    expected = 1 / (1 + np.exp(middle - low - length)) - 1 / (1 + np.exp(middle - low))
    assert density @ weight == pytest.approx(expected, rel=1e-12)


@given(st.floats(-600, 600), st.floats(-600, 600), st.floats(1e-3, 1e3))
def test_straight_is_the_integral_of_an_exponential(start: float, stop: float, length: float) -> None:
    rate = (stop - start) / length
    if abs(stop - start) < 1e-6:
        expected = length * np.exp((start + stop) / 2)
    else:
        expected = (np.exp(stop) - np.exp(start)) / rate
    assert straight(length, np.array([start, stop])) == pytest.approx(expected, rel=1e-9)


def test_straight_of_many_and_of_nothing() -> None:
    ends = np.array([[[0.0, -1.0], [-np.inf, -np.inf]], [[2.0, 2.0], [-1.0, 0.0]]])
    expected = [[1 - np.exp(-1), 0.0], [np.exp(2), 1 - np.exp(-1)]]
    np.testing.assert_allclose(straight(1.0, ends), expected, rtol=1e-14)
    np.testing.assert_allclose(straight(0.0, ends), 0)
    assert straight(5.0, np.array([-np.inf, -np.inf])) == 0
