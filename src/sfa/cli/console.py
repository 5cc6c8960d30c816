"""What is shown while work goes on: a live bar on a terminal, plain lines elsewhere, nothing when quiet."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

PLAIN_INTERVAL = 5.0
"""Seconds between two lines when the output is not a terminal."""


class Display:
    """Messages and progress on standard error; results are printed elsewhere, so that they can be piped."""

    def __init__(self, quiet: bool = False) -> None:
        self.console = Console(stderr=True, quiet=quiet, highlight=False)

    def say(self, message: str) -> None:
        """A line of information."""
        self.console.print(message, soft_wrap=True, markup=False)

    @contextmanager
    def progress(self, title: str, total: int, completed: int = 0) -> Iterator[Tracker]:
        """A tracker of ``total`` steps, of which some may be done already."""
        if self.console.quiet:
            yield Tracker()
        elif self.console.is_terminal:
            with Progress(
                TextColumn("{task.description}"),
                BarColumn(),
                MofNCompleteColumn(),
                TextColumn("{task.fields[note]}"),
                TimeRemainingColumn(elapsed_when_finished=True),
                console=self.console,
            ) as bar:
                yield BarTracker(bar, title, total, completed)
        else:
            yield LineTracker(self, title, total, completed)


class Tracker:
    """Receives steps; this one shows nothing."""

    def step(self, **values: float) -> None:
        """One more step is done, with some numbers worth showing."""


class BarTracker(Tracker):
    """A live bar."""

    def __init__(self, bar: Progress, title: str, total: int, completed: int) -> None:
        self.bar = bar
        self.started, self.before, self.done = time.monotonic(), completed, completed
        self.task = bar.add_task(title, total=total, completed=completed, note="")

    def step(self, **values: float) -> None:
        self.done += 1
        rate = (self.done - self.before) / max(1e-9, time.monotonic() - self.started)
        self.bar.update(self.task, advance=1, note=_note({**values, "it/s": rate}))


class LineTracker(Tracker):
    """A line at the start, at the end, and every few seconds."""

    def __init__(self, display: Display, title: str, total: int, completed: int) -> None:
        self.display, self.title, self.total = display, title, total
        self.done, self.before = completed, completed
        self.started = self.last = time.monotonic()

    def step(self, **values: float) -> None:
        self.done += 1
        now = time.monotonic()
        if self.done < self.total and now - self.last < PLAIN_INTERVAL:
            return
        self.last = now
        rate = (self.done - self.before) / max(1e-9, now - self.started)
        left = (
            f"{(self.total - self.done) / rate:.0f} s left" if self.done < self.total else f"{now - self.started:.0f} s"
        )
        self.display.say(f"{self.title}  {self.done}/{self.total}  {_note({**values, 'it/s': rate})}  {left}")


def _note(values: dict[str, float]) -> str:
    return "  ".join(f"{name} {value:.4g}" for name, value in values.items())
