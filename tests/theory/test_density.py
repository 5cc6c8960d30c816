"""The densities of single shares against an inversion integral, closed forms, histograms, and their own moments."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.integrate import quad

from sfa.errors import InputError
from sfa.theory import density
from sfa.theory.removed_fraction import moments
from tests.cases import each

CAPTION = [2.0, 1.5, 0.9, 0.2, 0.01]
INSIDE = np.array([1e-12, 1e-4, 0.01, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99, 0.9999])


def geary(z: float, sigma: list[float], i: int, k: int) -> float:
    r"""The density of a ratio N/D with D > 0: (1/2π) ∫ E[D exp(i t (N - zD))] dt, an oscillating integral.

    N = β_i y_i² and D = Σ β_l y_l² are sums of squares of Gaussians. The trapezoidal rule over log t.
    """
    beta = (np.array(sigma) / max(sigma)) ** (4 * k)
    c = -z * beta
    c[i] += beta[i]
    t = np.exp(np.arange(-80, 120, 0.05))
    factors = 1 - 2j * np.outer(c, t)
    integrand = (1 / np.sqrt(factors)).prod(axis=0) * (beta[:, None] / factors).sum(axis=0)
    return float((integrand.real * t).sum() * 0.05 / np.pi)


SPECTRA: dict[str, tuple[list[float], int]] = {
    "caption-1": (CAPTION, 1),
    "caption-2": (CAPTION, 2),
    "random-direction": ([3.0, 2.0, 0.0], 0),
    "two": ([2.0, 1.0], 1),
    "three": ([1.0, 2.0, 1.5], 1),
    "zeros": ([2.0, 1.0, 0.0, 0.5], 1),
    "repeated": ([1.0, 1.0, 2.0, 2.0, 0.5], 1),
    "many": ([3.0, *np.linspace(0.5, 1.5, 30)], 1),
}


@each(("sigma", "k"), SPECTRA.values(), ids=SPECTRA)
def test_equals_the_inversion_integral(sigma: list[float], k: int) -> None:
    for i in range(min(len(sigma), 4)):
        if k and sigma[i] == 0:
            continue
        expected = [geary(z, sigma, i, k) for z in INSIDE]
        np.testing.assert_allclose(density(INSIDE, sigma, i, k), expected, rtol=1e-10, atol=1e-11)


@each("d", [2, 3, 4, 9, 200])
@each("method", ["exact", "surrogate"])
@each("k", [0, 2])
def test_equal_values(d: int, method: Any, k: int) -> None:
    expected = stats.beta.pdf(INSIDE, 0.5, (d - 1) / 2)
    np.testing.assert_allclose(density(INSIDE, np.full(d, 7.0), 1, k, method), expected, rtol=1e-11, atol=1e-300)


@each("ratio", [1.0, 0.5, 1e-3, 30.0, 1e-20, 1e20])
@each("method", ["exact", "surrogate"])
def test_two_values(ratio: float, method: Any) -> None:
    """√g / (π √(z(1-z)) (1 - (1-g) z)) with g = β₂/β₁: the ratio of two squared Gaussians is F(1, 1)."""
    g = ratio**8
    expected = np.sqrt(g) / (np.pi * np.sqrt(INSIDE * (1 - INSIDE)) * (1 - INSIDE + g * INSIDE))
    np.testing.assert_allclose(density(INSIDE, [1.0, ratio], 0, 2, method), expected, rtol=1e-11)


@each("scales", [(1.0, 2.0), (1e-3, 5.0), (1e-4, 1e-2)])
def test_two_pairs(scales: tuple[float, float]) -> None:
    """Two weighted chi-squares of two degrees of freedom each sum to a difference of exponentials; u is integrated."""
    a, b = (1 / (2 * r) for r in scales)
    sigma = [1.0, *(r**0.25 for r in scales), *(r**0.25 for r in scales)]
    rate_a, rate_b = (INSIDE / 2 + (1 - INSIDE) * x for x in (a, b))
    expected = a * b / (a - b) / np.sqrt(8 * INSIDE) * (rate_b**-1.5 - rate_a**-1.5)
    np.testing.assert_allclose(density(INSIDE, sigma, 0, 1), expected, rtol=1e-9)


def integral(function: Any, ends: tuple[float, float]) -> float:
    """Over [0, 1], of a function times the powers of z and of 1 - z that it has at the ends."""
    return float(quad(function, 0, 1, weight="alg", wvar=ends, epsabs=0, epsrel=1e-11, limit=200)[0])


@pytest.mark.slow
@each("method", ["exact", "surrogate"])
@each(
    ("sigma", "k"),
    [
        (CAPTION, 1),
        (CAPTION[:2], 1),
        (CAPTION[:3], 1),
        (CAPTION[:4], 2),
        ([3.0, 1.0, 0.0], 0),
        (np.linspace(1, 2, 9), 1),
    ],
    ids=["caption", "two", "three", "four", "random-direction", "nine"],
)
def test_mass_mean_and_variance(sigma: list[float], k: int, method: Any) -> None:
    expected = moments(sigma, k, method)
    beta = np.array(sigma) ** (4 * k)
    for i in (0, 1):
        others = np.delete(beta, i)
        alpha = len(others) / 2 if method == "exact" else others.sum() ** 2 / (2 * (others**2).sum())
        at_zero, at_one = -0.5, alpha - 1

        def without_ends(z: float, i: int = i, at_zero: float = at_zero, at_one: float = at_one) -> float:
            z = min(max(z, 1e-14), 1 - 1e-14)  # the rule evaluates the ends, too
            return float(density(z, sigma, i, k, method)) / (z**at_zero * (1 - z) ** at_one)

        mass, first, second = (integral(without_ends, (at_zero + n, at_one)) for n in range(3))
        assert mass == pytest.approx(1, rel=1e-8)
        assert first == pytest.approx(expected.mean[i], rel=1e-8)
        assert second - first**2 == pytest.approx(expected.variance[i], rel=1e-7)


def nodes(low: float, high: float) -> tuple[np.ndarray, np.ndarray]:
    """Gauss-Legendre in the angle of z = sin²θ, which takes away the root singularities at both ends."""
    x, weight = np.polynomial.legendre.leggauss(20)
    first, last = np.arcsin(np.sqrt([low, high]))
    theta = first + (x + 1) / 2 * (last - first)
    return np.sin(theta) ** 2, weight * (last - first) / 2 * np.sin(2 * theta)


@each("i", [0, 1, 2])
def test_histogram_of_draws(i: int) -> None:
    """Pearson's chi-square over 40 bins of a million draws."""
    y = np.random.default_rng(i).normal(size=(1_000_000, 5))
    terms = (y * (np.array(CAPTION) / 2) ** 2) ** 2
    edges = np.linspace(0, 1, 41)
    drawn, _ = np.histogram(terms[:, i] / terms.sum(axis=1), edges)
    expected = np.empty(40)
    for b in range(40):
        z, weight = nodes(edges[b], edges[b + 1])
        expected[b] = 1e6 * density(z, CAPTION, i) @ weight
    assert expected.min() > 20
    assert ((drawn - expected) ** 2 / expected).sum() < stats.chi2.ppf(1 - 1e-5, 39)


@each(("sigma", "k"), [(CAPTION, 1), (CAPTION, 4), ([1.0, 5.0, 2.0], 0), ([1.0, 0.0, 3.0, 2.0], 2)])
def test_surrogate_is_a_transformed_beta_density(sigma: list[float], k: int) -> None:
    """γ/(1-(1-γ)z)² · BetaPDF(γz/(1-(1-γ)z); ½, α)."""
    beta = np.array(sigma) ** (4 * k)
    for i in (0, 2):
        others = np.delete(beta, i)
        alpha = others.sum() ** 2 / (2 * (others**2).sum())
        gamma = (others**2).sum() / (beta[i] * others.sum())
        bracket = gamma * INSIDE + (1 - INSIDE)
        expected = gamma / bracket**2 * stats.beta.pdf(gamma * INSIDE / bracket, 0.5, alpha)
        np.testing.assert_allclose(density(INSIDE, sigma, i, k, "surrogate"), expected, rtol=1e-6)
        mirrored = gamma / bracket**2 * stats.beta.pdf((1 - INSIDE) / bracket, alpha, 0.5)
        best = np.where(gamma * INSIDE < 1 - INSIDE, expected, mirrored)  # neither argument is a rounded 1
        np.testing.assert_allclose(density(INSIDE, sigma, i, k, "surrogate"), best, rtol=1e-11)


def test_surrogate_is_not_the_exact_law() -> None:
    exact, surrogate = (density(0.9, [1.0, *CAPTION[1:]], 0, 1, method) for method in ("exact", "surrogate"))
    assert surrogate > 1.3 * exact


@each("method", ["exact", "surrogate"])
def test_at_the_ends_outside_and_at_nan(method: Any) -> None:
    z = np.array([[-np.inf, -0.1, -1e-300], [1 + 1e-15, 2.0, np.inf]])
    assert (density(z, CAPTION, 0, 1, method) == 0).all()
    assert density(0.0, CAPTION, 0, 1, method) == np.inf
    assert density(-0.0, CAPTION, 3, 1, method) == np.inf
    values = density([0.5, np.nan, 0.2], CAPTION, 0, 1, method)
    np.testing.assert_array_equal(np.isnan(values), [False, True, False])


def test_at_one_as_many_others_as_decide() -> None:
    """All others must vanish at once: certain enough for one, of finite density for two, of none for more."""
    assert density(1.0, [1.0, 2.0], 0) == np.inf
    assert density(1.0, [1.0, 2.0, 0.0], 0) == np.inf
    assert density(1.0, CAPTION[:4], 0) == 0
    assert density(1.0, [3.0, 1.0, 0.0], 2, 0) == pytest.approx(0.5, rel=1e-14)
    assert density(1.0, [1.0, 2.0, 0.0, 1.5, 0.0], 0) == pytest.approx(1 / 18, rel=1e-14), "zeros do not count"
    three = [1.0, 2.0, 1.5]
    assert density(1.0, three, 0) == pytest.approx(float(density(1 - 1e-9, three, 0)), rel=1e-6)
    assert density(1.0, three, 0) == pytest.approx(1 / (2 * 2.0**2 * 1.5**2), rel=1e-14)


@each("method", ["exact", "surrogate"])
def test_the_shape_is_that_of_z_and_an_index_may_count_from_the_end(method: Any) -> None:
    z = np.array([[0.1, 0.2, 0.3], [0.4, 0.5, 0.6]])
    values = density(z, CAPTION, -2, 1, method)
    assert values.shape == (2, 3)
    np.testing.assert_array_equal(values, density(z, CAPTION, 3, 1, method))
    assert density(0.3, CAPTION, 3, 1, method).shape == ()
    assert density(0.3, CAPTION, 3, 1, method) == pytest.approx(values[0, 2], rel=1e-13)
    assert density([], CAPTION, 3, 1, method).shape == (0,)


@each("method", ["exact", "surrogate"])
def test_only_ratios_and_not_the_order_matter(method: Any) -> None:
    ordinary = density(INSIDE, CAPTION, 0, 2, method)
    scaled = density(INSIDE, np.array(CAPTION[::-1]) * 1e-30, 4, 2, method)
    np.testing.assert_allclose(scaled, ordinary, rtol=1e-11)


levels = st.one_of(st.floats(-30, 30).map(lambda e: 10.0**e), st.sampled_from([1.0, 2.0]))


@given(
    sigma=st.lists(levels, min_size=4, max_size=12),
    k=st.integers(0, 64),
    z=st.floats(1e-300, 1 - 1e-12),
    method=st.sampled_from(["exact", "surrogate"]),
)
def test_a_density_is_never_negative_nor_undefined(sigma: list[float], k: int, z: float, method: Any) -> None:
    values = [float(density(z, sigma, i, k, method)) for i in range(len(sigma))]
    assert np.isfinite(values).all()
    assert min(values) >= 0


@each("method", ["exact", "surrogate"])
@each(
    ("sigma", "i", "k", "message"),
    [
        ([2.0, 0.0], 0, 1, "value 0 is always 1 .* no density"),
        ([2.0], 0, 1, "value 0 is always 1 "),
        ([2.0], -1, 0, "value 0 is always 1 "),
        ([2.0, 1.0, 0.0], 2, 1, "value 2 is always 0 "),
        ([0.0, 0.0], 1, 1, "value 1 is always 0 "),
        ([2.0, 1.0], 2, 1, "2 values, .* no number 2"),
        ([2.0, 1.0], -3, 1, "no number -3"),
        ([[2.0, 1.0]], 0, 1, r"one spectrum \(d,\), not of an array of shape \(1, 2\)"),
        ([2.0, 1.0], 0, -1, "whole number"),
        ([2.0, -1.0], 0, 1, "not negative"),
    ],
)
def test_what_has_no_density_is_named(sigma: Any, i: int, k: int, message: str, method: Any) -> None:
    with pytest.raises(InputError, match=message):
        density(0.5, sigma, i, k, method)


def test_an_unknown_method_is_answered_with_the_nearest() -> None:
    wrong: Any = "exakt"
    with pytest.raises(InputError, match="did you mean 'exact'"):
        density(0.5, [2.0, 1.0], 0, 1, wrong)


# --- Faults of the package that these tests found; each marker goes with its fault. ---


def test_three_values_far_apart() -> None:
    """k = 64, a leading value of 20: the density at 1 overflows, but nobody asked for it. At 1/2 it is 2 · 20⁻¹²⁸."""
    assert density(0.5, [20.0, 1.0, 1.0], 0, 64) == pytest.approx(2 * 20.0**-128, rel=1e-10, abs=0)


def test_the_smallest_z() -> None:
    """For three equal values 1 / (2√z)."""
    assert density(5e-324, [1.0, 1.0, 1.0], 0) == pytest.approx(0.5 / np.sqrt(5e-324), rel=1e-9)


def test_a_small_z_and_a_large_gap() -> None:
    """√g / (π√z) with g = 1e-768."""
    assert density(1e-300, [1.0, 1e-6], 0, 32) == pytest.approx(1e-234 / np.pi, rel=1e-10, abs=0)


def test_the_surrogate_at_one_with_two_equal_others() -> None:
    """There it is exact: 1/(2γ) with γ = 1/16."""
    assert density(1.0, [2.0, 1.0, 1.0], 0, 1, "surrogate") == pytest.approx(8, rel=1e-12)


def test_an_index_is_a_whole_number() -> None:
    wrong: Any = 0.5
    with pytest.raises(InputError, match=r"number 0\.5"):
        density(0.5, [2.0, 1.0], wrong)
