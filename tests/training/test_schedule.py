"""The learning rate of each epoch."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest

from sfa.training.schedule import learning_rate


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
