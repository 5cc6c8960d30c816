"""A study run to its end: what the ledger lacks is measured, and whatever stops it, it goes on from there."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from functools import partial
from pathlib import Path

import torch
from torch_geometric.data import Data

from sfa.errors import sentence_of
from sfa.evaluate import Score
from sfa.ledger import Entry, Ledger
from sfa.recipes.identity import recipe_hash
from sfa.studies.lock import locked
from sfa.studies.measure import Measured, measure
from sfa.studies.plan import Cell, Dataset, Job, Plan
from sfa.studies.study import RUN_TIME
from sfa.studies.timing import TURNS, epochs_of_a_turn, seconds_by_turns
from sfa.train import Interrupted, LambdaCallback, make_fabric, versions

KEEP = "keep"
"""A file in a cell's run folder which says that it stays."""


class Watcher:
    """Is told how a study goes; this one takes no notice."""

    def begin(self, cell: Cell) -> None:
        """A cell, or the first of those measured by turns, is taken up."""

    def step(self, epochs: float, loss: float | None) -> None:
        """So many epochs of it are done."""

    def end(self, cell: Cell, entry: Entry, *, measured: bool) -> None:
        """The ledger has it, measured now or before."""

    def wait(self, cell: Cell) -> None:
        """Another process is at it, and nothing else is left to do."""


@dataclass
class Runner:
    """Runs plans on one ledger.

    Args:
        ledger: What is there already, and where the rest goes.
        device: Where methods are trained.
        keep_runs: Leave the run folders of finished cells; else they are removed once their rows are in.
        retry_failed: Measure anew, from the first epoch, what failed before.
        strict: Raise what makes a cell fail, instead of entering it and going on.
        watcher: Is told how it goes.
    """

    ledger: Ledger
    device: str = "auto"
    keep_runs: bool = False
    retry_failed: bool = False
    strict: bool = False
    watcher: Watcher = field(default_factory=Watcher)
    failures: dict[str, str] = field(default_factory=dict, init=False)
    """Why cells failed, now or before, by their titles."""
    _loaded: tuple[Dataset, Data] | None = field(default=None, init=False, repr=False)

    def run(self, plan: Plan) -> None:
        """Measure what is missing. A cell that another process is at is left to it, and waited for at the end."""
        cells_folder(self.ledger.path).mkdir(parents=True, exist_ok=True)
        left = [job for job in plan.jobs if not self._settle(job, plan, wait=False)]
        for job in left:
            self.watcher.wait(job[0])
            self._settle(job, plan, wait=True)

    def _settle(self, job: Job, plan: Plan, *, wait: bool) -> bool:
        """See that the ledger has a job; ``False`` if another process is at it and there is to be no waiting."""
        folder = cells_folder(self.ledger.path) / job[0].key
        with locked(folder.with_suffix(".lock"), wait=wait) as ours:
            entries = [self.ledger.get(cell.key) for cell in job]
            to_do = list(
                dict.fromkeys(
                    name
                    for cell, entry in zip(job, entries, strict=True)
                    for name in missing_protocols(cell, entry, plan.protocols, retry_failed=self.retry_failed)
                )
            )
            if to_do and not ours:
                return False
            if to_do:
                if any(entry is not None and entry.failure is not None for entry in entries):
                    shutil.rmtree(folder, ignore_errors=True)
                self.watcher.begin(job[0])
                measured = self._measure(job, to_do, folder)
                held = self.ledger.add_all(list(map(partial(self._entry, plan), job, measured)))
                # A run that is in stays as it is, whatever came of scoring it again; but that is not passed over.
                held = [
                    replace(entry, failure=values.get("failure")) for entry, values in zip(held, measured, strict=True)
                ]
            else:
                held = [self._label(cell, plan) for cell in job]
            if ours and held[0].failure is None:
                self._tidy(folder)
        for cell, entry in zip(job, held, strict=True):
            if entry.failure is not None:
                self.failures[cell.title] = entry.failure
            self.watcher.end(cell, entry, measured=bool(to_do))
        return True

    def _measure(self, job: Job, protocols: Sequence[str], folder: Path) -> list[Measured]:
        """What came of each cell; of one that fails, why."""
        graph = self._graph(job[0].dataset)
        try:
            if job[0].variant.kind == "timed":
                return self._time(job, graph)
            return [
                measure(
                    job[0],
                    graph,
                    [job[0].dataset.protocol(name) for name in protocols],
                    path=folder,
                    device=self.device,
                    callbacks=[
                        LambdaCallback(on_step_end=lambda state: self.watcher.step(state.epochs_done, state.loss))
                    ],
                )
            ]
        except Interrupted as error:
            done = str(error).partition(";")[0]
            raise Interrupted(f"{job[0].title}: {done}; the same command goes on from there.") from error
        except Exception as error:
            if self.strict or _is_the_disks(error):
                raise
            return [{"failure": sentence_of(error)}] * len(job)

    def _time(self, job: Job, graph: Data) -> list[Measured]:
        done = [0]

        def on_turn(place: int, epochs: int) -> None:
            done[0] += epochs
            self.watcher.step(done[0] / len(job), None)

        recipes = [cell.variant.recipe for cell in job]
        measured = []
        for recipe, seconds in zip(
            recipes, seconds_by_turns(recipes, graph, device=self.device, on_turn=on_turn), strict=True
        ):
            epochs, mean = TURNS * epochs_of_a_turn(recipe), sum(seconds) / TURNS
            cost = {"epochs": epochs, "train_seconds": mean * epochs, "seconds_per_epoch": mean}
            measured.append({**cost, "scores": (Score("epochs", RUN_TIME, {"seconds per epoch": tuple(seconds)}),)})
        return measured

    def _entry(self, plan: Plan, cell: Cell, measured: Measured) -> Entry:
        variant = cell.variant
        has_method = variant.kind in ("trained", "timed", "untrained encoder")
        return Entry(
            key=cell.key,
            kind=variant.kind,
            dataset=cell.dataset.name,
            method=variant.recipe.method["name"] if has_method else None,
            spectral=variant.recipe.spectral_name if cell.epochs else None,
            recipe=dict(cell.identity),
            recipe_hash=recipe_hash(cell.identity),
            fingerprint=cell.dataset.fingerprint,
            seed=variant.seed,
            versions=versions(),
            device=str(make_fabric(self.device).device),
            threads=torch.get_num_threads(),
            created=datetime.now(timezone.utc).isoformat(timespec="milliseconds"),
            labels=((plan.study.name, variant.label),),
            **measured,
        )

    def _label(self, cell: Cell, plan: Plan) -> Entry:
        (entry,) = self.ledger.select(keys=[cell.key])
        if (plan.study.name, cell.variant.label) not in entry.labels:
            self.ledger.label(cell.key, plan.study.name, cell.variant.label)
            (entry,) = self.ledger.select(keys=[cell.key])
        return entry

    def _tidy(self, folder: Path) -> None:
        """Remove the run folder of a cell that is in the ledger, unless it was to be kept, now or then."""
        if self.keep_runs and folder.exists():
            (folder / KEEP).touch()
        elif not (folder / KEEP).exists():
            shutil.rmtree(folder, ignore_errors=True)

    def _graph(self, dataset: Dataset) -> Data:
        if self._loaded is None or self._loaded[0] is not dataset:
            self._loaded = None  # let go of the one before first
            self._loaded = (dataset, dataset.load())
        return self._loaded[1]


def cells_folder(ledger: Path) -> Path:
    """Where the cells of the ledger in this file are trained, each in a run folder named by its key."""
    return ledger.parent / "cells"


def missing_protocols(
    cell: Cell, entry: Entry | None, protocols: Sequence[str], *, retry_failed: bool = False
) -> Sequence[str]:
    """Those under which a run is still to be scored; none, if it failed and that is to be left so."""
    if entry is None or (entry.failure is not None and retry_failed):
        return protocols
    if entry.failure is not None:
        return ()
    return [name for name in protocols if entry.score_under(name, cell.dataset.digest(name)) is None]


def _is_the_disks(error: Exception) -> bool:
    """Whether an error would meet every other cell too: no fault of this one."""
    return isinstance(error, OSError) or isinstance(error.__cause__, OSError)
