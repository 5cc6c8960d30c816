"""Equations 5 and 6 in full: every pair of directions counts, and what SFA leaves of them on average."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from sfa.errors import InputError
from sfa.spectral import power_iteration
from sfa.theory import alignment, alignment_terms, expectation, expected_alignment, push_forward
from tests.cases import each


def views(n: int, d: int, seed: int = 0, noise: float = 0.5) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    h = rng.normal(size=(n, d)) * np.geomspace(2, 0.3, d)
    return h, h + noise * rng.normal(size=(n, d))


def slow_alignment(h_alpha: np.ndarray, h_beta: np.ndarray, tau: float) -> float:
    """The mean inner product of the two views of a sample, sample by sample."""
    return sum(float(a @ b) for a, b in zip(h_alpha, h_beta, strict=True)) / (len(h_alpha) * tau)


def slow_terms(h_alpha: np.ndarray, h_beta: np.ndarray, tau: float) -> np.ndarray:
    """Pair by pair of singular directions."""
    (u, sigma, v), (x, rho, y) = (np.linalg.svd(h, full_matrices=False) for h in (h_alpha, h_beta))
    terms = np.empty((len(sigma), len(rho)))
    for i in range(len(sigma)):
        for j in range(len(rho)):
            terms[i, j] = sigma[i] * rho[j] * (u[:, i] @ x[:, j]) * (v[i] @ y[j]) / (len(h_alpha) * tau)
    return terms


@given(n=st.integers(1, 12), d=st.integers(1, 8), tau=st.sampled_from([0.3, 1.0, 2.0]), seed=st.integers(0, 100))
def test_all_terms_sum_to_the_trace(n: int, d: int, tau: float, seed: int) -> None:
    h_alpha, h_beta = views(n, d, seed)
    terms = alignment_terms(h_alpha, h_beta, tau=tau)
    assert terms.shape == (min(n, d), min(n, d))
    np.testing.assert_allclose(terms, slow_terms(h_alpha, h_beta, tau), rtol=1e-9, atol=1e-12)
    assert alignment(h_alpha, h_beta, tau=tau) == pytest.approx(slow_alignment(h_alpha, h_beta, tau), abs=1e-12)
    assert terms.sum() == pytest.approx(alignment(h_alpha, h_beta, tau=tau), abs=1e-11)


def test_the_printed_diagonal_alone_is_not_the_trace() -> None:
    """Two views whose directions come in the other order: the diagonal is 0, and the alignment is not."""
    h_alpha, h_beta = np.diag([2.0, 1.0]), np.diag([1.0, 2.0])
    terms = alignment_terms(h_alpha, h_beta)
    np.testing.assert_allclose(terms, [[0, 1], [1, 0]], atol=1e-15)
    assert np.trace(terms) == pytest.approx(0, abs=1e-15)
    assert alignment(h_alpha, h_beta) == pytest.approx(2)


def test_the_diagonal_is_all_of_it_where_the_views_share_their_directions() -> None:
    rng = np.random.default_rng(0)
    u, v = (np.linalg.qr(rng.normal(size=(m, 4)))[0] for m in (9, 4))
    sigma, rho = np.array([4.0, 3.0, 2.0, 1.0]), np.array([3.0, 2.0, 1.0, 0.5])
    terms = alignment_terms((u * sigma) @ v.T, (u * rho) @ v.T)
    np.testing.assert_allclose(terms, np.diag(sigma * rho) / 9, atol=1e-14)
    expected = (sigma * (1 - expectation(sigma)) * rho * (1 - expectation(rho))).sum() / 9
    assert expected_alignment((u * sigma) @ v.T, (u * rho) @ v.T) == pytest.approx(expected, rel=1e-12)


@each(("n", "d"), [(20, 5), (4, 9), (6, 6), (1, 3), (5, 1)])
@each("k", [0, 1, 3])
def test_expected_alignment_equals_algorithm_1_on_both_views(n: int, d: int, k: int) -> None:
    """40,000 pairs of independent calls."""
    h_alpha, h_beta = views(n, d)
    generator = torch.Generator().manual_seed(k)
    a, b = (
        power_iteration(torch.tensor(h).expand(40_000, n, d), k, generator=generator).numpy() for h in (h_alpha, h_beta)
    )
    drawn = np.einsum("bnd,bnd->b", a, b) / (n * 0.7)
    actual = expected_alignment(h_alpha, h_beta, k, tau=0.7)
    assert abs(drawn.mean() - actual) <= 4.5 * drawn.std() / 200 + 1e-12


def test_many_iterations_take_the_leading_directions_out() -> None:
    h_alpha, h_beta = views(20, 4)
    rest = alignment_terms(h_alpha, h_beta)[1:, 1:].sum()
    assert expected_alignment(h_alpha, h_beta, 500) == pytest.approx(rest, rel=1e-9)


def test_no_iteration_takes_the_same_share_of_all() -> None:
    h_alpha, h_beta = views(3, 5)
    expected = (1 - 1 / 5) ** 2 * alignment(h_alpha, h_beta)
    assert expected_alignment(h_alpha, h_beta, 0) == pytest.approx(expected, rel=1e-12)


def test_the_surrogate_may_be_used_and_differs() -> None:
    h_alpha, h_beta = views(30, 6)
    exact, surrogate = (expected_alignment(h_alpha, h_beta, 1, method=method) for method in ("exact", "surrogate"))
    assert surrogate == pytest.approx(exact, rel=0.1)
    assert abs(surrogate / exact - 1) > 1e-4


def test_tensors_lists_and_views_without_anything() -> None:
    h_alpha, h_beta = views(4, 3)
    assert alignment(torch.tensor(h_alpha), h_beta.tolist()) == pytest.approx(alignment(h_alpha, h_beta), rel=1e-14)
    assert expected_alignment(np.zeros((3, 2)), np.ones((3, 2)), 2) == 0
    assert type(alignment(h_alpha, h_beta)) is float
    assert type(expected_alignment(h_alpha, h_beta)) is float


@each("function", [alignment, alignment_terms, expected_alignment])
@each(
    ("h_alpha", "h_beta", "message"),
    [
        (np.ones((3, 2)), np.ones((2, 3)), r"one shape, not \(3, 2\) and \(2, 3\)"),
        (np.ones(3), np.ones(3), "maps"),
        (np.ones((2, 3, 2)), np.ones((2, 3, 2)), "maps"),
        (np.ones((0, 3)), np.ones((0, 3)), "maps"),
        ([[1.0, np.nan]], [[1.0, 2.0]], "not finite"),
        ([[1.0, 2.0]], [[1.0, np.inf]], "not finite"),
    ],
)
def test_what_are_no_two_views_is_named(function: Any, h_alpha: Any, h_beta: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        function(h_alpha, h_beta)


def test_wrong_iterations_and_methods_are_named() -> None:
    h_alpha, h_beta = views(4, 3)
    with pytest.raises(InputError, match="whole number"):
        expected_alignment(h_alpha, h_beta, -1)
    wrong: Any = "exat"
    with pytest.raises(InputError, match="did you mean 'exact'"):
        expected_alignment(h_alpha, h_beta, method=wrong)


# --- Faults of the package that these tests found; each marker goes with its fault. ---


def test_what_is_left_of_a_dominating_direction_keeps_its_digits() -> None:
    """φ(σ₁) = 1e-9 of σ₁ = 1e9, while the rounding of 1 - λ₁ alone is 1e-16 · 1e9. The second view keeps one half."""
    h_alpha = np.diag([1e9, 1.0]) @ np.array([[0.6, 0.8], [-0.8, 0.6]])
    phi = push_forward([1e9, 1.0]).mean
    expected = 0.6 * phi.sum() * 0.5 / 2
    assert expected_alignment(h_alpha, np.eye(2)) == pytest.approx(expected, rel=1e-10)


@each("tau", [0.0, -1.0, np.nan])
@each("function", [alignment, alignment_terms, expected_alignment])
def test_the_temperature_is_above_zero(function: Any, tau: float) -> None:
    with pytest.raises(InputError, match="tau"):
        function(np.eye(2), np.eye(2), tau=tau)


@each("h", ["map", [[1.0, 2.0], [3.0]]])
def test_what_is_no_array_is_named(h: Any) -> None:
    with pytest.raises(InputError, match="maps"):
        alignment(h, h)


def test_a_tensor_that_requires_a_gradient_will_do() -> None:
    assert alignment(torch.eye(2, requires_grad=True), torch.eye(2)) == 1
