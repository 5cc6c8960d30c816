"""Algorithm 1 on random matrices: it does what the law says, on average, in spread, and in every single draw."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from sfa.errors import InputError
from sfa.theory import Simulation, push_forward, simulate
from tests.cases import each

CAPTION = [2.0, 1.5, 0.9, 0.2, 0.01]


def slow_simulation(sigma: list[float], k: int, blocks: list[int], seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Algorithm 1 with the Gram matrix, draw by draw and value by value, from the same random numbers."""
    d = len(sigma)
    generator = torch.Generator().manual_seed(seed)

    def normal(*shape: int) -> torch.Tensor:
        return torch.randn(*shape, dtype=torch.float64, generator=generator)

    u, v = (torch.linalg.qr(normal(d, d))[0].numpy() for _ in range(2))
    h = u @ np.diag(sigma) @ v.T
    along, spectrum = [], []
    for draws in blocks:
        for r in normal(draws, d, 1).numpy()[:, :, 0]:
            q = np.linalg.matrix_power(h.T @ h, k) @ r
            h_tilde = h - h @ np.outer(q, q) / (q @ q)
            along.append([u[:, i] @ h_tilde @ v[:, i] for i in range(d)])
            spectrum.append(np.linalg.svd(h_tilde, compute_uv=False))
    return np.array(along), np.array(spectrum)


@each(("sigma", "k"), [(CAPTION, 1), (CAPTION, 0), ([1.0, 3.0], 3), ([2.0], 1), ([1.0, 0.0, 2.0], 2)])
def test_equals_the_loop(sigma: list[float], k: int) -> None:
    result = simulate(sigma, k, draws=20, seed=5)
    assert isinstance(result, Simulation)
    along, spectrum = slow_simulation(sigma, k, [20], seed=5)
    np.testing.assert_allclose(result.push_forward, along, atol=1e-12)
    np.testing.assert_allclose(result.spectrum, spectrum, atol=1e-12)


@each(("block", "sizes"), [(3 * 25, [3, 3, 3, 1]), (1, [1] * 10), (5 * 25, [5, 5])])
def test_many_draws_come_in_blocks(block: int, sizes: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["sfa.theory.push_forward"], "BLOCK", block)
    result = simulate(CAPTION, 1, draws=10, seed=1)
    along, spectrum = slow_simulation(CAPTION, 1, sizes, seed=1)
    np.testing.assert_allclose(result.push_forward, along, atol=1e-12)
    np.testing.assert_allclose(result.spectrum, spectrum, atol=1e-12)


@each("k", [0, 1, 2, 4])
def test_mean_and_deviation_are_those_of_the_push_forward(k: int) -> None:
    drawn = simulate(CAPTION, k, draws=40_000, seed=k).push_forward
    mean, deviation = push_forward(CAPTION, k)
    assert (np.abs(drawn.mean(axis=0) - mean) <= 4.5 * deviation / 200 + 1e-12).all()
    often = deviation / np.array(CAPTION) > 0.02  # the deviation of rarer shares is a matter of few draws
    assert often.sum() >= 2
    squares = (drawn - mean) ** 2
    assert (np.abs(squares.mean(axis=0) - deviation**2) <= 4.5 * squares.std(axis=0) / 200)[often].all()


@settings(max_examples=30)
@given(
    sigma=st.lists(st.floats(0, 10), min_size=1, max_size=12), k=st.integers(0, 8), seed=st.integers(-(2**63), 2**63)
)
def test_every_draw_interlaces(sigma: list[float], k: int, seed: int) -> None:
    """A projection of rank one: σ_i ≥ σ~_i ≥ σ_{i+1}, and one direction is gone."""
    before = np.sort(sigma)[::-1]
    result = simulate(sigma, k, draws=5, seed=seed)
    rounding = 1e-12 * max(1.0, before[0])
    assert result.spectrum.shape == result.push_forward.shape == (5, len(sigma))
    assert (result.spectrum <= before + rounding).all()
    assert (result.spectrum[:, :-1] >= before[1:] - rounding).all()
    assert (result.spectrum[:, -1] <= rounding).all()
    assert (np.diff(result.spectrum) <= 0).all()
    assert (result.push_forward >= -rounding).all()
    assert (result.push_forward <= np.array(sigma) + rounding).all()


def test_a_seed_fixes_all_and_another_changes_it() -> None:
    first, second, other = (simulate(CAPTION, 1, draws=5, seed=seed) for seed in (3, 3, 4))
    for a, b in zip(first, second, strict=True):
        np.testing.assert_array_equal(a, b)
    assert not np.allclose(first.push_forward, other.push_forward)
    assert not np.allclose(first.push_forward[0], first.push_forward[1]), "every draw has its own direction"


def test_the_global_generator_is_left_alone() -> None:
    torch.manual_seed(0)
    before = torch.random.get_rng_state()
    simulate(CAPTION, 1, draws=5)
    assert torch.equal(torch.random.get_rng_state(), before)


@each(
    ("sigma", "k", "draws", "message"),
    [
        ([[2.0, 1.0]], 1, 5, r"one spectrum \(d,\), not an array of shape \(1, 2\)"),
        ([2.0, -1.0], 1, 5, "not negative"),
        ([2.0, 1.0], -1, 5, "whole number"),
        ([2.0, 1.0], 1, 0, "draws must be a whole number, 1 or more, not 0"),
        ([2.0, 1.0], 1, -3, "draws must be a whole number, 1 or more, not -3"),
    ],
)
def test_wrong_arguments_are_named(sigma: Any, k: int, draws: int, message: str) -> None:
    with pytest.raises(InputError, match=message):
        simulate(sigma, k, draws)


# --- Faults of the package that these tests found; each marker goes with its fault. ---


def test_the_number_of_draws_is_whole() -> None:
    wrong: Any = 2.5
    with pytest.raises(InputError, match="draw"):
        simulate([2.0, 1.0], 1, wrong)
