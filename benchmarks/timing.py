"""Times of several things side by side in one run, so that a noisy machine disturbs all of them alike."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Mapping

BUSY = 0.2  # cores' worth of work of other processes above which a number is not final


def side_by_side(things: Mapping[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """Return the least seconds of each thing, what it takes when nothing disturbs it.

    The things take turns, forwards and backwards, after one round that does not count. What other processes did
    meanwhile is said on standard error.
    """
    seconds: dict[str, list[float]] = {name: [] for name in things}
    names = list(things)
    started_all, idle, own = time.perf_counter(), idle_seconds(), sum(os.times()[:4])
    for turn in range(rounds + 1):
        for name in names if turn % 2 else reversed(names):
            started = time.perf_counter()
            things[name]()
            if turn > 0:
                seconds[name].append(time.perf_counter() - started)
    wall = time.perf_counter() - started_all
    used = (os.cpu_count() or 1) - (idle_seconds() - idle) / wall - (sum(os.times()[:4]) - own) / wall
    state = "NOT FINAL, measure again on a quiet machine" if used > BUSY else "a quiet machine"
    busy = f"load {os.getloadavg()[0]:.1f}, other processes kept {max(used, 0):.1f} cores busy"
    print(f"[{busy}: {state}]", file=sys.stderr)
    return {name: min(values) for name, values in seconds.items()}


def idle_seconds() -> float:
    """Return the time that all cores together have been idle since the machine started; 0 where it is not known."""
    try:
        with open("/proc/stat") as file:
            fields = file.readline().split()
    except OSError:
        return 0.0
    return (int(fields[4]) + int(fields[5])) / os.sysconf("SC_CLK_TCK")
