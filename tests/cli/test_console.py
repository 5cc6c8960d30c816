"""Progress on a terminal, elsewhere, and not at all."""

from __future__ import annotations

import io
import re

import pytest
from rich.console import Console

from sfa.cli import console
from sfa.cli.console import Display


def shown(*, terminal: bool, quiet: bool = False, total: int = 3, completed: int = 0) -> str:
    display, screen = Display(quiet), io.StringIO()
    display.console = Console(file=screen, force_terminal=terminal, quiet=quiet, width=100, highlight=False)
    with display.progress("training", total, completed) as tracker:
        for _ in range(total - completed):
            tracker.step(loss=1.5)
    display.say("done [bold]as written[/bold]")
    return screen.getvalue()


def test_on_a_terminal() -> None:
    text = shown(terminal=True)
    assert "\x1b" in text
    assert "3/3" in text
    assert "loss 1.5" in text
    assert "it/s" in text


def test_elsewhere() -> None:
    text = shown(terminal=False)
    assert "\x1b" not in text
    line, last = text.splitlines()
    assert re.fullmatch(r"training  3/3  loss 1\.5  it/s \S+  0 s", line)
    assert last == "done [bold]as written[/bold]"


def test_lines_come_at_intervals_and_tell_the_time_left(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter(range(100))
    monkeypatch.setattr(console.time, "monotonic", lambda: float(next(clock)))
    *lines, _ = shown(terminal=False, total=12).splitlines()
    assert [line.split()[1] for line in lines] == ["5/12", "10/12", "12/12"]
    assert lines[0].endswith("it/s 1  7 s left")
    assert lines[-1].endswith("12 s")


def test_the_rate_of_a_resumed_run_counts_new_steps_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter(range(100))
    monkeypatch.setattr(console.time, "monotonic", lambda: float(next(clock)))
    line, _ = shown(terminal=False, total=12, completed=9).splitlines()
    assert line == "training  12/12  loss 1.5  it/s 1  3 s"


def test_quiet() -> None:
    assert shown(terminal=True, quiet=True) == ""
    assert shown(terminal=False, quiet=True) == ""
