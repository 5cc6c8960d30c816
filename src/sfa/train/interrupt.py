"""Ctrl-C and SIGTERM as a request to stop after the current step, not in the middle of one."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from sfa.errors import SfaError


class Interrupted(SfaError):
    """Training was stopped by the user; what was learnt is saved."""

    exit_code = 130


@contextmanager
def stop_requests() -> Iterator[Callable[[], bool]]:
    """Inside, the first Ctrl-C or SIGTERM makes the yielded function return True; a second one acts as usual."""
    requested = False
    if threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return
    previous = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def request(number: int, frame: FrameType | None) -> None:
        nonlocal requested
        requested = True
        restore()

    def restore() -> None:
        for number, handler in previous.items():
            signal.signal(number, handler)

    for number in previous:
        signal.signal(number, request)
    try:
        yield lambda: requested
    finally:
        restore()
