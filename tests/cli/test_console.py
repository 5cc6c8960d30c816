"""Progress on a terminal, elsewhere, and not at all."""

from __future__ import annotations

import io
import re

import pytest
from rich.console import Console

from sfa.run import display as console
from sfa.run.display import Display


def shown(*, terminal: bool, quiet: bool = False, total: int = 3, first: int = 1) -> str:
    display, screen = Display(quiet), io.StringIO()
    display.console = Console(file=screen, force_terminal=terminal, quiet=quiet, width=100, highlight=False)
    with display.progress("training", total) as tracker:
        for epoch in range(first, total + 1):
            tracker.step(epoch, loss=1.5)
    display.say("done [bold]as written[/bold]")
    return screen.getvalue()


def test_on_a_terminal() -> None:
    text = shown(terminal=True)
    assert "\x1b" in text
    assert "3/3" in text
    assert "loss 1.5" in text
    assert re.search(r"\d/s", text)


def test_elsewhere() -> None:
    text = shown(terminal=False)
    assert "\x1b" not in text
    line, last = text.splitlines()
    assert re.fullmatch(r"training  3/3  loss 1\.5  \S+/s  0 s", line)
    assert last == "done [bold]as written[/bold]"


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """A clock that stands still until it is moved."""
    now = [0.0]
    monkeypatch.setattr(console.time, "monotonic", lambda: now[0])
    return now


def lines_of(clock: list[float], *, total: int, first: int = 1) -> list[str]:
    """One step a second."""
    display, screen = Display(), io.StringIO()
    display.console = Console(file=screen, force_terminal=False, width=100, highlight=False)
    with display.progress("training", total) as tracker:
        for epoch in range(first, total + 1):
            clock[0] += 1
            tracker.step(epoch)
    return screen.getvalue().splitlines()


def test_lines_come_at_intervals_and_tell_the_time_left(clock: list[float]) -> None:
    assert lines_of(clock, total=12) == [
        "training  5/12  1/s  7 s left",
        "training  10/12  1/s  2 s left",
        "training  12/12  1/s  12 s",
    ]


def test_the_rate_of_a_resumed_run_counts_new_steps_alone(clock: list[float]) -> None:
    assert lines_of(clock, total=20, first=11) == ["training  15/20  1/s  5 s left", "training  20/20  1/s  10 s"]


def test_steps_are_counted_where_no_number_is_given(clock: list[float]) -> None:
    display, screen = Display(), io.StringIO()
    display.console = Console(file=screen, force_terminal=False, width=100, highlight=False)
    with display.progress("scoring", 2) as tracker:
        for _ in range(2):
            clock[0] += 5
            tracker.step()
    assert screen.getvalue().splitlines() == ["scoring  1/2  0.2/s  5 s left", "scoring  2/2  0.2/s  10 s"]


def test_quiet() -> None:
    assert shown(terminal=True, quiet=True) == ""
    assert shown(terminal=False, quiet=True) == ""
