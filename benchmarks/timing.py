"""Times of several things side by side in one run, so that a noisy machine disturbs all of them alike."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping


def side_by_side(things: Mapping[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """Least seconds of each thing, what it takes when nothing disturbs it.

    The things take turns, forwards and backwards, after one round that does not count.
    """
    seconds: dict[str, list[float]] = {name: [] for name in things}
    names = list(things)
    for turn in range(rounds + 1):
        for name in names if turn % 2 else reversed(names):
            started = time.perf_counter()
            things[name]()
            if turn > 0:
                seconds[name].append(time.perf_counter() - started)
    return {name: min(values) for name, values in seconds.items()}
