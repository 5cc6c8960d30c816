"""A search from its first trial to its last, one arm after another in turn."""

from __future__ import annotations

import shutil
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import yaml
from torch_geometric.data import Data

from sfa.atomic import write_text
from sfa.data import fingerprint
from sfa.errors import InputError, sentence_of
from sfa.evaluate import Classification, Score
from sfa.registry import resolve
from sfa.run import Recipe
from sfa.run.identity import run_key
from sfa.run.recipe import Training
from sfa.run.train_recipe import open_or_create_folder, train_recipe
from sfa.sweep import trials as storage
from sfa.sweep.development import development_part, hide_labels, unseen_protocol, validation_protocol
from sfa.sweep.settings import Settings
from sfa.sweep.space import Space
from sfa.sweep.trials import REPORT, Record, TrialFailed, Trials
from sfa.train import Interrupted, LambdaCallback

if TYPE_CHECKING:
    from optuna.trial import Trial

DEFAULT_TRIALS = 20


class SearchCallback:
    """Receives the progress of a search or of its report; this one ignores it."""

    def on_run_begin(self, arm: str, number: int, recipe: Recipe) -> None:
        """Training begins, for this trial of an arm."""

    def on_step_end(self, epochs: float, loss: float) -> None:
        """So many epochs are done."""

    def on_trial_end(self, record: Record, best: Record | None) -> None:
        """A trial has ended; ``best`` is the best so far of its arm."""

    def on_report_end(self, arm: str, seed: int, failure: str | None) -> None:
        """A run of the report has ended."""


@dataclass
class Search:
    """A search in a folder.

    Args:
        settings: Everything that decides it.
        data: The data, with their labels. The search itself sees those of the development part alone.
        folder: Holds ``search.json``, ``trials.sqlite``, ``trials.csv`` and the best recipe, ``best.yaml``.
    """

    settings: Settings
    data: Data
    folder: Path
    arms: dict[str, Space] = field(init=False)

    def __post_init__(self) -> None:
        if fingerprint(self.data) != self.settings.fingerprint:
            raise InputError(f"The data have changed since the search in {self.folder} began: search in another --out.")
        self.protocol = classification(self.settings.protocol)
        self.arms = self.settings.arms()
        for space in self.arms.values():
            space.recipe.build_for(self.data)
        self.hidden = hide_labels(self.data, development_part(self.protocol, self.data))
        self.validation = validation_protocol(self.protocol, self.data)
        self.validation.check(self.hidden)

    def test_protocols(self) -> list[Classification]:
        """Return the protocol of the report and, where it differs, the same without items seen by the search."""
        unseen = unseen_protocol(self.protocol, self.data)
        return [self.protocol] if unseen is None else [self.protocol, unseen]

    def total(self, trials: int | None) -> int:
        """Return the trials of each arm: those asked for, or else all points of a grid."""
        if self.settings.sampler != "grid":
            return DEFAULT_TRIALS if trials is None else trials
        points = max(len(space.grid()) for space in self.arms.values())
        return points if trials is None else min(trials, points)

    def unfinished(self, records: Sequence[Record], trials: int | None) -> int:
        """Count the trials asked for, in all arms, that have not ended."""
        ended, total = Counter(record.arm for record in records if record.state != "running"), self.total(trials)
        return sum(max(0, self._wanted(space, total) - ended[arm]) for arm, space in self.arms.items())

    @property
    def is_reported(self) -> bool:
        """Whether the choice is final, because a report is made or was begun."""
        return (self.folder / REPORT).exists()

    def trials(self) -> Trials:
        """Open the storage of the trials."""
        settings = self.settings
        return Trials(self.folder, sampler=settings.sampler, seed=settings.seed, pruner=settings.pruner)

    def records(self, trials: Trials) -> list[Record]:
        """Return the trials of all arms."""
        return [record for arm in self.arms for record in trials.records(arm)]

    def run(
        self,
        *,
        trials: int | None = None,
        timeout: float | None = None,
        device: str = "auto",
        strict: bool = False,
        callback: SearchCallback | None = None,
    ) -> list[Record]:
        """Run trials until there are as many as wanted, and return them. However it is stopped, it can be continued.

        Of a search that has been reported on, the trials are returned if there are enough; no further one begins.

        Args:
            trials: Trials of each arm; 20 if not given, or all points of a grid.
            timeout: Seconds after which no further trial begins.
            device: Where methods are trained.
            strict: Raise what makes a trial fail, instead of recording it and going on.
            callback: Receives the progress.
        """
        self.settings.settle(self.folder)
        callback, total, started = callback or SearchCallback(), self.total(trials), time.monotonic()
        idle_since: float | None = None
        with self.trials() as opened:
            while timeout is None or time.monotonic() - started <= timeout:
                # Lists, not `any`: each arm gets its turn.
                begun = [self._run_next(opened, arm, total, device, strict, callback) for arm in self.arms]
                idle_since = None if any(begun) else idle_since or time.monotonic()
                if idle_since is not None:
                    # Another process is at the others, or it died and its trial is still to be retried.
                    running = any(record.state == "running" for record in self.records(opened))
                    if not running or time.monotonic() - idle_since > storage.GRACE + storage.HEARTBEAT:
                        break
                    time.sleep(1)
            return self.records(opened)

    def _run_next(
        self, trials: Trials, arm: str, total: int, device: str, strict: bool, callback: SearchCallback
    ) -> bool:
        import optuna

        space = self.arms[arm]
        points = stored_points(space) if self.settings.sampler == "grid" else []

        def objective(trial: Trial, number: int) -> float:
            try:
                recipe = space.with_values(space.values(lambda found: found.suggest(trial)))
                values = self._validate(trial, recipe, arm, number, device, callback)
            except Exception as error:
                # Settings that are allowed, but not together, are an InputError.
                if is_fatal(error) or (strict and not isinstance(error, InputError)):
                    raise
                trial.set_user_attr("failure", sentence_of(error))
                raise TrialFailed from error
            if len(values) < len(self.settings.seeds):
                raise optuna.TrialPruned
            return float(sum(values) / len(values))

        number = trials.run_next(arm, self._wanted(space, total), objective, points)
        if number is None:
            return False
        records = self.records(trials)
        chosen = write_choice(self.folder, self.settings, self.arms, records)
        ended = next(record for record in records if (record.arm, record.number) == (arm, number))
        callback.on_trial_end(ended, chosen.get(arm))
        return True

    def _validate(
        self, trial: Trial, recipe: Recipe, arm: str, number: int, device: str, callback: SearchCallback
    ) -> list[float]:
        """Return the validation accuracy of each seed of training, in per cent, until the trial is pruned."""
        values = list(trial.user_attrs.get("values", []))
        for seed in self.settings.seeds[len(values) :]:
            seeded = recipe.updated({"training.seed": seed})
            callback.on_run_begin(arm, number, seeded)
            (score,) = self.train_and_score(seeded, self.hidden, [self.validation], device, callback)
            values.append(score.mean())
            trial.set_user_attr("values", values)
            if len(values) < len(self.settings.seeds):
                trial.report(sum(values) / len(values), len(values) - 1)
                if trial.should_prune():
                    break
        return values

    def train_and_score(
        self, recipe: Recipe, data: Data, protocols: Sequence[Classification], device: str, callback: SearchCallback
    ) -> list[Score]:
        """Train a recipe in a folder of its own, or go on there, score it, and remove the folder."""
        path = (
            self.folder / "runs" / run_key("trained", recipe.as_dict(), self.settings.fingerprint, recipe.training.seed)
        )
        shown = LambdaCallback(on_step_end=lambda state: callback.on_step_end(state.epochs_done, state.loss))
        folder = open_or_create_folder(path, recipe, data, self.settings.source)
        run = train_recipe(recipe, data, folder, device=device, resume=True, callbacks=[shown])
        z = run.method.embed(run.data)
        scores = [protocol.evaluate(z, run.data) for protocol in protocols]
        shutil.rmtree(path, ignore_errors=True)
        with suppress(OSError):
            path.parent.rmdir()  # if it is empty
        return scores

    def _wanted(self, space: Space, total: int) -> int:
        """Return the trials of an arm, whose grid may have fewer points than another's."""
        return min(total, len(space.grid())) if self.settings.sampler == "grid" else total


def is_fatal(error: Exception) -> bool:
    """Return whether an error is no fault of one run: the user stopped it, or the disk fails."""
    return isinstance(error, Interrupted | OSError) or isinstance(error.__cause__, OSError)


def classification(name: str) -> Classification:
    """Return the protocol of this name; raise unless it scores by classification."""
    protocol = resolve("protocol", name)
    if not isinstance(protocol, Classification):
        raise InputError(f"A search is judged by classification, and {name} does something else.")
    return protocol


def stored_points(space: Space) -> list[dict[str, Any]]:
    """Return the points of a grid as trials store them."""
    by_key = {found.key: found for found in space.ranges}
    return [{key: by_key[key].stored(value) for key, value in point.items()} for point in space.grid()]


def best_of(records: Iterable[Record]) -> Record | None:
    """Return the finished trial of the highest value, of equal ones the first; ``None`` if none is finished."""
    finished = [record for record in records if record.state == "done" and record.value is not None]
    return min(finished, key=lambda record: (-(record.value or 0.0), record.number), default=None)


def best_of_each(records: Sequence[Record]) -> dict[str, Record]:
    """Return the best trial of every arm that has a finished one."""
    arms = dict.fromkeys(record.arm for record in records)
    found = {arm: best_of(record for record in records if record.arm == arm) for arm in arms}
    return {arm: best for arm, best in found.items() if best is not None}


def recipe_of(space: Space, record: Record) -> Recipe:
    """Return the recipe that a trial tried."""
    ranges = {found.key: found for found in space.ranges}
    return space.with_values({key: ranges[key].value(stored) for key, stored in record.params.items()})


def write_choice(
    folder: Path, settings: Settings, arms: Mapping[str, Space], records: Sequence[Record]
) -> dict[str, Record]:
    """Write ``trials.csv`` and the best recipe, ``best.yaml``, with several arms that of each; return their trials."""
    write_text(folder / "trials.csv", trials_table(settings, arms, records).to_csv(index=False))
    chosen = best_of_each(records)
    for arm, record in chosen.items():
        if arm:
            write_text(folder / best_file(arm), _as_yaml(folder, recipe_of(arms[arm], record), record))
    best = best_of(chosen.values())
    if best is not None:
        write_text(folder / best_file(), _as_yaml(folder, recipe_of(arms[best.arm], best), best))
    return chosen


def best_file(arm: str = "") -> str:
    """Return the name of the file of an arm's best recipe, or of the best of all."""
    plain = "".join(letter if letter.isalnum() else "-" for letter in arm.rpartition("=")[2])
    return f"best{plain and '-'}{plain}.yaml"


def trials_table(settings: Settings, arms: Mapping[str, Space], records: Sequence[Record]) -> pd.DataFrame:
    """Return all trials as a table: a row each, with a column for every range and the accuracy of every seed."""
    keys = list(dict.fromkeys(found.key for space in arms.values() for found in space.ranges))
    seeds = [f"seed {seed}" for seed in settings.seeds]
    rows = [
        {"arm": record.arm, "trial": record.number, "state": record.state, "validation": record.value}
        | dict(zip(seeds, record.values, strict=False))
        | dict(record.params)
        | {"seconds": record.seconds, "failure": record.failure}
        for record in records
    ]
    columns = [*(["arm"] if any(arms) else []), "trial", "state", "validation", *seeds, *keys, "seconds", "failure"]
    return pd.DataFrame(rows, columns=columns, dtype=object)


def _as_yaml(folder: Path, recipe: Recipe, record: Record) -> str:
    # A search computes no diagnostics; whoever trains the recipe wants them.
    usual = recipe.updated({"training.diagnose_every": Training.model_fields["diagnose_every"].default})
    arm = f" of {record.arm}" if record.arm else ""
    head = f"# Trial {record.number}{arm} of the search in {folder.name}: validation accuracy {record.value:.2f} %.\n"
    return head + yaml.safe_dump(usual.as_dict(), sort_keys=False, allow_unicode=True)
