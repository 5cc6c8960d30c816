"""Many gentle passes: the recursion against the push-forward function, the flow and the layer itself."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import solve_ivp

from sfa import theory
from sfa.errors import InputError
from sfa.theory import expectation, leveled
from tests.cases import each

SIGMA = np.array([8.0, 4.0, 2.0, 1.0, 0.1])


@each("iterations", [0, 1, 3])
def test_one_pass_is_the_push_forward_function(iterations: int) -> None:
    np.testing.assert_allclose(leveled(SIGMA, iterations), theory.push_forward(SIGMA, iterations).mean, rtol=1e-12)
    np.testing.assert_array_equal(leveled(SIGMA, iterations, passes=0), SIGMA)


def test_many_gentle_passes_follow_the_flow() -> None:
    flow = solve_ivp(lambda _, sigma: -sigma * expectation(sigma, 1), (0, 3), SIGMA, rtol=1e-8, atol=1e-10).y[:, -1]
    errors = [np.abs(leveled(SIGMA, 1, strength=3 / passes, passes=passes) - flow).max() for passes in (30, 300)]
    assert errors[0] < 0.15
    assert errors[1] < errors[0] / 5, "an error of the first order in the strength"


def test_draws_of_the_layer_gather_around_it() -> None:
    drawn = theory.simulate(SIGMA, 1, 300, strength=0.02, passes=150, seed=1).push_forward
    np.testing.assert_allclose(drawn.mean(axis=0), leveled(SIGMA, 1, strength=0.02, passes=150), rtol=0.03)
    harsh = theory.simulate(SIGMA, 1, 300, strength=1.0, passes=3, seed=1).push_forward
    assert (drawn.std(axis=0)[1:4] < harsh.std(axis=0)[1:4] / 4).all()


@given(
    sigma=st.lists(st.floats(1e-3, 1e3), min_size=1, max_size=8),
    strength=st.floats(0, 1),
    passes=st.integers(0, 6),
    iterations=st.integers(0, 3),
)
def test_nothing_grows_and_no_two_values_change_places(
    sigma: list[float], strength: float, passes: int, iterations: int
) -> None:
    values = np.sort(sigma)[::-1]
    after = leveled(values, iterations, strength=strength, passes=passes)
    assert (after <= values * (1 + 1e-12)).all()
    assert (after >= 0).all()
    if strength <= 0.25:  # a harsher pass can take the first value below the second
        assert (np.diff(after) <= 1e-9 * values[0]).all()


def test_batches_of_spectra_and_zeros() -> None:
    both = leveled(np.stack([SIGMA, np.zeros(5)]), 1, strength=0.5, passes=3)
    np.testing.assert_array_equal(both[0], leveled(SIGMA, 1, strength=0.5, passes=3))
    assert not both[1].any()


@each("options", [{"strength": 1.5}, {"strength": float("nan")}, {"passes": -1}, {"passes": 1.5}])
def test_other_values_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=next(iter(options))):
        leveled(SIGMA, **options)
