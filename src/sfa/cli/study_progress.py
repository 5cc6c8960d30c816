"""How far a study has come: cells done, the one at hand, the time left."""

from __future__ import annotations

import time
from collections.abc import Sequence
from types import TracebackType

from rich import progress as bars

from sfa.evaluate import Score
from sfa.ledger import Entry, mean_and_std
from sfa.run import display as console
from sfa.run.display import Display
from sfa.studies import Cell, Estimator, Plan, Watcher


class Progress(Watcher):
    """A live bar over all cells on a terminal, a line every few seconds elsewhere, and a line for each cell measured.

    Args:
        display: Where.
        plan: The study.
        to_do: The cells that are to be measured.
        estimator: What is known of the time that cells take.
    """

    def __init__(self, display: Display, plan: Plan, to_do: Sequence[Cell], estimator: Estimator) -> None:
        self.display, self.estimator = display, estimator
        self.title, self.total = plan.study.name, len(plan.cells)
        self.left = {cell.key: cell for cell in to_do}
        self.done = 0
        self.shown = time.monotonic()
        self.bar = bars.Progress(
            bars.TextColumn("{task.description}"),
            bars.BarColumn(),
            bars.TextColumn("{task.fields[note]}"),
            console=display.console,
            disable=not display.console.is_terminal,
        )
        self.task = self.bar.add_task(self.title, total=self.total, note="")

    def __enter__(self) -> Progress:
        self.bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.bar.stop()

    def begin(self, cell: Cell) -> None:
        self.cell, self.begun = cell, time.monotonic()
        self._show(cell.title, 0.0, cell)

    def step(self, epochs: float, loss: float | None) -> None:
        notes = [self.cell.title, f"epoch {epochs:.4g}/{self.cell.epochs}"]
        notes += [] if loss is None else [f"loss {loss:.4g}"]
        self._show("  ".join(notes), epochs, self.cell)

    def end(self, cell: Cell, entry: Entry, *, measured: bool) -> None:
        self.done += 1
        self.left.pop(cell.key, None)
        if measured:
            self.estimator.learn(entry)
            outcome = "failed: " + entry.failure if entry.failure else "; ".join(map(_told, entry.scores))
            self.display.say(f"{self.done}/{self.total}  {cell.title}: {outcome}")
        self.bar.update(self.task, completed=self.done)

    def wait(self, cell: Cell) -> None:
        self.display.say(f"{cell.title}: waiting for the process that is at it.")

    def _show(self, text: str, epochs: float, cell: Cell) -> None:
        if not self.display.console.is_terminal:
            now = time.monotonic()
            if now - self.shown < console.PLAIN_INTERVAL:
                return
            self.shown = now
        left = self.estimator.total(self.left.values(), {cell.key: epochs})
        notes = [f"{self.done}/{self.total}", text, *([] if left is None else [f"{left} left"])]
        if self.display.console.is_terminal:
            share = epochs / cell.epochs if cell.epochs else 0.0
            self.bar.update(self.task, completed=self.done + min(share, 1.0), note="  ".join(notes))
        else:
            self.display.say("  ".join([self.title, *notes]))


def _told(score: Score) -> str:
    splits = len(score.of())
    return f"{score.main} {mean_and_std(score.mean(), score.std() if splits > 1 else None)}"
