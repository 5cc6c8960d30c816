"""Messages, progress and results: a live bar on a terminal, plain lines elsewhere, nothing when quiet."""

from __future__ import annotations

import os
import sys
import time
import webbrowser
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

PLAIN_INTERVAL = 5.0
"""Seconds between two lines when the output is not a terminal."""
PLAIN_WIDTH = 220
"""Columns of tables when the output is not a terminal, so that no path is cut."""


def results_console() -> Console:
    """Return standard output, for results."""
    console = Console(highlight=False, soft_wrap=True)
    return console if console.is_terminal else Console(highlight=False, soft_wrap=True, width=PLAIN_WIDTH)


def counted(number: int, what: str) -> str:
    """Return ``1 image``, ``2 images``."""
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


class Display:
    """Messages and progress on standard error; results are printed elsewhere, so that they can be piped."""

    def __init__(self, quiet: bool = False) -> None:
        self.console = Console(stderr=True, quiet=quiet, highlight=False)

    def say(self, message: str) -> None:
        """Print a line of information."""
        self.console.print(message, soft_wrap=True, markup=False)

    @contextmanager
    def progress(self, title: str, total: int) -> Iterator[Tracker]:
        """Track ``total`` steps."""
        if not (self.console.is_terminal or self.console.is_jupyter):
            yield LineTracker(total, title, self)
            return
        with Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[note]}"),
            TimeRemainingColumn(elapsed_when_finished=True),
            console=self.console,
        ) as bar:
            yield BarTracker(total, title, bar)

    @contextmanager
    def counting(self, title: str) -> Iterator[Callable[[int, int], None]]:
        """Return what is told how many things are done, and of how many; nothing is shown before it is."""
        with ExitStack() as stack:
            trackers: list[Tracker] = []

            def count(done: int, total: int) -> None:
                if not trackers:
                    trackers.append(stack.enter_context(self.progress(title, total)))
                trackers[0].step(done)

            yield count


def display_of(progress: bool | Display) -> Display:
    """Return the display that ``progress`` asks for: a silent one by default."""
    return progress if isinstance(progress, Display) else Display(quiet=not progress)


def open_page(path: Path, display: Display) -> None:
    """Open a file in the browser; where nobody could see it, say so."""
    if not _somebody_is_there() or not webbrowser.open(path.resolve().as_uri()):
        display.say(f"--open: there is no browser here to show it; open {path} in one.")


def _somebody_is_there() -> bool:
    """Tell whether a person sits at a terminal with windows: a browser of text would take over the terminal."""
    has_windows = sys.platform in ("darwin", "win32") or any(os.environ.get(v) for v in ("DISPLAY", "WAYLAND_DISPLAY"))
    return sys.stderr.isatty() and has_windows


class Tracker(ABC):
    """Receives steps and shows how it goes. Work that goes on from the middle starts with a later step."""

    def __init__(self, total: int) -> None:
        self.total = total
        self.done = 0.0
        self.begun_at: float | None = None
        self.started = time.monotonic()

    def step(self, done: float | None = None, *, of: int = 1, **values: float) -> None:
        """Count one more step, or so many in all, with some numbers worth showing; it may be one part ``of`` some."""
        self.done = self.done + 1 / of if done is None else done
        if self.begun_at is None:
            self.begun_at = self.done - 1 / of
        rate = (self.done - self.begun_at) / max(1e-9, time.monotonic() - self.started)
        self.show([*(f"{name} {value:.4g}" for name, value in values.items()), f"{rate:.3g}/s"], rate)

    @abstractmethod
    def show(self, notes: list[str], rate: float) -> None:
        """Show the step just done."""


class BarTracker(Tracker):
    """A live bar."""

    def __init__(self, total: int, title: str, bar: Progress) -> None:
        super().__init__(total)
        self.bar = bar
        self.task = bar.add_task(title, total=total, note="")

    def show(self, notes: list[str], rate: float) -> None:
        self.bar.update(self.task, completed=self.done, note="  ".join(notes))


class LineTracker(Tracker):
    """A line every few seconds and at the end."""

    def __init__(self, total: int, title: str, display: Display) -> None:
        super().__init__(total)
        self.title, self.display = title, display
        self.shown = self.started

    def show(self, notes: list[str], rate: float) -> None:
        now = time.monotonic()
        if self.done < self.total and now - self.shown < PLAIN_INTERVAL:
            return
        self.shown = now
        left = (self.total - self.done) / rate
        notes.append(f"{left:.0f} s left" if self.done < self.total else f"{now - self.started:.0f} s")
        self.display.say("  ".join([self.title, f"{self.done:.4g}/{self.total}", *notes]))
