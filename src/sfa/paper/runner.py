"""A plan run to its end: what the results lack is measured, and whatever stops it, it goes on from there."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from pathlib import Path

import torch
from torch_geometric.data import Data

from sfa.atomic import locked
from sfa.errors import sentence_of
from sfa.paper.cells import Cell, Dataset, Job, Plan
from sfa.paper.entry import Entry
from sfa.paper.measure import Measured, measure, measure_times
from sfa.paper.results import Ledger
from sfa.run.identity import recipe_hash
from sfa.train import Interrupted, LambdaCallback, make_fabric, versions

KEEP = "keep"
"""A file in a cell's run folder which says that it stays."""


class Watcher:
    """Is told how a plan goes; this one takes no notice."""

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
            to_do = {
                name: None
                for cell, entry in zip(job, entries, strict=True)
                for name in missing_protocols(cell, entry, plan.protocols, retry_failed=self.retry_failed)
            }
            if to_do and not ours:
                return False
            if to_do:
                if any(entry is not None and entry.failure is not None for entry in entries):
                    shutil.rmtree(folder, ignore_errors=True)
                self.watcher.begin(job[0])
                measured = self._measure(job, list(to_do), folder)
                new = [self._entry(plan.study, cell, values) for cell, values in zip(job, measured, strict=True)]
                # A run that is in stays as it is, whatever came of scoring it again; but that is not passed over.
                held = [
                    replace(entry, failure=values.get("failure"))
                    for entry, values in zip(self.ledger.add_all(new), measured, strict=True)
                ]
            else:
                held = [self._label(cell, plan.study) for cell in job]
            if ours and held[0].failure is None:
                self._tidy(folder)
        for cell, entry in zip(job, held, strict=True):
            if entry.failure is not None:
                self.failures[cell.title] = entry.failure
            self.watcher.end(cell, entry, measured=bool(to_do))
        return True

    def _measure(self, job: Job, protocols: Sequence[str], folder: Path) -> list[Measured]:
        """Return what came of each cell; of one that fails, why."""
        dataset = job[0].dataset
        if self._loaded is None or self._loaded[0] is not dataset:
            self._loaded = None  # let go of the one before first
            self._loaded = (dataset, dataset.load())
        graph, device, watcher = self._loaded[1], self.device, self.watcher
        try:
            if job[0].variant.kind == "timed":
                recipes = [cell.variant.recipe for cell in job]
                return measure_times(recipes, graph, device=device, on_turn=lambda epochs: watcher.step(epochs, None))
            on_step = LambdaCallback(on_step_end=lambda state: watcher.step(state.epochs_done, state.loss))
            named = [dataset.protocol(name) for name in protocols]
            return [measure(job[0], graph, named, path=folder, device=device, callbacks=[on_step])]
        except Interrupted as error:
            done = str(error).partition(";")[0]
            raise Interrupted(f"{job[0].title}: {done}; the same command goes on from there.") from error
        except Exception as error:
            # The disk's errors would meet every other cell too: no fault of this one.
            if self.strict or isinstance(error, OSError) or isinstance(error.__cause__, OSError):
                raise
            return [{"failure": sentence_of(error)}] * len(job)

    def _entry(self, study: str, cell: Cell, measured: Measured) -> Entry:
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
            labels=((study, variant.label),),
            **measured,
        )

    def _label(self, cell: Cell, study: str) -> Entry:
        """Return what the ledger has of a cell, labeled as this study's."""
        (entry,) = self.ledger.select(keys=[cell.key])
        if (study, cell.variant.label) not in entry.labels:
            self.ledger.label(cell.key, study, cell.variant.label)
            (entry,) = self.ledger.select(keys=[cell.key])
        return entry

    def _tidy(self, folder: Path) -> None:
        """Remove the run folder of a cell that is in the ledger, unless it was to be kept, now or then."""
        if self.keep_runs and folder.exists():
            (folder / KEEP).touch()
        elif not (folder / KEEP).exists():
            shutil.rmtree(folder, ignore_errors=True)


def cells_folder(ledger: Path) -> Path:
    """Return where the cells of the ledger in this file are trained, each in a run folder named by its key."""
    return ledger.parent / "cells"


def missing_protocols(
    cell: Cell, entry: Entry | None, protocols: Sequence[str], *, retry_failed: bool = False
) -> Sequence[str]:
    """Return those under which a run is still to be scored; none, if it failed and that is to be left so."""
    if entry is None or (entry.failure is not None and retry_failed):
        return protocols
    if entry.failure is not None:
        return ()
    return [name for name in protocols if entry.score_under(name, cell.dataset.digest(name)) is None]
