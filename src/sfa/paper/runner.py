"""Run a plan: measure the runs that the results lack, and go on from there after an interruption."""

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from itertools import chain
from pathlib import Path

import torch
from torch_geometric.data import Data

from sfa.atomic import locked
from sfa.errors import sentence_of
from sfa.paper.measure import Measured, measure, measure_times
from sfa.paper.plans import Cell, Dataset, Job, Plan
from sfa.paper.results import Ledger
from sfa.paper.results_files import Entry
from sfa.registry import resolve
from sfa.run.identity import recipe_hash
from sfa.train import Interrupted, LambdaCallback, make_fabric, versions

KEEP = "keep"  # name of a file in the run folder of a cell that is not to be removed


class Watcher:
    """Callbacks on the progress of a plan; these do nothing."""

    def begin(self, cell: Cell) -> None:
        """Note that a cell, or the first of those that are timed together, is begun."""

    def step(self, epochs: float, loss: float | None) -> None:
        """Note how many epochs of it are done."""

    def end(self, cell: Cell, entry: Entry, *, measured: bool) -> None:
        """Note that the ledger has it, measured now or before."""

    def wait(self, cell: Cell) -> None:
        """Note that another process measures it, and nothing else is left to do."""


@dataclass
class Runner:
    """Run plans, and add the results to a ledger."""

    ledger: Ledger
    device: str = "auto"
    keep_runs: bool = False  # also the run folders of finished cells
    retry_failed: bool = False  # from the first epoch
    strict: bool = False  # raise errors of a cell, instead of entering it as failed
    watcher: Watcher = field(default_factory=Watcher)
    failures: dict[str, str] = field(default_factory=dict, init=False)  # now or before, by the titles of cells
    _loaded: tuple[Dataset, Data] | None = field(default=None, init=False, repr=False)

    def run(self, plan: Plan) -> None:
        """Measure what is missing. Cells that another process measures come last, and are waited for."""
        cells_folder(self.ledger.path).mkdir(parents=True, exist_ok=True)
        left = [job for job in plan.jobs if not self._settle(job, plan, wait=False)]
        for job in left:
            self.watcher.wait(job[0])
            self._settle(job, plan, wait=True)

    def _settle(self, job: Job, plan: Plan, *, wait: bool) -> bool:
        """Enter a job in the ledger; return ``False`` if another process measures it and ``wait`` is not set."""
        folder = cells_folder(self.ledger.path) / job[0].key
        with locked(folder.with_suffix(".lock"), wait=wait) as ours:
            known = {cell.key: entry for cell in job if (entry := self.ledger.get(cell.key)) is not None}
            missing = (_missing_protocols(cell, known, plan.protocols, self.retry_failed) for cell in job)
            to_do = list(dict.fromkeys(chain(*missing)))
            if to_do and not ours:
                return False
            if to_do:
                if any(entry.failure is not None for entry in known.values()):
                    shutil.rmtree(folder, ignore_errors=True)
                self.watcher.begin(job[0])
                measured = self._measure(job, to_do, folder)
                held = self.ledger.add_all([self._entry(plan.study, *one) for one in zip(job, measured, strict=True)])
                # A run that is in stays as it is, but a failure of scoring it again is told.
                failures = [values.get("failure") for values in measured]
                held = [replace(entry, failure=failure) for entry, failure in zip(held, failures, strict=True)]
            else:
                held = [known[cell.key] for cell in job]
                for cell, entry in zip(job, held, strict=True):
                    if (plan.study, cell.variant.label) not in entry.labels:
                        self.ledger.add(replace(entry, labels=((plan.study, cell.variant.label),)))
            if ours and held[0].failure is None:
                self._tidy(folder)
        for cell, entry in zip(job, held, strict=True):
            if entry.failure is not None:
                self.failures[cell.title] = entry.failure
            self.watcher.end(cell, entry, measured=bool(to_do))
        return True

    def _measure(self, job: Job, protocols: Sequence[str], folder: Path) -> list[Measured]:
        """Return the costs and scores of each cell, or why it failed."""
        dataset = job[0].dataset
        if self._loaded is None or self._loaded[0] is not dataset:
            self._loaded = None  # free the data before first
            self._loaded = (dataset, dataset.load())
        data, device, watcher = self._loaded[1], self.device, self.watcher
        try:
            if job[0].variant.kind == "timed":
                recipes = [cell.variant.recipe for cell in job]
                return measure_times(recipes, data, device=device, on_turn=lambda epochs: watcher.step(epochs, None))
            on_step = LambdaCallback(on_step_end=lambda state: watcher.step(state.epochs_done, state.loss))
            named = [resolve("protocol", name) for name in protocols]
            return [measure(job[0], data, named, path=folder, device=device, callbacks=[on_step])]
        except Interrupted as error:
            done = str(error).partition(";")[0]
            raise Interrupted(f"{job[0].title}: {done}; the same command goes on from there.") from error
        except Exception as error:
            # Errors of the disk would meet every other cell too.
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

    def _tidy(self, folder: Path) -> None:
        """Remove the run folder of a finished cell, unless it was to be kept, now or before."""
        if self.keep_runs and folder.exists():
            (folder / KEEP).touch()
        elif not (folder / KEEP).exists():
            shutil.rmtree(folder, ignore_errors=True)


def cells_folder(ledger: Path) -> Path:
    """Return the folder of the run folders of a ledger's cells, each named by its key."""
    return ledger.parent / "cells"


def cells_to_do(plan: Plan, entries: Mapping[str, Entry], *, retry_failed: bool = False) -> list[Cell]:
    """Return the cells of a plan that will be measured, each run once; ``entries`` are by key."""
    missing = (cell for cell in plan.cells if _missing_protocols(cell, entries, plan.protocols, retry_failed))
    return list({cell.key: cell for cell in missing}.values())


def _missing_protocols(
    cell: Cell, entries: Mapping[str, Entry], protocols: Sequence[str], retry_failed: bool
) -> Sequence[str]:
    """Return the protocols that a run is to be scored under; none, if it failed and is not to be tried again."""
    entry = entries.get(cell.key)
    if entry is None or (entry.failure is not None and retry_failed):
        return protocols
    if entry.failure is not None:
        return ()
    return [name for name in protocols if entry.score_under(name, cell.dataset.digest(name)) is None]
