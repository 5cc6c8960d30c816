"""Exact shares against the integrals in 40 digits and more, closed forms, random draws, and what must hold."""

from __future__ import annotations

import tracemalloc
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp, mpf

from sfa.errors import InputError
from sfa.theory import exact, expectation, variance
from sfa.theory.removed_fraction import moments
from tests.cases import each

CAPTION = [1.5, 0.9, 0.2, 0.01]
"""σ₂ to σ₅ in the caption of the paper's toy illustration; σ₁ varies."""

PRECISE = 1e-12
"""Relative accuracy of the exact moments where a reference exists. The project promises 1e-9."""

SMALLEST = 1e-290
"""Below it floats lose their digits one by one."""

SPECTRA: dict[str, tuple[list[float], int]] = {
    "caption-1": ([2.0, *CAPTION], 1),
    "caption-2": ([2.0, *CAPTION], 2),
    "caption-4": ([3.0, *CAPTION], 4),
    "caption-8": ([3.0, *CAPTION], 8),
    "caption-first-is-not-the-largest": ([0.5, *CAPTION], 1),
    "caption-shuffled": ([0.2, 2.0, 0.01, 0.9, 1.5], 3),
    "random-direction": ([7.0, 2.0, 1.0, 0.0], 0),
    "repeated": ([3.0, 3.0, 3.0, 1.0, 1.0], 1),
    "clustered": ([1.0, 1 - 1e-6, 1 + 1e-9, 1e-3, 1e-3 + 1e-12], 2),
    "nearly-equal-large-k": ([1.0, 0.99, 0.98, 0.97, 0.5], 64),
    "geometric": (list(np.geomspace(1, 1e-4, 7)), 1),
    "steep": (list(np.geomspace(1, 1e-12, 7)), 3),
    "with-zeros": ([2.0, 0.0, 1.0, 0.0], 1),
    "large-gap": ([1e9, 1.0, 0.8, 0.5], 1),
    "leading-pair-and-a-gap": ([1.0, 1.0, 1e-20, 1e-20, 1e-20], 1),
    "gap-after-the-fourth": ([1.0, 1.0, 1.0, 1.0, 1e-15, 1e-15, 1e-25], 1),
    "gap-after-the-fifth": ([1.0, 1.0, 1.0, 1.0, 1.0, 1e-15, 1e-15, 1e-25], 1),
    "gaps-between-all": ([1e30, 1e15, 1.0, 1e-15, 1e-30], 1),
    "six-decades-each": (list(np.geomspace(1e18, 1e-18, 7)), 1),
    "sixty-decades-k2": ([1e30, 3e29, 1e-30], 2),
    "down-to-the-smallest-floats": ([1.0, 1.0, 1.0, 1e-70], 1),
    "gap-near-the-merging-distance": ([1.0, float(np.exp(-19.9)), float(np.exp(-40.2)), 1e-30], 1),
}


def weights(sigma: list[float], k: int) -> list[mpf]:
    largest = max(sigma)
    return [(mpf(s) / mpf(largest)) ** (4 * k) for s in sigma]


def reference(sigma: list[float], k: int) -> tuple[list[mpf], list[mpf], list[mpf]]:
    """Mean, 1 - mean and variance: the integrals with t = e^u, by the trapezoidal rule.

    For functions analytic in the strip |Im u| < π it errs by exp(-2π² / step). The last two results cancel, so that
    the reference needs as many digits more as the largest value is far above the others.
    """
    runner_up = sorted(sigma)[-2] / max(sigma)
    digits = 30 + int(-2 * k * np.log10(runner_up))
    with mp.workdps(digits):
        beta = weights(sigma, k)
        positive = [b for b in beta if b > 0]
        decades = digits * mp.log(10)
        start, end = -decades - mp.log(len(beta)), 2 * decades / len(positive) - mp.log(min(positive))
        step = 2 * mp.pi**2 / decades
        first, second = [mpf(0)] * len(beta), [mpf(0)] * len(beta)
        t, ratio = mp.exp(start), mp.exp(step)
        for _ in range(int((end - start) / step) + 1):
            turned = [2 * b * t for b in beta]
            product = step / mp.sqrt(mp.fprod(1 + x for x in turned))
            for i, x in enumerate(turned):
                logistic = x / (1 + x)
                first[i] += logistic * product / 2
                second[i] += 3 * logistic**2 * product / 4
            t *= ratio
        return first, [1 - m for m in first], [s - m**2 for m, s in zip(first, second, strict=True)]


def quad_reference(sigma: list[float], k: int) -> tuple[list[mpf], list[mpf]]:
    """E[z] and E[z²]: the integrals as they stand, over t, split where the factors turn."""
    with mp.workdps(30):
        beta = weights(sigma, k)
        splits = sorted({1 / (2 * b) for b in beta if b > 0})
        between = [mp.sqrt(a * b) for a, b in pairwise(splits)]
        path = [0, splits[0] / 10, *sorted([*splits, *between]), splits[-1] * 10, splits[-1] * 1000, mp.inf]

        def product(t: mpf) -> mpf:
            return 1 / mp.sqrt(mp.fprod(1 + 2 * b * t for b in beta))

        return (
            [mp.quad(lambda t, b=b: b / (1 + 2 * b * t) * product(t), path) for b in beta],
            [mp.quad(lambda t, b=b: 3 * b**2 * t / (1 + 2 * b * t) ** 2 * product(t), path) for b in beta],
        )


def assert_equals(actual: np.ndarray, expected: list[mpf], rtol: float = PRECISE) -> None:
    """Relatively; only what is too small for floats may be anything that small."""
    assert len(actual) == len(expected)
    for a, e in zip(actual, expected, strict=True):
        if abs(e) < SMALLEST:
            assert abs(a) < 2 * SMALLEST
        else:
            assert abs(mpf(float(a)) / e - 1) < rtol, f"{a} is not {mp.nstr(e, 17)}"


@pytest.mark.slow
@each(("sigma", "k"), SPECTRA.values(), ids=SPECTRA)
def test_moments_equal_the_integrals(sigma: list[float], k: int) -> None:
    actual = moments(sigma, k, "exact")
    for part, expected in zip(actual, reference(sigma, k), strict=True):
        assert_equals(part, expected)


@pytest.mark.slow
@each("name", ["caption-1", "repeated", "with-zeros"])
def test_the_reference_equals_the_integrals_as_printed(name: str) -> None:
    sigma, k = SPECTRA[name]
    mean, _, spread = reference(sigma, k)
    with mp.workdps(30):
        for m, v, first, second in zip(mean, spread, *quad_reference(sigma, k), strict=True):
            assert abs(m - first) < 1e-22
            assert abs(v - (second - first**2)) < 1e-22


decades = st.floats(-8, 8, allow_subnormal=False)


@settings(max_examples=12)
@given(exponents=st.lists(decades, min_size=2, max_size=5), k=st.integers(0, 3))
def test_random_spectra_equal_the_integrals(exponents: list[float], k: int) -> None:
    sigma = [10.0**e for e in exponents]
    for part, expected in zip(moments(sigma, k, "exact"), reference(sigma, k), strict=True):
        assert_equals(part, expected)


@each("k", [0, 1, 5, 64])
@each("ratio", [1.0, 1 - 1e-9, 0.97, 0.3, 1e-6, 1e-30, 1e-60])
def test_two_values(ratio: float, k: int) -> None:
    """λ₁ = σ₁²ᵏ / (σ₁²ᵏ + σ₂²ᵏ), and the variance of both is λ₁λ₂/2."""
    with mp.workdps(60):
        power = (mpf(ratio * 1e30) / mpf(1e30)) ** (2 * k)
        large, small = 1 / (1 + power), power / (1 + power)
        actual = moments([1e30, ratio * 1e30], k, "exact")
        assert_equals(actual.mean, [large, small])
        assert_equals(actual.complement, [small, large])
        assert_equals(actual.variance, [large * small / 2] * 2)


@each("d", [2, 3, 5, 40, 512, 4096])
@each("k", [0, 1, 64])
def test_equal_values(d: int, k: int) -> None:
    """z is Beta(1/2, (d-1)/2)."""
    actual = moments(np.full(d, 1e-30), k, "exact")
    np.testing.assert_allclose(actual.mean, 1 / d, rtol=PRECISE)
    np.testing.assert_allclose(actual.complement, 1 - 1 / d, rtol=PRECISE)
    np.testing.assert_allclose(actual.variance, 2 * (d - 1) / (d**2 * (d + 2)), rtol=PRECISE)


@each("k", [0, 1, 2, 64])
@each("sigma", [1e-30, 3.0, 1e30])
def test_of_one_value_all_is_removed(sigma: float, k: int) -> None:
    actual = moments([sigma], k, "exact")
    assert actual.mean == pytest.approx([1], rel=PRECISE)
    assert actual.complement == [0]
    assert actual.variance == [0]


@each("k", [1, 2, 64])
def test_of_one_value_above_zeros_all_is_removed_and_of_the_zeros_nothing(k: int) -> None:
    actual = moments([0.0, 2.0, 0.0], k, "exact")
    np.testing.assert_allclose(actual.mean, [0, 1, 0], rtol=PRECISE)
    np.testing.assert_allclose(actual.complement, [1, 0, 1], rtol=PRECISE)
    assert (actual.variance == 0).all()


@each("k", [1, 64])
def test_without_any_weight_nothing_is_removed(k: int) -> None:
    actual = moments([0.0, 0.0, 0.0], k, "exact")
    assert (actual.mean == 0).all()
    assert (actual.complement == 1).all()
    assert (actual.variance == 0).all()


def test_values_far_below_the_leading_pair_do_not_disturb_it() -> None:
    """Sixty decades to the power of 256: what is left is the closed form of two values."""
    actual = moments([1e30, 9.9e29, 1.0, 1e-30], 64, "exact")
    with mp.workdps(40):
        power = (mpf(9.9e29) / mpf(1e30)) ** 128
        large, small = 1 / (1 + power), power / (1 + power)
        assert_equals(actual.mean, [large, small, mpf(0), mpf(0)])
        assert_equals(actual.complement, [small, large, mpf(1), mpf(1)])
        assert_equals(actual.variance, [large * small / 2] * 2 + [mpf(0)] * 2)


def slow_moments(sigma: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """The logarithms of E[z] and E[z²], one node of the trapezoidal rule after another, all in logarithms.

    Every factor that has turned makes the integrands fall; behind the twelfth corner nothing is left.
    """
    b = 4 * k * (np.log(sigma) - np.log(sigma.max())) + np.log(2)
    low, high = -60 - np.log(len(b)), 100 - np.sort(b)[-12]
    step = 0.2
    first, second = np.full(len(b), -np.inf), np.full(len(b), -np.inf)
    for u in np.arange(low, high, step):
        log_factors = -np.logaddexp(0, b + u)
        log_logistic = b + u + log_factors
        log_product = log_factors.sum() / 2 + np.log(step)
        first = np.logaddexp(first, log_logistic + log_product - np.log(2))
        second = np.logaddexp(second, 2 * log_logistic + log_product + np.log(3 / 4))
    return first, second


@pytest.mark.slow
@each(
    ("sigma", "k"),
    [
        (np.geomspace(1e30, 1e-30, 512), 1),
        (np.geomspace(1e-30, 1e30, 512), 8),
        (np.arange(1, 513) ** -1.0, 2),
        (np.geomspace(1e30, 1e-30, 4096), 1),
        (np.geomspace(1e30, 1e-30, 4096), 64),
        (np.arange(1, 4097) ** -0.5, 1),
        (np.r_[10.0, np.ones(4095)], 1),
        (np.r_[np.full(2048, 3.0), np.full(2048, 1e-12)], 4),
    ],
    ids=["512-k1", "512-k8", "512-power-law", "4096-k1", "4096-k64", "4096-power-law", "one-above-many", "two-levels"],
)
def test_wide_maps_equal_the_trapezoidal_rule(sigma: np.ndarray, k: int) -> None:
    actual = moments(sigma, k, "exact")
    log_first, log_second = slow_moments(sigma, k)
    seen = log_first > np.log(SMALLEST)
    np.testing.assert_allclose(np.log(actual.mean[seen]), log_first[seen], rtol=0, atol=1e-11)
    assert (actual.mean[~seen] < 2 * SMALLEST).all()
    first, second = np.exp(log_first), np.exp(log_second)
    np.testing.assert_allclose(actual.mean.sum(), 1, rtol=1e-11)
    np.testing.assert_allclose(actual.complement, 1 - first, rtol=1e-9, atol=1e-13)
    leading = first > 0.5
    cancels_not = seen & ~leading & (second > SMALLEST)
    np.testing.assert_allclose(actual.variance[cancels_not], (second - first**2)[cancels_not], rtol=1e-10)
    np.testing.assert_allclose(actual.variance[leading], (second - first**2)[leading], rtol=0, atol=1e-13)


@pytest.mark.slow
@each("k", [1, 2, 4, 8])
def test_mean_and_deviation_of_a_million_draws(k: int) -> None:
    """The caption's spectrum. A mean made of events too rare to be drawn has no sampling error to speak of."""
    sigma = np.array([2.0, *CAPTION])
    y = np.random.default_rng(k).normal(size=(1_000_000, 5))
    z = (y * (sigma / 2) ** (2 * k)) ** 2
    z /= z.sum(axis=1, keepdims=True)
    mean, spread = expectation(sigma, k), variance(sigma, k)
    drawn = mean > 1e-3
    assert drawn.sum() >= 2
    error = z.std(axis=0) / 1000
    assert (np.abs(z.mean(axis=0) - mean) < 4.5 * error)[drawn].all()
    squares = (z - mean) ** 2
    assert (np.abs(squares.mean(axis=0) - spread) < 4.5 * squares.std(axis=0) / 1000)[drawn].all()


def test_the_surrogate_beside_the_exact_value() -> None:
    """ "λ₁ 0.260 against 0.235 by simulation (σ₁=1, k=1), 0.069 against 0.046 (σ₁=0.5)"."""
    assert expectation([1.0, *CAPTION])[0] == pytest.approx(0.235, abs=6e-4)
    assert expectation([0.5, *CAPTION])[0] == pytest.approx(0.046, abs=6e-4)
    assert expectation([1.0, *CAPTION], method="surrogate")[0] == pytest.approx(0.260, abs=6e-4)
    assert expectation([0.5, *CAPTION], method="surrogate")[0] == pytest.approx(0.069, abs=6e-4)


levels = st.one_of(st.just(0.0), st.floats(-30, 30).map(lambda e: 10.0**e), st.sampled_from([1.0, 2.0, 1e-3, 1e30]))
spectra = st.lists(levels, min_size=1, max_size=40)
clusters = st.lists(st.floats(-0.01, 0.01).map(lambda e: 10.0**e), min_size=1, max_size=40)
any_spectrum = st.one_of(spectra, clusters)
iterations = st.integers(0, 64)


@given(sigma=any_spectrum, k=iterations)
def test_shares_are_shares(sigma: list[float], k: int) -> None:
    mean, complement, spread = moments(sigma, k, "exact")
    anything = k == 0 or max(sigma) > 0
    assert mean.sum() == pytest.approx(1.0 if anything else 0.0, rel=1e-11)
    assert (mean >= 0).all()
    assert (mean <= 1 + 1e-13).all()
    assert (complement >= 0).all()
    np.testing.assert_allclose(mean + complement, 1, rtol=1e-12)
    assert (spread >= 0).all()
    assert (spread <= mean * complement * (1 + 1e-11)).all(), "no variable in [0, 1] has more"
    order = np.argsort(sigma)
    assert (np.diff(mean[order]) >= -1e-12 * mean[order][1:]).all(), "a larger value loses more"


@given(sigma=any_spectrum, k=st.integers(1, 64), data=st.data())
def test_a_value_that_grows_alone_loses_more_and_the_others_less(
    sigma: list[float], k: int, data: st.DataObject
) -> None:
    i = data.draw(st.integers(0, len(sigma) - 1))
    grown = [*sigma]
    grown[i] = max(sigma[i] * data.draw(st.floats(1, 1e3)), data.draw(st.sampled_from([0.0, 1e-30, 1.0])))
    before, after = expectation(sigma, k), expectation(grown, k)
    assert after[i] >= before[i] * (1 - 1e-11)
    if max(sigma) > 0:
        others = np.arange(len(sigma)) != i
        assert (after <= before * (1 + 1e-11) + 2 * SMALLEST)[others].all()


@given(sigma=any_spectrum, k=iterations, power=st.integers(-200, 200))
def test_only_ratios_matter(sigma: list[float], k: int, power: int) -> None:
    ordinary, scaled = moments(sigma, k, "exact"), moments(np.array(sigma) * 10.0**power, k, "exact")
    for a, b in zip(ordinary, scaled, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-11, atol=SMALLEST)


@given(sigma=any_spectrum, k=iterations, data=st.data())
def test_the_order_of_the_values_does_not_matter(sigma: list[float], k: int, data: st.DataObject) -> None:
    order = np.array(data.draw(st.permutations(range(len(sigma)))))
    ordinary, shuffled = moments(sigma, k, "exact"), moments(np.array(sigma)[order], k, "exact")
    for a, b in zip(ordinary, shuffled, strict=True):
        np.testing.assert_allclose(a[order], b, rtol=1e-12, atol=SMALLEST)


@given(sigma=any_spectrum)
def test_no_iteration_removes_a_random_direction(sigma: list[float]) -> None:
    np.testing.assert_allclose(expectation(sigma, 0), 1 / len(sigma), rtol=PRECISE)


@given(sigma=any_spectrum, k=st.integers(1, 63))
def test_more_iterations_remove_more_of_the_largest_and_less_of_the_smallest(sigma: list[float], k: int) -> None:
    fewer, more = expectation(sigma, k), expectation(sigma, k + 1)
    assert more[np.argmax(sigma)] >= fewer[np.argmax(sigma)] * (1 - 1e-11)
    assert more[np.argmin(sigma)] <= fewer[np.argmin(sigma)] * (1 + 1e-11) + 2 * SMALLEST


def test_many_iterations_remove_the_leading_value_alone() -> None:
    sigma = [1.0, 3.0, 2.0, 0.5]
    mean, complement, spread = moments(sigma, 2048, "exact")
    np.testing.assert_allclose(mean, [0, 1, 0, 0], rtol=1e-13, atol=1e-300)
    assert complement[1] < 1e-300
    assert (spread < 1e-300).all()


@each("method", ["exact", "surrogate"])
def test_a_batch_is_its_spectra_one_by_one(method: Any) -> None:
    sigma = np.random.default_rng(0).lognormal(size=(2, 3, 6))
    sigma[1, 2] = 0
    sigma[0, 1, 2:] = 0
    sigma[0, 0, 1:] = 0
    batch = moments(sigma, 2, method)
    for i in range(2):
        for j in range(3):
            alone = moments(sigma[i, j], 2, method)
            for whole, part in zip(batch, alone, strict=True):
                assert whole.shape == sigma.shape
                np.testing.assert_array_equal(whole[i, j], part)
    np.testing.assert_array_equal(expectation(sigma, 2, method), batch.mean)
    np.testing.assert_array_equal(variance(sigma, 2, method), batch.variance)


@each(
    "sigma",
    [(3, 2, 1), torch.tensor([3.0, 2.0, 1.0]), np.array([3, 2, 1], dtype=np.float32), torch.tensor([3, 2, 1])],
    ids=["tuple-of-ints", "torch", "float32", "torch-ints"],
)
def test_any_array_will_do(sigma: Any) -> None:
    np.testing.assert_array_equal(expectation(sigma, np.int64(2)), expectation([3.0, 2.0, 1.0], 2))
    assert expectation(sigma).dtype == np.float64


def test_the_given_spectrum_is_left_alone() -> None:
    sigma = np.array([1.0, 3.0, 2.0])
    expectation(sigma, 2)
    np.testing.assert_array_equal(sigma, [1.0, 3.0, 2.0])


@each("method", ["exact", "surrogate"])
@each(
    ("sigma", "message"),
    [
        ([1.0, np.nan], "finite and not negative"),
        ([1.0, np.inf], "finite and not negative"),
        ([[1.0, 2.0], [1.0, -1e-300]], "finite and not negative"),
        ([], "at least one value"),
        (np.zeros((3, 0)), "at least one value"),
        (2.0, r"shape \(\)"),
        ("many", "singular values .* not 'many'"),
        ([[1.0, 2.0], [3.0]], "singular values"),
        ([1 + 1j, 2.0], "singular values"),
        (["x" * 100], r"\.\.\."),
    ],
)
def test_what_is_no_spectrum_is_named(sigma: Any, message: str, method: Any) -> None:
    for function in (expectation, variance):
        with pytest.raises(InputError, match=message):
            function(sigma, 1, method)


@each("k", [-1, 1.0, 2.5, True, "2", None, np.float64(1), np.bool_(True)])
def test_iterations_are_whole_numbers(k: Any) -> None:
    with pytest.raises(InputError, match="number, 0 or more") as error:
        expectation([2.0, 1.0], k)
    assert repr(k) in str(error.value)


def test_an_unknown_method_is_answered_with_the_nearest() -> None:
    wrong: Any = "surogate"
    with pytest.raises(InputError, match="did you mean 'surrogate'"):
        variance([2.0, 1.0], 1, wrong)


def test_memory_stays_small_for_wide_maps() -> None:
    """All nodes at once would be a matrix of 4096 × 1000 entries, 33 MB, and several of them."""
    log_beta = -np.linspace(0, 100, 4096)
    exact.moments(log_beta[:8])
    tracemalloc.start()
    try:
        exact.moments(log_beta)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 40e6


# --- Faults of the package that these tests found; each marker goes with its fault. ---


@each("method", ["exact", "surrogate"])
def test_an_empty_batch_has_an_empty_result(method: Any) -> None:
    for part in moments(np.zeros((0, 5)), 1, method):
        assert part.shape == (0, 5)


def test_shares_are_never_above_one() -> None:
    """Callers take √(1 - λ) or log(1 - λ)."""
    sigma = np.geomspace(1, 100, 50)[:, None] ** np.array([1.0, 0.0, -1.0])
    for k in range(9):
        for method in ("exact", "surrogate"):
            assert moments(sigma, k, method).mean.max() <= 1


def test_a_tensor_that_requires_a_gradient_will_do() -> None:
    sigma = torch.tensor([3.0, 2.0, 1.0], requires_grad=True)
    np.testing.assert_array_equal(expectation(sigma), expectation([3.0, 2.0, 1.0]))


def test_a_method_is_a_name() -> None:
    wrong: Any = ["exact"]
    with pytest.raises(InputError, match="method"):
        expectation([2.0, 1.0], 1, wrong)
