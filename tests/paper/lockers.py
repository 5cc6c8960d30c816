"""Processes that hold a lock."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

from sfa.atomic import locked


def hold_and_die(path: Path) -> None:
    with locked(path, wait=False) as ours:
        assert ours
        os.kill(os.getpid(), signal.SIGKILL)


def count_up(path: Path, counter: Path, times: int) -> None:
    for _ in range(times):
        with locked(path, wait=True) as ours:
            assert ours
            number = int(counter.read_text())
            time.sleep(0.001)
            counter.write_text(str(number + 1))
