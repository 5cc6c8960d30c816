"""φ and its deviation, Jensen's bound that always holds, and AxMin that does not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from mpmath import mp, mpf
from scipy.integrate import quad

from sfa.errors import InputError
from sfa.theory import PushForward, jensen_bound, push_forward, upper_bound
from tests.cases import each

CAPTION = [1.5, 0.9, 0.2, 0.01]

levels = st.one_of(st.just(0.0), st.floats(-30, 30).map(lambda e: 10.0**e), st.sampled_from([1.0, 2.0, 1e-3, 1e30]))
spectra = st.lists(levels, min_size=1, max_size=40)
clusters = st.lists(st.floats(-0.3, 0.3).map(lambda e: 10.0**e), min_size=1, max_size=40)
any_spectrum = st.one_of(spectra, clusters)
iterations = st.integers(0, 64)
ROUNDING = 1e-12


def slow_push_forward(sigma: np.ndarray, k: int, draws: int, seed: int) -> np.ndarray:
    """Proposition 1, draw by draw: y, then the share of each value, then what is left of it."""
    rng = np.random.default_rng(seed)
    left = np.empty((draws, len(sigma)))
    for n in range(draws):
        part = (rng.normal(size=len(sigma)) * sigma ** (2 * k)) ** 2
        left[n] = sigma * (1 - part / part.sum())
    return left


@each(("first", "k"), [(2.0, 1), (0.5, 1), (3.0, 2), (1.6, 0)])
def test_mean_and_deviation_equal_draws(first: float, k: int) -> None:
    sigma = np.array([first, *CAPTION])
    mean, deviation = push_forward(sigma, k)
    left = slow_push_forward(sigma, k, 40_000, seed=k)
    assert (np.abs(left.mean(axis=0) - mean) <= 4.5 * deviation / 200 + 1e-13).all()
    squares = (left - mean) ** 2
    often = deviation / sigma > 0.02  # the deviation of rarer shares is a matter of few draws
    assert often.sum() >= 3
    assert (np.abs(squares.mean(axis=0) - deviation**2) <= 4.5 * squares.std(axis=0) / 200)[often].all()


def test_two_values() -> None:
    """φ(σ₁) = σ₁σ₂²ᵏ / (σ₁²ᵏ + σ₂²ᵏ), and the deviation is σ₁ √(λ₁λ₂/2)."""
    result = push_forward([2.0, 1.0], 2)
    assert isinstance(result, PushForward)
    np.testing.assert_allclose(result.mean, [2 / 17, 16 / 17], rtol=1e-13)
    np.testing.assert_allclose(result.deviation, np.array([2, 1]) * np.sqrt(16 / 17 / 17 / 2), rtol=1e-13)


@each("method", ["exact", "surrogate"])
def test_what_is_left_of_a_dominating_value_keeps_its_digits(method: Any) -> None:
    """1 - λ₁ rounds to 0 here. φ(σ₁) = σ₁ · 1e-40/(1 + 1e-40)."""
    mean, deviation = push_forward([1e10, 1.0], 2, method)
    assert mean[0] == pytest.approx(1e-30, rel=1e-12)
    assert deviation[0] == pytest.approx(1e10 * np.sqrt(1e-40 / 2), rel=1e-12)


def test_the_caption() -> None:
    """ "For k=1, 1≤σ₁≤3, push-forward φ(σ₁, 1) [is] around 0.8"; for larger k the leading value goes."""
    phi = [push_forward([first, *CAPTION], 1).mean[0] for first in np.linspace(1, 3, 9)]
    assert 0.55 < min(phi) < max(phi) < 0.9
    last = [push_forward([3.0, *CAPTION], k).mean[0] for k in (1, 2, 4, 8)]
    assert (np.diff(last) < 0).all()
    assert last[-1] < 1e-3


def test_batches_tensors_and_methods() -> None:
    sigma = torch.rand(2, 3, 5, generator=torch.Generator().manual_seed(0))
    for method in ("exact", "surrogate"):
        mean, deviation = push_forward(sigma, 2, method)
        assert mean.shape == deviation.shape == (2, 3, 5)
        alone = push_forward(sigma[1, 2].tolist(), 2, method)
        np.testing.assert_array_equal(mean[1, 2], alone.mean)
        np.testing.assert_array_equal(deviation[1, 2], alone.deviation)
    assert abs(push_forward(sigma, 2, "exact").mean - push_forward(sigma, 2, "surrogate").mean).max() > 1e-3
    for bound in (upper_bound(sigma), jensen_bound(sigma, 2)):
        assert bound.shape == (2, 3, 5)
    np.testing.assert_array_equal(upper_bound(sigma)[1, 2], upper_bound(sigma[1, 2]))
    np.testing.assert_array_equal(jensen_bound(sigma, 2)[1, 2], jensen_bound(sigma[1, 2], 2))


@given(sigma=any_spectrum, k=iterations)
def test_nothing_grows_and_jensen_bounds_it(sigma: list[float], k: int) -> None:
    values = np.array(sigma)
    mean, deviation = push_forward(values, k)
    assert (mean >= 0).all()
    assert (mean <= values * (1 + ROUNDING)).all()
    assert (deviation <= values / 2).all(), "Popoviciu: no variable in [0, 1] deviates by more than 1/2"
    jensen = jensen_bound(values, k)
    assert (mean <= jensen * (1 + ROUNDING) + 1e-290).all()
    assert (jensen <= values * (1 + ROUNDING)).all(), "and it says more than that nothing grows"


@given(sigma=any_spectrum, k=st.integers(1, 8))
def test_jensen_is_below_its_second_form(sigma: list[float], k: int) -> None:
    """√(π/2) σ_i^(1-2k) (Σ_{l≠i} σ_l^4k)^(1/2)."""
    with mp.workdps(30):
        values = [mpf(s) for s in sigma]
        for i, bound in enumerate(jensen_bound(sigma, k)):
            if sigma[i] > 0:
                others = mp.fsum(s ** (4 * k) for j, s in enumerate(values) if j != i)
                loose = mp.sqrt(mp.pi / 2) * values[i] ** (1 - 2 * k) * mp.sqrt(others)
                assert bound <= loose * (1 + mpf(ROUNDING)) + mpf(1e-290)


@each(
    ("sigma", "k"),
    [
        ([2.0, *CAPTION], 1),
        ([2.0, *CAPTION], 8),
        ([3.0, 1.0, 0.0], 0),
        ([1e30, 1.0, 1e-30], 1),
        ([1.0, 1e-3, 1e-12], 64),
        ([10.0, *[1.0] * 1000], 1),
        ([1.0, 3e-5, 2e-5], 2),
        ([0.0, 0.0], 0),
        ([5.0], 1),
        # Where the bound passes from the function to its limit: s = e^20.
        ([1.0, float(np.exp(10.2))], 1),
        ([1.0, float(np.exp(10.3))], 1),
        ([1.0, float(np.exp(10.4))], 1),
    ],
)
def test_jensen_equals_the_formula(sigma: list[float], k: int) -> None:
    actual = jensen_bound(sigma, k)
    with mp.workdps(60):
        beta = [(mpf(s) / mpf(max(sigma))) ** (4 * k) if k else mpf(1) for s in sigma]
        for i in {0, 1, len(sigma) - 1} & set(range(len(sigma))):
            s = mp.sqrt(mp.fsum(b for j, b in enumerate(beta) if j != i) / (2 * beta[i]))
            kept = 1 if s > 1e20 else mp.sqrt(mp.pi) * s * mp.exp(s**2) * mp.erfc(s)
            expected = float(sigma[i] * kept)
            assert actual[i] == pytest.approx(expected, rel=ROUNDING, abs=1e-290)


def test_jensen_is_the_mean_in_the_place_of_the_sum() -> None:
    """σ₁ E[m / (β₁y² + m)] over one Gaussian y, with m = Σ_{l≠1} β_l, by adaptive quadrature."""
    sigma = np.array([2.0, *CAPTION])
    beta = sigma**4
    for i in range(5):
        m = beta.sum() - beta[i]
        kept, _ = quad(lambda y, i=i, m=m: np.exp(-(y**2) / 2) * m / (beta[i] * y**2 + m), 0, 40, points=[1e-3, 0.1, 1])
        assert jensen_bound(sigma, 1)[i] == pytest.approx(sigma[i] * kept * np.sqrt(2 / np.pi), rel=1e-7)


def test_jensen_is_close_for_many_equal_values_and_of_zeros_zero() -> None:
    sigma = np.r_[10.0, np.ones(10_000)]
    assert jensen_bound(sigma, 1)[0] == pytest.approx(push_forward(sigma, 1).mean[0], rel=1e-4)
    assert (jensen_bound([0.0, 0.0], 1) == 0).all()
    np.testing.assert_array_equal(jensen_bound([2.0, 0.0, 0.0], 1), [0, 0, 0])


class TestAxMin:
    @given(sigma=any_spectrum)
    def test_is_the_minimum_with_the_largest_other(self, sigma: list[float]) -> None:
        others = [max([0.0, *sigma[:i], *sigma[i + 1 :]]) for i in range(len(sigma))]
        expected = [min(own, other) for own, other in zip(sigma, others, strict=True)]
        np.testing.assert_array_equal(upper_bound(sigma), expected)

    def test_leaves_what_it_is_given_alone(self) -> None:
        sigma = np.array([3.0, 1.0])
        upper_bound(sigma)
        np.testing.assert_array_equal(sigma, [3.0, 1.0])

    @given(sigma=any_spectrum, k=iterations)
    def test_holds_for_all_but_the_leading_value(self, sigma: list[float], k: int) -> None:
        others = np.arange(len(sigma)) != np.argmax(sigma)
        assert (push_forward(sigma, k).mean <= upper_bound(sigma) * (1 + ROUNDING))[others].all()

    @given(sigma=st.lists(levels, min_size=1, max_size=2), k=st.integers(1, 64))
    def test_holds_for_two_values(self, sigma: list[float], k: int) -> None:
        assert (push_forward(sigma, k).mean <= upper_bound(sigma) * (1 + ROUNDING)).all()

    @given(sigma=st.lists(st.floats(-1, 1).map(lambda e: 10.0**e), min_size=3, max_size=18), k=st.integers(1, 64))
    def test_holds_for_few_values(self, sigma: list[float], k: int) -> None:
        """Up to 7 for k = 1, up to 18 for more iterations: below the thresholds of the next test."""
        few = sigma[:7] if k == 1 else sigma
        assert (push_forward(few, k).mean <= upper_bound(few) * (1 + ROUNDING)).all()

    @each(("k", "most", "worst"), [(1, 7, 1.6694), (2, 18, 1.1947), (3, 28, 1.1082)])
    def test_fails_from_a_number_of_values_on(self, k: int, most: int, worst: float) -> None:
        """The more the others weigh, the more is kept: the worst spectra are (x, 1, …, 1). The smallest that fail have
        8 values for k = 1, 19 for k = 2, 29 for k = 3."""

        def largest(d: int) -> float:
            grid = worst * np.linspace(0.9, 1.1, 81)
            return max(push_forward([x, *[1.0] * (d - 1)], k).mean[0] for x in grid)

        assert largest(most) < 1
        assert largest(most + 1) > 1.0001

    def test_fails_badly_for_many_small_values(self) -> None:
        sigma = np.r_[10.0, np.ones(10_000)]
        phi = push_forward(sigma, 1).mean
        assert upper_bound(sigma)[0] == 1
        assert phi[0] > 6.5
        assert phi[0] <= jensen_bound(sigma, 1)[0]

    def test_fails_for_a_random_direction(self) -> None:
        """k = 0 takes half of each of two values."""
        assert push_forward([10.0, 1.0], 0).mean[0] == pytest.approx(5)


@each("function", [push_forward, upper_bound, jensen_bound])
@each("sigma", [[1.0, np.nan], [-1.0], [], 3.0, "spectrum"])
def test_what_is_no_spectrum_is_named(function: Any, sigma: Any) -> None:
    with pytest.raises(InputError, match=r"[Ss]ingular values|spectrum"):
        function(sigma)


@each("function", [push_forward, jensen_bound])
@each("k", [-1, True, 0.5])
def test_iterations_are_whole_numbers(function: Any, k: Any) -> None:
    with pytest.raises(InputError, match="whole number"):
        function([2.0, 1.0], k)
