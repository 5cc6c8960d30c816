"""LARS against its formula, a number at a time."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from sfa.train.optim import LARS

Weights = list[float]


def reference(
    w: Weights,
    gradients: Sequence[Weights],
    rates: Sequence[float],
    *,
    momentum: float,
    weight_decay: float,
    eta: float,
    clip: bool,
    adaptive: bool = True,
) -> list[Weights]:
    """The weights after each step, as the docstring of LARS has it."""
    v, path = [0.0] * len(w), []
    for g, lr in zip(gradients, rates, strict=True):
        w_norm, g_norm = math.sqrt(sum(a * a for a in w)), math.sqrt(sum(a * a for a in g))
        if not adaptive:
            rate, decay = 1.0, weight_decay
        elif w_norm == 0 or g_norm == 0:
            rate, decay = 1.0, 0.0
        else:
            rate, decay = eta * w_norm / (g_norm + weight_decay * w_norm + 1e-8), weight_decay
            if clip:
                rate = 1.0 if lr == 0 else min(rate / lr, 1.0)
        v = [momentum * a + rate * (b + decay * c) for a, b, c in zip(v, g, w, strict=True)]
        w = [a - lr * b for a, b in zip(w, v, strict=True)]
        path.append(w)
    return path


def run(w: Weights, gradients: Sequence[Weights], rates: Sequence[float], **settings: float) -> list[Weights]:
    adaptive = settings.pop("adaptive", True)
    weights = torch.nn.Parameter(torch.tensor(w, dtype=torch.float64).reshape(2, -1))
    optimizer = LARS([{"params": [weights], "adaptive": adaptive}], 1.0, **settings)
    path = []
    for g, lr in zip(gradients, rates, strict=True):
        optimizer.param_groups[0]["lr"] = lr
        weights.grad = torch.tensor(g, dtype=torch.float64).reshape(2, -1)
        optimizer.step()
        path.append(weights.detach().flatten().tolist())
    return path


@pytest.mark.parametrize("adaptive", [True, False])
@pytest.mark.parametrize("clip", [True, False])
@pytest.mark.parametrize(("momentum", "weight_decay", "eta"), [(0.9, 1e-4, 0.02), (0.0, 0.5, 1.0), (0.5, 0.0, 0.1)])
def test_against_the_formula(momentum: float, weight_decay: float, eta: float, clip: bool, adaptive: bool) -> None:
    """Rates rise and fall around the local rate, so that it is clipped at some steps and not at others."""
    rng = np.random.default_rng(0)
    w, gradients, rates = rng.normal(size=6).tolist(), rng.normal(size=(8, 6)).tolist(), [0.0, 3e-5, 0.01, 0.4, 2.0]
    settings = {"momentum": momentum, "weight_decay": weight_decay, "eta": eta, "clip": clip, "adaptive": adaptive}
    rates = [*rates, *rates[:-3:-1], 0.05]
    np.testing.assert_allclose(
        run(w, gradients, rates, **settings), reference(w, gradients, rates, **settings), rtol=1e-12
    )


numbers = st.floats(-1e3, 1e3).filter(lambda a: a == 0 or abs(a) > 1e-3)


@given(
    w=st.lists(numbers, min_size=4, max_size=4),
    gradients=st.lists(st.lists(numbers, min_size=4, max_size=4), min_size=1, max_size=4),
    lr=st.floats(0, 2),
)
def test_against_the_formula_with_zeros_among_it(w: Weights, gradients: list[Weights], lr: float) -> None:
    settings = {"momentum": 0.9, "weight_decay": 0.1, "eta": 0.02, "clip": True}
    rates = [lr] * len(gradients)
    np.testing.assert_allclose(
        run(w, gradients, rates, **settings), reference(w, gradients, rates, **settings), rtol=1e-9, atol=1e-9
    )


def test_where_a_norm_is_zero_there_is_no_ratio() -> None:
    zero, g = [0.0] * 4, [1.0, 2.0, 3.0, 4.0]
    settings = {"momentum": 0.0, "weight_decay": 0.5, "eta": 0.02, "clip": True}
    assert run(zero, [g], [0.5], **settings) == [[-0.5, -1.0, -1.5, -2.0]]
    assert run(g, [zero], [0.5], **settings) == [g]
    assert run(g, [g], [0.0], **settings) == [g]


def test_the_step_is_a_share_of_the_weights_whatever_the_gradient() -> None:
    """The point of it: ``eta`` of the norm of the weights, for gradients a million times apart."""
    settings = {"momentum": 0.0, "weight_decay": 0.0, "eta": 0.02, "clip": True}
    for scale in (1.0, 1e6):
        ((a, b),) = run([3.0, 4.0], [[0.6 * scale, 0.8 * scale]], [0.4], **settings)
        assert math.hypot(3 - a, 4 - b) == pytest.approx(0.02 * 5 if scale > 1 else min(0.02 * 5, 0.4), rel=1e-6)


def test_weights_without_a_gradient_stay() -> None:
    moved, still = (torch.nn.Parameter(torch.ones(2, 2)) for _ in range(2))
    optimizer = LARS([moved, still], 0.1, weight_decay=0.5)
    moved.grad = torch.ones(2, 2)
    optimizer.step()
    assert torch.equal(still, torch.ones(2, 2))
    assert still not in optimizer.state
    assert bool((moved < 1).all())
