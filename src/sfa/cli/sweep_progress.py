"""How far a search, or the report on it, has come."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import ExitStack
from types import TracebackType

from sfa.ledger import Entry
from sfa.run.display import Display, Tracker
from sfa.studies import Cell, Watcher, duration
from sfa.sweep import Record, Search, SearchWatcher


class SearchProgress(SearchWatcher):
    """A bar, or a line every few seconds, while a trial goes on, and a line when it ends.

    Args:
        display: Where.
        search: Which.
        records: Trials that are there already.
        total: Trials of each arm that there are to be.
    """

    def __init__(self, display: Display, search: Search, records: Sequence[Record], total: int) -> None:
        self.display, self.search, self.total = display, search, total
        self.ended = sum(record.state != "running" for record in records)
        self.here = 0
        self.tracker: Tracker | None = None
        self.started = time.monotonic()
        self.shown = ExitStack()

    def __enter__(self) -> SearchProgress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.shown.close()

    def trial_begins(self, arm: str, number: int) -> None:
        self.title = f"{arm}{arm and ' '}trial {number}"

    def begin(self, cell: Cell) -> None:
        self.shown.close()
        seeds = len(self.search.settings.seeds)
        title = self.title if seeds == 1 else f"{self.title} seed {cell.variant.seed}"
        self.tracker = self.shown.enter_context(self.display.progress(title, cell.epochs))

    def step(self, epochs: float, loss: float | None) -> None:
        _show(self.tracker, epochs, loss)

    def trial_ends(self, record: Record, best: Record | None) -> None:
        self.shown.close()
        self.ended, self.here = self.ended + 1, self.here + 1
        all_in_all = max(self.ended, self.total * len(self.search.arms))
        left = (all_in_all - self.ended) * (time.monotonic() - self.started) / self.here
        told = {
            "failed": f"failed: {record.failure}",
            "pruned": "given up",
            "done": f"validation {record.value:.2f}" if record.value is not None else "",
        }
        parts = [f"{self.ended}/{all_in_all}  {self.title}: {told.get(record.state, record.state)}"]
        parts += [] if best is None else [f"best {best.value:.2f} (trial {best.number})"]
        parts += [f"about {duration(left)} left"] if self.ended < all_in_all else []
        self.display.say("  ".join(parts))


class ReportProgress(Watcher):
    """The same for the runs of a report.

    Args:
        display: Where.
        total: Runs.
    """

    def __init__(self, display: Display, total: int) -> None:
        self.display, self.total, self.ended = display, total, 0
        self.shown = ExitStack()
        self.tracker: Tracker | None = None

    def __enter__(self) -> ReportProgress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.shown.close()

    def begin(self, cell: Cell) -> None:
        self.tracker = self.shown.enter_context(self.display.progress(f"seed {cell.variant.seed}", cell.epochs))

    def step(self, epochs: float, loss: float | None) -> None:
        _show(self.tracker, epochs, loss)

    def end(self, cell: Cell, entry: Entry, *, measured: bool) -> None:
        self.shown.close()
        self.ended += 1
        if measured:
            self.display.say(f"{self.ended}/{self.total}  {cell.title}: {entry.failure or 'done'}")


def _show(tracker: Tracker | None, epochs: float, loss: float | None) -> None:
    if tracker is not None and loss is not None:
        tracker.step(epochs, loss=loss)
