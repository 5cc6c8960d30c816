"""Theorem 1 and Proposition 4, tried out on random embeddings and random maps."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfa.errors import InputError
from sfa.theory import alignment, elementwise_bound, generalization_bound
from tests.cases import each


class TestGeneralisation:
    @given(
        n=st.integers(1, 200),
        d=st.integers(1, 8),
        noise=st.floats(0, 3),
        epsilon=st.floats(0.01, 3),
        seed=st.integers(0, 1000),
    )
    def test_no_more_pairs_are_apart_than_the_bound_says(
        self, n: int, d: int, noise: float, epsilon: float, seed: int
    ) -> None:
        rng = np.random.default_rng(seed)
        first = rng.normal(size=(n, d))
        second = first + noise * rng.normal(size=(n, d))
        first, second = (h / np.linalg.norm(h, axis=1, keepdims=True) for h in (first, second))
        apart = (np.linalg.norm(first - second, axis=1) >= epsilon).mean()
        bound = generalization_bound(min(1.0, alignment(first, second)), epsilon=epsilon, sigma=1.0)
        assert apart <= bound + 1e-9

    def test_is_reached_by_pairs_exactly_epsilon_apart(self) -> None:
        """A share q of the pairs at the distance ε and the rest at 0: Markov's inequality with equality."""
        share, epsilon = 0.3, 0.5
        mean_inner_product = 1 - share * epsilon**2 / 2
        assert generalization_bound(mean_inner_product, epsilon=epsilon, sigma=1.0) == pytest.approx(share, rel=1e-12)

    def test_values(self) -> None:
        """Never above the paper's root; above 1 the root is the smaller and neither says anything."""
        assert generalization_bound(1.0, epsilon=0.1, sigma=0.9) == pytest.approx(0.1)
        assert generalization_bound(0.98, epsilon=0.5, sigma=0.9) == pytest.approx(0.1 + 0.04 / 0.25)
        assert generalization_bound(0.98, epsilon=0.5, sigma=0.9) < 0.1 + math.sqrt(0.04) / 0.5
        assert generalization_bound(-1.0, epsilon=0.1, sigma=0.9) == pytest.approx(1.1)
        assert generalization_bound(0.5, epsilon=1.0, sigma=1.0) == pytest.approx(1.0)
        assert generalization_bound(0.5, epsilon=math.inf, sigma=0.25) == pytest.approx(0.75)

    @given(st.floats(-1, 1), st.floats(-1, 1), st.floats(1e-3, 10), st.floats(0.01, 1))
    def test_better_alignment_and_stronger_augmentation_never_hurt(
        self, one: float, other: float, epsilon: float, sigma: float
    ) -> None:
        low, high = sorted([one, other])
        better, worse = (generalization_bound(a, epsilon=epsilon, sigma=sigma) for a in (high, low))
        assert better <= worse <= 2 - sigma + 1e-12
        assert generalization_bound(low, epsilon=epsilon, sigma=1.0) <= worse

    @each(
        ("arguments", "message"),
        [
            ((1.1, 0.5, 0.5), "between -1 and 1, not 1.1"),
            ((-1.1, 0.5, 0.5), "not -1.1"),
            ((math.nan, 0.5, 0.5), "not nan"),
            ((0.5, 0.0, 0.5), "epsilon is above 0"),
            ((0.5, -1.0, 0.5), "epsilon is above 0"),
            ((0.5, math.nan, 0.5), "epsilon is above 0"),
            ((0.5, 0.5, 0.0), "sigma in"),
            ((0.5, 0.5, 1.5), "sigma in"),
            ((0.5, 0.5, math.nan), "sigma in"),
        ],
    )
    def test_wrong_arguments_are_named(self, arguments: tuple[float, float, float], message: str) -> None:
        aligned, epsilon, sigma = arguments
        with pytest.raises(InputError, match=message):
            generalization_bound(aligned, epsilon=epsilon, sigma=sigma)


def turn(h: np.ndarray, h_tilde: np.ndarray) -> float:
    """‖P - P~‖₂ for the projectors on the leading right singular vectors: the sine of the angle between them."""
    v, v_tilde = (np.linalg.svd(x)[2][0] for x in (h, h_tilde))
    return float(np.linalg.norm(np.outer(v, v) - np.outer(v_tilde, v_tilde), 2))


def gap(h: np.ndarray) -> float:
    first, second = np.linalg.svd(h, compute_uv=False)[:2]
    return float(first - second)


class TestElementwise:
    @given(n=st.integers(2, 12), epsilon=st.floats(1e-3, 1), seed=st.integers(0, 10_000), flat=st.booleans())
    def test_entries_within_the_bound_do_not_turn_symmetric_maps_further(
        self, n: int, epsilon: float, seed: int, flat: bool
    ) -> None:
        """The noise is of full size in every entry: random signs, or the rank-one pattern of the largest norm."""
        rng = np.random.default_rng(seed)
        q, _ = np.linalg.qr(rng.normal(size=(n, n)))
        values = np.sort(rng.random(n))[::-1]
        h_tilde = (q * values) @ q.T
        if flat:
            signs = rng.choice([-1.0, 1.0], size=n)
            pattern = rng.choice([-1.0, 1.0]) * np.outer(signs, signs)
        else:
            upper = np.triu(rng.choice([-1.0, 1.0], size=(n, n)))
            pattern = upper + np.triu(upper, 1).T
        h = h_tilde + elementwise_bound(epsilon, gap(h_tilde), n) * pattern
        assert turn(h, h_tilde) <= epsilon + 1e-9

    @given(n=st.integers(2, 8), d=st.integers(2, 8), epsilon=st.floats(1e-3, 1), seed=st.integers(0, 10_000))
    def test_nor_rectangular_ones(self, n: int, d: int, epsilon: float, seed: int) -> None:
        rng = np.random.default_rng(seed)
        h_tilde = rng.normal(size=(n, d))
        pattern = np.outer(rng.choice([-1.0, 1.0], size=n), rng.choice([-1.0, 1.0], size=d))
        h = h_tilde + elementwise_bound(epsilon, gap(h_tilde), n, d) * pattern
        assert turn(h, h_tilde) <= epsilon + 1e-9

    def test_ten_times_the_bound_turns_the_leading_direction_too_far(self) -> None:
        """So that the tests above can fail. The worst noise in two dimensions has both signs."""
        h_tilde, epsilon = np.diag([2.0, 1.0]), 0.3
        pattern = np.array([[-1.0, 1.0], [1.0, 1.0]])
        eta = elementwise_bound(epsilon, gap(h_tilde), 2)
        assert turn(h_tilde + eta * pattern, h_tilde) < epsilon
        assert turn(h_tilde + 10 * eta * pattern, h_tilde) > epsilon

    def test_equals_the_appendix(self) -> None:
        """2 ε Δ / (n (π + 2 ε)), and not the main text's n π + 2 ε in the denominator."""
        assert elementwise_bound(0.1, 2.0, 10) == pytest.approx(0.4 / (10 * (math.pi + 0.2)), rel=1e-14)
        assert elementwise_bound(0.1, 2.0, 10, 10) == elementwise_bound(0.1, 2.0, 10)
        assert elementwise_bound(0.1, 2.0, 4, 9) == pytest.approx(0.4 / (6 * (math.pi + 0.2)), rel=1e-14)
        assert elementwise_bound(0.1, 2.0, 9, 4) == elementwise_bound(0.1, 2.0, 4, 9)
        assert elementwise_bound(0.1, 0.0, 3) == 0

    @each(
        "arguments",
        [
            (0.0, 1.0, 3),
            (-1.0, 1.0, 3),
            (math.nan, 1.0, 3),
            (0.1, -1.0, 3),
            (0.1, math.nan, 3),
            (0.1, 1.0, 0),
            (0.1, 1.0, 3, 0),
            (0.1, 1.0, -1, -1),
        ],
    )
    def test_wrong_arguments_are_named(self, arguments: Any) -> None:
        with pytest.raises(InputError, match="n and d"):
            elementwise_bound(*arguments)


# --- Faults of the package that these tests found; each marker goes with its fault. ---


def test_rounding_of_the_alignment_is_no_mistake() -> None:
    """The alignment of unit embeddings with themselves, as the package computes it, is often 1 + 2e-16."""
    rng = np.random.default_rng(0)
    for _ in range(50):
        h = rng.normal(size=(7, 5))
        h /= np.linalg.norm(h, axis=1, keepdims=True)
        assert generalization_bound(alignment(h, h), epsilon=0.5, sigma=1.0) == pytest.approx(0, abs=1e-9)


def test_a_tiny_epsilon() -> None:
    assert generalization_bound(0.5, epsilon=1e-200, sigma=0.9) == pytest.approx(1.1)


@each("epsilon", [math.inf, 1e308])
def test_any_turn_is_allowed(epsilon: float) -> None:
    """η tends to gap / n."""
    assert elementwise_bound(epsilon, 2.0, 4) == pytest.approx(0.5)
