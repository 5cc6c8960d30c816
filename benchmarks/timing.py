"""Times of several things side by side in one run, so that a noisy machine disturbs all of them alike."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping


def side_by_side(things: Mapping[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """Median seconds of each thing; they take turns, after one round that does not count."""
    seconds: dict[str, list[float]] = {name: [] for name in things}
    for turn in range(rounds + 1):
        for name, thing in things.items():
            started = time.perf_counter()
            thing()
            if turn > 0:
                seconds[name].append(time.perf_counter() - started)
    return {name: statistics.median(values) for name, values in seconds.items()}
