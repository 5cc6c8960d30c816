"""The expectation of SFA against the average of many draws of SFA."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from sfa import theory
from sfa.spectral import Expectation, expectation, power_iteration
from tests.cases import each


def seeded(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def random_map(*shape: int) -> Tensor:
    return torch.randn(*shape, generator=seeded(0), dtype=torch.float64)


@each("iterations", [0, 1, 2])
@each("shape", [(9, 4), (3, 6)])
def test_value_is_the_average_of_many_draws(shape: tuple[int, int], iterations: int) -> None:
    """Also of a map with fewer rows than columns, where a random direction misses the map for the most part."""
    h, draws = random_map(*shape), 40_000
    drawn = power_iteration(h.expand(draws, *shape), iterations, strength=0.8, generator=seeded(1))
    error = (drawn.mean(0) - expectation(h, iterations, strength=0.8)).abs()
    assert (error < 5 * drawn.std(0) / draws**0.5).all()


def test_leaves_the_singular_vectors_and_takes_the_exact_shares() -> None:
    h = random_map(12, 5)
    u, sigma, vh = torch.linalg.svd(h, full_matrices=False)
    phi = torch.from_numpy(theory.push_forward(sigma, 2).mean)
    torch.testing.assert_close(expectation(h, 2), (u * phi) @ vh)


def test_passes_are_calls_one_after_another() -> None:
    h = random_map(12, 5)
    one_by_one = h
    for _ in range(4):
        one_by_one = expectation(one_by_one, 1, strength=0.3)
    torch.testing.assert_close(expectation(h, 1, strength=0.3, passes=4), one_by_one)


def test_the_matrix_is_a_constant_in_backward() -> None:
    h = random_map(8, 4).requires_grad_()
    seen = torch.randn(8, 4, generator=seeded(2), dtype=torch.float64)
    (gradient,) = torch.autograd.grad((expectation(h, 1, passes=3) * seen).sum(), h)
    with torch.no_grad():
        w = torch.linalg.pinv(h) @ expectation(h, 1, passes=3)
    torch.testing.assert_close(gradient, seen @ w.T)


def test_gentle_passes_of_sfa_gather_around_it() -> None:
    """The same levelling, of 4 in all: the gentler the passes, the nearer one draw is to the map without chance."""
    h = random_map(60, 12) @ torch.diag(torch.logspace(0, -1, 12, dtype=torch.float64))
    distances = []
    for passes in (4, 16, 64):
        options = {"strength": 4 / passes, "passes": passes}
        drawn = power_iteration(h.expand(50, 60, 12), 1, generator=seeded(1), **options)  # type: ignore[arg-type]
        distances.append(float((drawn - expectation(h, 1, **options)).square().mean().sqrt()))  # type: ignore[arg-type]
    assert distances[1] < 0.7 * distances[0]
    assert distances[2] < 0.7 * distances[1]
    assert np.isfinite(distances).all()


WRONG = [
    (Expectation, {"iterations": -1}, "iterations"),
    (Expectation, {"strength": 1.1}, "strength"),
    (Expectation, {"strength": -0.1}, "strength"),
    (Expectation, {"passes": 0}, "passes"),
]
