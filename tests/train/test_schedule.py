"""The learning rate of each epoch."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest

from sfa.train.optim import learning_rate


def reference(epochs: int, peak: float, warmup: int, cosine: bool) -> list[float]:
    """The whole schedule written out: a ramp, then a plateau or half a cosine sampled at its left ends."""
    ramp = [peak * step / warmup for step in range(1, warmup + 1)]
    rest = epochs - warmup
    tail = [peak * math.cos(math.pi * i / rest / 2) ** 2 if cosine else peak for i in range(rest)]
    return (ramp + tail)[:epochs]


@pytest.mark.parametrize("cosine", [False, True])
@pytest.mark.parametrize(("epochs", "warmup"), [(10, 0), (10, 3), (7, 6), (1, 0), (3, 3), (2, 5)])
def test_against_the_schedule_written_out(epochs: int, warmup: int, cosine: bool) -> None:
    rates = [learning_rate(e, peak=0.3, epochs=epochs, warmup=warmup, cosine=cosine) for e in range(epochs)]
    assert rates == pytest.approx(reference(epochs, 0.3, warmup, cosine), rel=1e-12)


def test_shape() -> None:
    rates = [learning_rate(e, peak=1.0, epochs=100, warmup=10, cosine=True) for e in range(100)]
    assert max(rates) == rates[9] == rates[10] == 1
    assert all(low < high for low, high in pairwise(rates[:10]))
    assert all(high > low > 0 for high, low in pairwise(rates[10:]))


@pytest.mark.parametrize(("epochs", "warmup", "steps"), [(10, 3, 4), (5, 1, 7), (4, 0, 3), (6, 6, 2), (2, 5, 3)])
def test_a_warm_up_from_a_rate_rises_step_by_step_and_is_at_the_peak_when_it_ends(
    epochs: int, warmup: int, steps: int
) -> None:
    ramp = [3e-5 + (0.4 - 3e-5) * step / (warmup * steps) for step in range(warmup * steps)]
    rest = max(0, epochs - warmup) * steps
    tail = [0.4 * math.cos(math.pi * step / rest / 2) ** 2 for step in range(rest)]
    rates = [
        learning_rate(step / steps, peak=0.4, epochs=epochs, warmup=warmup, warmup_from=3e-5, cosine=True)
        for step in range(epochs * steps)
    ]
    assert rates == pytest.approx((ramp + tail)[: epochs * steps], rel=1e-12)
    if warmup < epochs:
        assert rates[warmup * steps] == 0.4
        assert max(rates) == 0.4
    assert learning_rate(float(warmup), peak=0.4, epochs=epochs, warmup=warmup, warmup_from=0.0) == 0.4
    assert learning_rate(epochs, peak=0.4, epochs=epochs, warmup=0, warmup_from=0.0, cosine=True) == pytest.approx(0)
