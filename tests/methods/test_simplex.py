"""The nearest probabilities against bisection and what makes a projection one, and a step of ascent among them."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from sfa.errors import InputError
from sfa.methods.graphcl import ascend, project_to_simplex
from tests.cases import each

vectors = st.lists(st.floats(-20, 20), min_size=1, max_size=8).map(lambda v: torch.tensor(v, dtype=torch.float64))


def by_bisection(v: Tensor) -> Tensor:
    """The sum of max(v - mu, 0) falls from above 1 to 0 as mu rises: halve the interval around the sum 1."""
    low, high = float(v.max()) - 1, float(v.max())
    for _ in range(200):
        mu = (low + high) / 2
        if sum(max(float(entry) - mu, 0.0) for entry in v) > 1:
            low = mu
        else:
            high = mu
    return torch.tensor([max(float(entry) - low, 0.0) for entry in v], dtype=v.dtype)


@given(vectors)
def test_equals_bisection(v: Tensor) -> None:
    torch.testing.assert_close(project_to_simplex(v), by_bisection(v), rtol=0, atol=1e-12)


@given(vectors, st.integers(0, 99))
def test_no_probabilities_are_nearer(v: Tensor, seed: int) -> None:
    """They are probabilities, and all others lie on the far side: (v - p) · (q - p) ≤ 0."""
    p = project_to_simplex(v)
    assert (p >= 0).all()
    assert p.sum().item() == pytest.approx(1, abs=1e-12)
    others = torch.rand(20, len(v), generator=torch.Generator().manual_seed(seed), dtype=v.dtype)
    corners = torch.eye(len(v), dtype=v.dtype)
    for q in torch.cat([others / others.sum(1, keepdim=True), corners]):
        assert (v - p) @ (q - p) <= 1e-10


@given(vectors, st.floats(-1e3, 1e3))
def test_a_common_shift_changes_nothing_and_probabilities_stay(v: Tensor, shift: float) -> None:
    p = project_to_simplex(v)
    torch.testing.assert_close(project_to_simplex(v + shift), p, rtol=0, atol=1e-11)
    torch.testing.assert_close(project_to_simplex(p), p, rtol=0, atol=1e-12)


def test_known_values() -> None:
    torch.testing.assert_close(project_to_simplex(torch.tensor([0.5, 0.5, 2.0])), torch.tensor([0.0, 0.0, 1.0]))
    torch.testing.assert_close(project_to_simplex(torch.tensor([1.0, 0.8, -3.0])), torch.tensor([0.6, 0.4, 0.0]))
    torch.testing.assert_close(project_to_simplex(torch.full((5,), 7.0)), torch.full((5,), 0.2))
    large = project_to_simplex(torch.tensor([1e6, 1e6 + 0.5]))
    torch.testing.assert_close(large, torch.tensor([0.25, 0.75]))


@each("wrong", [torch.zeros(0), torch.zeros(2, 2), torch.tensor([1.0, torch.nan])])
def test_other_than_finite_vectors_are_refused(wrong: Tensor) -> None:
    with pytest.raises(InputError, match="vector of finite numbers"):
        project_to_simplex(wrong)


@given(st.integers(0, 999), st.floats(0, 10), st.floats(1e-3, 10))
def test_a_step_of_ascent_is_the_papers(seed: int, gamma: float, beta: float) -> None:
    """JOAO's: by bisection, as its authors find the nearest probabilities."""
    draw = torch.rand(2, 5, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    p, losses = draw[0] / draw[0].sum(), 10 * draw[1] - 5
    found = ascend(p, losses, gamma=gamma, beta=beta)
    expected = by_bisection(p + beta * (losses - gamma * (p - 0.2)))
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-9)
    # Losses that are all larger by the same prefer nothing.
    torch.testing.assert_close(ascend(p, losses + 3, gamma=gamma, beta=beta), found, rtol=0, atol=1e-9)
