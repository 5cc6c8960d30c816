"""A plan that is run in no time, made in whichever process."""

from __future__ import annotations

import os
import signal
from dataclasses import fields
from pathlib import Path
from typing import Any

from sfa.data import load
from sfa.paper.plans import Cell, Dataset, Plan, make_plan
from sfa.paper.results import Ledger
from sfa.paper.results_files import Entry
from sfa.paper.runner import Runner, Watcher
from sfa.registry import resolve

TINY = {"method.hidden": 8, "method.projection": 8, "training.epochs": 6, "training.checkpoint_every": 2}
MEASURED_IN_SECONDS = ("created", "train_seconds", "seconds_per_epoch", "evaluate_seconds", "peak_memory")


def tiny_plan(
    study: str, data: Path, *, seeds: tuple[int, ...] = (0,), changes: dict[str, Any] | None = None, **options: Any
) -> Plan:
    """Of a study on the graph in a file."""
    dataset = Dataset.of(lambda: load(data), {"data": str(data)})
    changes = TINY if changes is None else {**TINY, **changes}
    return make_plan(resolve("study", study), [dataset], seeds, changes=changes, **options)


def shortened(plan: Plan, count: int) -> Plan:
    """Its first cells."""
    return Plan(plan.study, plan.protocols, plan.jobs[:count])


def results(ledger: Ledger) -> list[dict[str, Any]]:
    """All that a ledger holds but for times, in the order of keys."""
    kept = [field.name for field in fields(Entry) if field.name not in MEASURED_IN_SECONDS]
    return [
        {name: getattr(entry, name) for name in kept} for entry in sorted(ledger.select(), key=lambda entry: entry.key)
    ]


class Recorder(Watcher):
    """Remembers what it was told."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self.epochs: list[list[float]] = []
        self.ended: list[tuple[str, bool]] = []
        self.waited: list[str] = []

    def begin(self, cell: Cell) -> None:
        self.begun.append(cell.variant.label)
        self.epochs.append([])

    def step(self, epochs: float, loss: float | None) -> None:
        self.epochs[-1].append(epochs)

    def end(self, cell: Cell, entry: Entry, *, measured: bool) -> None:
        self.ended.append((cell.variant.label, measured))

    def wait(self, cell: Cell) -> None:
        self.waited.append(cell.variant.label)


def run_until_killed(data: Path, path: Path, where: str) -> None:
    """Run a study of two cells and be killed (kill -9) on the way."""

    def die(*_: Any, **__: Any) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    class Killer(Recorder):
        def step(self, epochs: float, loss: float | None) -> None:
            super().step(epochs, loss)
            if where == "in the second cell" and len(self.begun) == 2 and epochs == 5:
                die()

    if where == "before scoring":
        import sfa.paper.measure

        sfa.paper.measure._score = die  # type: ignore[assignment]
    elif where == "before the row is in":
        Ledger.add_all = die  # type: ignore[method-assign,assignment]
    elif where == "before the folder is removed":
        Runner._tidy = die  # type: ignore[method-assign]
    elif where == "while the folder is made":
        from sfa.train import run_folder

        write = run_folder.write_text

        def die_after_the_recipe(path: Path, text: str) -> None:
            if path.name == "run.json":
                die()
            write(path, text)

        run_folder.write_text = die_after_the_recipe
    elif where == "between cells":
        settle = Runner._settle

        def die_at_the_second(self: Runner, job: Any, plan: Plan, *, wait: bool) -> bool:
            if job == plan.jobs[1]:
                die()
            return settle(self, job, plan, wait=wait)

        Runner._settle = die_at_the_second  # type: ignore[method-assign]
    with Ledger(path, create=True) as ledger:
        Runner(ledger, device="cpu", watcher=Killer()).run(shortened(tiny_plan("iterations", data), 2))


def run_plan(data: Path, path: Path, count: int) -> None:
    """Run the first cells of a study."""
    with Ledger(path, create=True) as ledger:
        Runner(ledger, device="cpu").run(shortened(tiny_plan("iterations", data), count))
