"""Show messages, progress and results: a live bar on a terminal, plain lines elsewhere, nothing when quiet."""

from __future__ import annotations

import io
import math
import os
import sys
import time
import webbrowser
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import cache
from html import escape
from pathlib import Path
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

PLAIN_INTERVAL = 5.0  # seconds between two lines when the output is not a terminal
PLAIN_WIDTH = 220  # columns of tables when the output is not a terminal; no path is cut


def results_console() -> Console:
    """Return a console on standard output, for results."""
    console = Console(highlight=False, markup=False, soft_wrap=True)
    if not console.is_terminal:
        console.width = PLAIN_WIDTH
    return console


def counted(number: int, what: str) -> str:
    """Return ``1 image``, ``2 images``."""
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


class Display:
    """Print messages and progress to standard error; results go to standard output, so that they can be piped."""

    def __init__(self, quiet: bool = False) -> None:
        self.console = Console(stderr=True, quiet=quiet, highlight=False)

    def say(self, message: str) -> None:
        """Print a line of information."""
        self.console.print(message, soft_wrap=True, markup=False)

    @contextmanager
    def progress(self, title: str, total: int) -> Iterator[Tracker]:
        """Track ``total`` steps."""
        if not (self.console.is_terminal or self.console.is_jupyter):
            yield Tracker(title, total, self)
            return
        remaining = TimeRemainingColumn(elapsed_when_finished=True)
        columns = ("{task.description}", BarColumn(), MofNCompleteColumn(), "{task.fields[note]}", remaining)
        with Progress(*columns, console=self.console) as bar:
            yield Tracker(title, total, self, bar)

    @contextmanager
    def counting(self, title: str) -> Iterator[Callable[[int, int], None]]:
        """Return a function ``(done, total)`` that shows progress from its first call on."""
        with ExitStack() as stack:
            tracker = cache(lambda total: stack.enter_context(self.progress(title, total)))
            yield lambda done, total: tracker(total).step(done)


def display_of(progress: bool | Display) -> Display:
    """Return the display that ``progress`` asks for: a silent one by default."""
    return progress if isinstance(progress, Display) else Display(quiet=not progress)


def open_page(path: Path, display: Display) -> None:
    """Open a file in the browser; say so where there is none."""
    if not _somebody_is_there() or not webbrowser.open(path.resolve().as_uri()):
        display.say(f"--open: there is no browser here to show it; open {path} in one.")


def _somebody_is_there() -> bool:
    """Tell whether this is a terminal in a graphical session: a text browser would take over the terminal."""
    has_windows = sys.platform in ("darwin", "win32") or any(os.environ.get(v) for v in ("DISPLAY", "WAYLAND_DISPLAY"))
    return sys.stderr.isatty() and has_windows


class Tracker:
    """Count steps, and show them on a bar, or in a line every few seconds. Resumed work starts with a later step."""

    def __init__(self, title: str, total: int, display: Display, bar: Progress | None = None) -> None:
        self.title, self.total, self.display, self.bar = title, total, display, bar
        self.done = 0.0
        self.begun_at: float | None = None
        self.restart()
        if bar is not None:
            bar.add_task(title, total=total, note="")

    def restart(self) -> None:
        """Measure the rate from now on."""
        self.started = self.shown = time.monotonic()

    def step(self, done: float | None = None, *, of: int = 1, **values: float) -> None:
        """Count one step more, or one part ``of`` some, or set the number of steps done; ``values`` are shown."""
        self.done = self.done + 1 / of if done is None else done
        if self.begun_at is None:
            self.begun_at = self.done - 1 / of
        now = time.monotonic()
        rate = (self.done - self.begun_at) / max(1e-9, now - self.started)
        notes = [f"{name} {value:.4g}" for name, value in values.items()]
        if of > 1 and rate * PLAIN_INTERVAL < 1:  # epochs are long
            before, step = divmod(round(self.done * of) - 1, of)
            place, between = f"epoch {before + 1}/{self.total}, step {step + 1}/{of}", ", "
            notes.append(f"{rate * of:.3g} steps/s")
        else:
            place, between = f"{self.done:.4g}/{self.total}", "  "
            notes.append(f"{rate:.3g}/s")
        if self.bar is not None:
            shown = [place, *notes] if between == ", " else notes
            self.bar.update(self.bar.task_ids[0], completed=self.done, note=between.join(shown))
        elif self.done >= self.total or now - self.shown >= PLAIN_INTERVAL:
            self.shown, left = now, (self.total - self.done) / rate
            notes.append(f"{rounded(left)} left" if self.done < self.total else rounded(now - self.started))
            self.display.say(f"{self.title}  {between.join([place, *notes])}")


def rounded(seconds: float) -> str:
    """Return a duration in the largest unit that it has two of.

    >>> rounded(119), rounded(170), rounded(8000)
    ('119 s', '3 min', '2 h')
    """
    unit, size = next((pair for pair in (("h", 3600), ("min", 60)) if seconds >= 2 * pair[1]), ("s", 1))
    return f"{seconds / size:.0f} {unit}"


Rows = Sequence[Sequence[str]]


def make_table(headings: Sequence[str], rows: Rows, texts: int = 1, **options: Any) -> Table:
    """Return a table for a terminal, whose first ``texts`` columns are text."""
    table = Table(**options)
    for number, heading in enumerate(headings):
        table.add_column(heading, justify="left" if number < texts else "right")
    for row in rows:
        table.add_row(*map(Text, row))
    return table


class Shown(ABC):
    """A result that is shown as a table, whose first ``texts`` columns are text, and some sentences."""

    texts = 1

    @abstractmethod
    def table(self) -> tuple[Sequence[str], Rows]:
        """Return the headings of the table, and its rows."""

    def notes(self) -> list[str]:
        """Return the sentences that go with the table."""
        return []

    def rich_table(self, console: Console) -> Table:
        """Return the table for a terminal."""
        return make_table(*self.table(), self.texts)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        yield self.rich_table(console)
        yield from map(Text, self.notes())

    def __repr__(self) -> str:
        console = Console(width=PLAIN_WIDTH, file=io.StringIO(), highlight=False, color_system=None)
        with console.capture() as captured:
            console.print(self, soft_wrap=True)
        return captured.get().rstrip()

    def _repr_html_(self) -> str:
        import pandas as pd

        headings, rows = self.table()
        table = pd.DataFrame([list(row) for row in rows], columns=list(headings)).to_html(index=False, border=0)
        return str(table) + "".join(f"<p>{escape(note)}</p>" for note in self.notes())


def loss_curve(points: Sequence[tuple[int, float]]) -> str:
    """Draw the loss by epochs as an inline SVG; return nothing if there are fewer than two finite losses."""
    points = [(x, y) for x, y in points if math.isfinite(y)]
    if len(points) < 2:
        return ""
    (left, right), (low, high) = ((min(values), max(values)) for values in zip(*points, strict=True))
    across, up = 352 / ((right - left) or 1), 96 / ((high - low) or 1)
    path = " ".join(f"{4 + (x - left) * across:.1f},{4 + (high - y) * up:.1f}" for x, y in points)
    return (
        '<svg viewBox="0 0 360 120" width="360" height="120" role="img" aria-label="loss by epochs">'
        f'<polyline points="{path}" fill="none" stroke="#2a78d6" stroke-width="1.5"/>'
        '<text x="4" y="114" font-size="11" fill="currentColor">'
        f"loss {high:.4g} to {low:.4g}, epochs {left:g} to {right:g}</text></svg>"
    )
