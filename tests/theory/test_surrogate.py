"""The paper's Gamma surrogate against its right closed form in many digits, and where it is exact."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp, mpf

from sfa.theory.removed_fraction import moments
from tests.cases import each

SMALLEST = 1e-290
PRECISE = 1e-12

SPECTRA: dict[str, tuple[list[float], int]] = {
    "two": ([2.0, 1.0], 3),
    "caption-1": ([2.0, 1.5, 0.9, 0.2, 0.01], 1),
    "caption-2": ([0.5, 1.5, 0.9, 0.2, 0.01], 2),
    "caption-8": ([3.0, 1.5, 0.9, 0.2, 0.01], 8),
    "random-direction": ([7.0, 2.0, 1.0, 0.0], 0),
    "clustered": ([1.0, 1 - 1e-6, 1 + 1e-9, 1e-3], 2),
    "large-k": ([1.0, 0.99, 0.98, 0.5], 64),
    "zeros": ([2.0, 0.0, 1.0, 0.0], 1),
    "large-gap": ([1e9, 1.0, 0.8, 0.5], 1),
    "moderate-gap": ([1e4, 1.0, 0.9, 0.1], 2),
    "two-gaps": ([1e6, 1e3, 1.0], 2),
    "a-pair-and-a-gap": ([1.0, 1.0, 1e-4], 2),
    "gap-after-the-third": ([1.0, 1.0, 1.0, 1e-15, 1e-25], 1),
    "sixty-decades": ([1e30, 1e15, 1.0, 1e-15, 1e-30], 1),
    "sixty-decades-k64": ([1e30, 9.9e29, 1.0, 1e-30], 64),
    "one-above-many": ([10.0, *[1.0] * 100], 1),
    "many-below-one": ([0.1, *[1.0] * 100], 2),
    "one-among-a-thousand": ([3.0, *[1.0] * 1000], 1),
}
"""From α = 1/2 to 500, from γ = 1e-7680 to 1e7680."""


def closed_form(sigma: list[float], k: int, i: int) -> tuple[mpf, mpf, mpf]:
    """E[z], 1 - E[z] and Var(z): the right closed form with α and γ of Proposition 2, all as printed.

    The last two cancel, and so does the function itself: digits for the distance between the values.
    """
    others = [s for j, s in enumerate(sigma) if j != i]
    distance = abs(float(np.log10(sigma[i] / max(others)))) if k else 0
    if k * distance > 600 and sigma[i] < max(others):
        return mpf(0), mpf(1), mpf(0)
    with mp.workdps(40 + int(8 * k * distance) + len(sigma) // 10):
        beta = [(mpf(s) / mpf(max(sigma))) ** (4 * k) for s in sigma]
        rest = [b for j, b in enumerate(beta) if j != i]
        total, squares = mp.fsum(rest), mp.fsum(b**2 for b in rest)
        alpha, gamma = total**2 / (2 * squares), squares / (beta[i] * total)

        def moment(n: int) -> mpf:
            a = n + mpf(1) / 2
            ratio = mp.beta(a, alpha) / mp.beta(mpf(1) / 2, alpha)
            return mp.sqrt(gamma) * ratio * mp.hyp2f1(a, alpha + mpf(1) / 2, a + alpha, 1 - gamma)

        first, second = moment(1), moment(2)
        return first, 1 - first, second - first**2


def assert_is(actual: float, expected: mpf) -> None:
    if abs(expected) < SMALLEST:
        assert abs(actual) < 2 * SMALLEST
    else:
        assert abs(mpf(float(actual)) / expected - 1) < PRECISE, f"{actual} is not {mp.nstr(expected, 17)}"


@pytest.mark.slow
@each(("sigma", "k"), SPECTRA.values(), ids=SPECTRA)
def test_moments_equal_the_closed_form(sigma: list[float], k: int) -> None:
    actual = moments(sigma, k, "surrogate")
    for i in range(min(len(sigma), 6)):
        if k == 0 or sigma[i] > 0:
            for part, expected in zip(actual, closed_form(sigma, k, i), strict=True):
                assert_is(part[i], expected)
        else:
            assert (actual.mean[i], actual.complement[i], actual.variance[i]) == (0, 1, 0)


@pytest.mark.slow
@settings(max_examples=30)
@given(exponents=st.lists(st.floats(-6, 6), min_size=2, max_size=6), k=st.integers(0, 4))
def test_random_spectra_equal_the_closed_form(exponents: list[float], k: int) -> None:
    sigma = [10.0**e for e in exponents]
    actual = moments(sigma, k, "surrogate")
    for i in range(len(sigma)):
        for part, expected in zip(actual, closed_form(sigma, k, i), strict=True):
            assert_is(part[i], expected)


@each("sigma", [[2.0, 1.0], [1.0, 0.7], [1e20, 1e-20], [3.0], [0.0, 0.0], [0.0, 2.0, 0.0]], ids=str)
@each("k", [0, 1, 2, 16])
def test_exact_where_no_more_than_two_values_have_weight(sigma: list[float], k: int) -> None:
    for surrogate, exact in zip(moments(sigma, k, "surrogate"), moments(sigma, k, "exact"), strict=True):
        np.testing.assert_allclose(surrogate, exact, rtol=PRECISE, atol=SMALLEST)


@each("d", [2, 3, 40, 1000])
@each("k", [0, 1, 64])
def test_exact_for_equal_values(d: int, k: int) -> None:
    actual = moments(np.full(d, 0.3), k, "surrogate")
    np.testing.assert_allclose(actual.mean, 1 / d, rtol=PRECISE)
    np.testing.assert_allclose(actual.complement, 1 - 1 / d, rtol=PRECISE)
    np.testing.assert_allclose(actual.variance, 2 * (d - 1) / (d**2 * (d + 2)), rtol=PRECISE)


def test_exact_for_the_one_value_whose_others_are_all_equal() -> None:
    """Their sum is a Gamma variable; that of the others' others is not."""
    surrogate, exact = (moments([2.0, 1.0, 1.0, 1.0, 1.0], 1, method).mean for method in ("surrogate", "exact"))
    assert surrogate[0] == pytest.approx(exact[0], rel=PRECISE)
    assert abs(surrogate[1] - exact[1]) > 1e-3


def test_shares_of_the_surrogate_need_not_sum_to_one() -> None:
    """Its Gamma variables are not those of one draw: the reason why it is not the default."""
    assert moments([1.0, 1.5, 0.9, 0.2, 0.01], 1, "surrogate").mean.sum() > 1.02


levels = st.one_of(st.just(0.0), st.floats(-30, 30).map(lambda e: 10.0**e), st.sampled_from([1.0, 2.0, 1e-3, 1e30]))


@given(sigma=st.lists(levels, min_size=1, max_size=40), k=st.integers(0, 64))
def test_shares_are_shares(sigma: list[float], k: int) -> None:
    mean, complement, spread = moments(sigma, k, "surrogate")
    assert (mean >= 0).all()
    assert (mean <= 1 + 1e-13).all()
    np.testing.assert_allclose(mean + complement, 1, rtol=1e-12)
    assert (spread >= 0).all()
    assert (spread <= mean * complement * (1 + 1e-11)).all(), "no variable in [0, 1] has more"
