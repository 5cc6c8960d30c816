"""A search from its first trial to its last, with one arm after another in turn."""

from __future__ import annotations

import shutil
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import yaml
from torch_geometric.data import Data

from sfa.atomic import locked, write_text
from sfa.data import fingerprint
from sfa.errors import InputError, sentence_of
from sfa.evaluate import Classification, Score, default_protocol
from sfa.folders import expand_user
from sfa.registry import resolve
from sfa.run import Recipe
from sfa.run.display import Display
from sfa.run.identity import run_key
from sfa.run.recipe import Training
from sfa.run.sections import validated
from sfa.run.source import Source
from sfa.run.train_recipe import open_or_create_folder, train_recipe
from sfa.sweep import trials as storage
from sfa.sweep.development import development_part, hide_labels, validation_protocol
from sfa.sweep.ranges import load_ranges, merged, parse_range
from sfa.sweep.settings import Settings, Space, default_folder, method_ranges, starting_recipe
from sfa.sweep.trials import PrunerName, Record, SamplerName, TrialFailed, Trials, best_of, best_of_each
from sfa.tasks import task_of
from sfa.train import Interrupted, LambdaCallback

if TYPE_CHECKING:
    from optuna.trial import Trial

DEFAULT_TRIALS = 20


class SearchCallback:
    """Base class of callbacks: override the hooks that you need."""

    def on_run_begin(self, arm: str, number: int, recipe: Recipe) -> None:
        """Run before a recipe is trained, for this trial of an arm."""

    def on_step_end(self, epochs: float, loss: float) -> None:
        """Run after each step of training."""

    def on_trial_end(self, record: Record, best: Record | None) -> None:
        """Run after each trial, with the best of its arm so far."""

    def on_report_end(self, arm: str, seed: int, failure: str | None) -> None:
        """Run after each run of the report."""


@dataclass
class Search:
    """A search, which sees no labels but those of the development part."""

    settings: Settings
    data: Data
    folder: Path  # of ``search.json``, ``trials.sqlite``, ``trials.csv`` and the best recipe, ``best.yaml``

    def __post_init__(self) -> None:
        settings, data = self.settings, self.data
        if not settings.seeds:
            raise InputError("A search needs at least one seed of training.")
        if settings.pruner == "median" and len(settings.seeds) < 2:
            raise InputError(
                "The median pruner gives up trials after their first seeds, and there is but one: give more --seeds, "
                "or take --pruner none."
            )
        if fingerprint(data) != settings.fingerprint:
            raise InputError(f"The data have changed since the search in {self.folder} began: search in another --out.")
        protocol = resolve("protocol", settings.protocol)
        if not isinstance(protocol, Classification):
            raise InputError(f"A search is judged by classification, and {settings.protocol} does something else.")
        self.protocol, self.arms = protocol, settings.arms()
        self.points: dict[str, list[dict[str, Any]]] = {}  # of a grid, as trials store them
        for arm, space in self.arms.items():
            space.recipe.build_for(data)
            ranges, grid = {one.key: one for one in space.ranges}, space.grid() if settings.sampler == "grid" else []
            self.points[arm] = [{key: ranges[key].stored(value) for key, value in point.items()} for point in grid]
        keys = [range_.key for space in self.arms.values() for range_ in space.ranges]
        self.shares_training = any(key.startswith("postprocess") for key in keys)
        self.seen = development_part(protocol, data)
        self.hidden = hide_labels(data, self.seen)
        self.validation = validation_protocol(protocol, data)
        self.validation.check(self.hidden)

    def trials_by_arm(self, trials: int | None) -> dict[str, int]:
        """Return the number of trials of each arm: as many as asked for, and at most the points of a grid."""
        if self.settings.sampler != "grid":
            return dict.fromkeys(self.arms, DEFAULT_TRIALS if trials is None else trials)
        return {arm: len(points[:trials]) for arm, points in self.points.items()}

    def unfinished(self, records: Sequence[Record], trials: int | None) -> int:
        """Count the trials asked for, in all arms, that have not ended."""
        ended = Counter(record.arm for record in records if record.state != "running")
        return sum(max(0, count - ended[arm]) for arm, count in self.trials_by_arm(trials).items())

    def trials(self) -> Trials:
        """Open the storage of the trials."""
        settings = self.settings
        return Trials(self.folder, sampler=settings.sampler, seed=settings.seed, pruner=settings.pruner)

    def records(self, trials: Trials | None = None) -> list[Record]:
        """Return the trials of all arms, from a storage that is open or is opened for it."""
        with self.trials() if trials is None else nullcontext(trials) as opened:
            return [record for arm in self.arms for record in opened.records(arm)]

    def run(
        self,
        *,
        trials: int | None = None,
        timeout: float | None = None,
        device: str = "auto",
        strict: bool = False,
        callback: SearchCallback | None = None,
    ) -> list[Record]:
        """Run trials until each arm has so many (20, or all points of a grid), and return them.

        However it is stopped, it can be continued. Once a search has been reported on, its trials are returned if there
        are enough; no further one begins.

        Args:
            timeout: Seconds after which no further trial begins.
            strict: Raise an error that makes a trial fail, instead of storing it and going on.
        """
        self.settings.save(self.folder)
        callback, wanted, started = callback or SearchCallback(), self.trials_by_arm(trials), time.monotonic()
        idle_since: float | None = None
        with self.trials() as opened:
            while timeout is None or time.monotonic() - started <= timeout:
                # A list, because `any` would leave out the turns of later arms.
                begun = [self._run_next(opened, arm, wanted[arm], device, strict, callback) for arm in self.arms]
                idle_since = None if any(begun) else idle_since or time.monotonic()
                if idle_since is not None:
                    # Another process runs the others, or it died and its trial is still to be retried.
                    running = any(record.state == "running" for record in self.records(opened))
                    if not running or time.monotonic() - idle_since > storage.GRACE + storage.HEARTBEAT:
                        break
                    time.sleep(1)
            records = self.records(opened)
        if not self.unfinished(records, trials):
            self.remove_shared_weights()
        return records

    def remove_shared_weights(self) -> None:
        """Remove the run folders that trials share, at the end of a search or of its report."""
        if self.shares_training:
            shutil.rmtree(self.folder / "runs", ignore_errors=True)

    def _run_next(
        self, trials: Trials, arm: str, total: int, device: str, strict: bool, callback: SearchCallback
    ) -> bool:
        """Run a trial, and return whether there was one to run."""
        import optuna

        space, seeds = self.arms[arm], self.settings.seeds

        def objective(trial: Trial, number: int) -> float:
            values: list[float] = list(trial.user_attrs.get("values", []))
            try:
                recipe = space.with_values(space.values(lambda range_: range_.suggest(trial)))
                for seed in seeds[len(values) :]:
                    seeded = recipe.updated({"training.seed": seed})
                    callback.on_run_begin(arm, number, seeded)
                    (score,) = self.train_and_score(seeded, self.hidden, [self.validation], device, callback)
                    values.append(score.mean())
                    trial.set_user_attr("values", values)
                    if len(values) < len(seeds):
                        trial.report(sum(values) / len(values), len(values) - 1)
                        if trial.should_prune():
                            raise optuna.TrialPruned
            except Exception as error:
                # Settings that are allowed, but not together, are an InputError.
                expected = isinstance(error, InputError) or not strict
                if isinstance(error, optuna.TrialPruned) or is_fatal(error) or not expected:
                    raise
                trial.set_user_attr("failure", sentence_of(error))
                raise TrialFailed from error
            return float(sum(values) / len(values))

        number = trials.run_next(arm, total, objective, self.points[arm])
        if number is None:
            return False
        records = self.records(trials)
        best = self._write_choice(records).get(arm)
        callback.on_trial_end(next(one for one in records if (one.arm, one.number) == (arm, number)), best)
        return True

    def train_and_score(
        self, recipe: Recipe, data: Data, protocols: Sequence[Classification], device: str, callback: SearchCallback
    ) -> list[Score]:
        """Train a recipe in a folder below ``runs``, or go on there, and score it.

        Recipes that differ in postprocessing alone share a folder, which is trained once and kept while it is searched.
        """
        steps, trained = recipe.build_for(data).postprocess, recipe.updated({"postprocess": []})
        key = run_key("trained", trained.as_dict(), self.settings.fingerprint, recipe.training.seed)
        path = self.folder / "runs" / key
        path.parent.mkdir(parents=True, exist_ok=True)
        shown = LambdaCallback(on_step_end=lambda state: callback.on_step_end(state.epochs_done, state.loss))
        # Another process that tries the same training, perhaps with other steps after it, waits for its end.
        lock = path.with_suffix(".lock")
        with locked(lock, wait=True):
            folder = open_or_create_folder(path, trained, data, self.settings.source)
            run = train_recipe(trained, data, folder, device=device, resume=True, callbacks=[shown])
        z = run.method.embed(run.data)
        for step in steps:
            z = step(z, run.data)
        scores = [protocol.evaluate(z, run.data) for protocol in protocols]
        if not self.shares_training:
            with locked(lock, wait=True):
                shutil.rmtree(path, ignore_errors=True)
            with suppress(OSError):
                path.parent.rmdir()  # if it is empty
        return scores

    def _write_choice(self, records: Sequence[Record]) -> dict[str, Record]:
        """Write ``trials.csv`` and the best recipe, of all and of each arm; return the best trials."""
        ranges = [range_.key for space in self.arms.values() for range_ in space.ranges]
        seeds = [f"seed {seed}" for seed in self.settings.seeds]
        columns = ["trial", "state", "validation", *seeds, *dict.fromkeys(ranges), "seconds", "failure"]
        rows = [
            {"arm": record.arm, "trial": record.number, "state": record.state, "validation": record.value}
            | dict(zip(seeds, record.values, strict=False))
            | dict(record.params)
            | {"seconds": record.seconds, "failure": record.failure}
            for record in records
        ]
        table = pd.DataFrame(rows, columns=["arm", *columns] if any(self.arms) else columns, dtype=object)
        write_text(self.folder / "trials.csv", table.to_csv(index=False))
        chosen = best_of_each(records)
        best = best_of(chosen.values())
        for arm, record in ({**chosen, "": best} if best else {}).items():
            # A search computes no diagnostics, but training with its recipe does.
            every = Training.model_fields["diagnose_every"].default
            recipe = recipe_of(self.arms[record.arm], record).updated({"training.diagnose_every": every})
            of_arm = f" of {record.arm}" if record.arm else ""
            head = f"# Trial {record.number}{of_arm} of the search in {self.folder.name}: "
            head += f"validation accuracy {record.value:.2f} %.\n"
            content = yaml.safe_dump(recipe.as_dict(), sort_keys=False, allow_unicode=True)
            write_text(self.folder / best_file(arm), head + content)
        return chosen


def open_search(
    data: Any,
    *,
    method: str | None = None,
    recipe: str | None = None,
    set: Mapping[str, Any] | None = None,
    epochs: int | None = None,
    ranges: Sequence[str] = (),
    ranges_file: Path | None = None,
    ablate: str | None = None,
    seeds: Sequence[int] = (0,),
    sampler: SamplerName = "tpe",
    pruner: PrunerName = "none",
    seed: int = 0,
    protocol: str | None = None,
    out: Path | None = None,
    data_root: Path | None = None,
    display: Display | None = None,
) -> Search:
    """Load the data and return the search that the options of ``sfa sweep`` describe; ``set`` changes the recipe."""
    given = list(map(parse_range, ranges))
    keys = [range_.key for range_ in given]
    if len(dict.fromkeys(keys)) < len(keys):
        raise InputError(f"There are two ranges of {next(key for key in keys if keys.count(key) > 1)}.")
    given = merged(load_ranges(ranges_file) if ranges_file is not None else [], given)
    compared = None if ablate is None else parse_range(ablate)
    source = Source(data, data_root)
    loaded = source.load(display)
    changes = {**(set or {}), **({} if epochs is None else {"training.epochs": epochs})}
    start = starting_recipe(str(loaded.name), task_of(loaded), method=method, recipe=recipe, changes=changes)
    start = start.settled(loaded)
    options = {
        "data": source.as_dict(),
        "fingerprint": fingerprint(loaded),
        "protocol": protocol or default_protocol(task_of(loaded)),
        "recipe": start,
        "ranges": tuple(given or method_ranges(start, compared)),
        "ablate": compared,
        "seeds": tuple(dict.fromkeys(seeds)),
        "sampler": sampler,
        "seed": seed,
        "pruner": pruner,
    }
    settings: Settings = validated(Settings, options, "search")
    search = Search(settings, loaded, default_folder(loaded, start) if out is None else expand_user(out))
    settings.require_same(search.folder)
    return search


def reopen_search(folder: Path, *, data_root: Path | None = None, display: Display | None = None) -> Search:
    """Return the search that was begun in a folder, with its data."""
    settings = Settings.read(folder := expand_user(folder))
    root = data_root or settings.source.get("data_root")
    return Search(settings, Source(settings.source.get("data"), root).load(display), folder)


def is_fatal(error: Exception) -> bool:
    """Return whether an error is not the fault of one run: the user stopped it, or the disk fails."""
    return isinstance(error, Interrupted | OSError) or isinstance(error.__cause__, OSError)


def recipe_of(space: Space, record: Record) -> Recipe:
    """Return the recipe that a trial tried."""
    ranges = {range_.key: range_ for range_ in space.ranges}
    return space.with_values({key: ranges[key].value(stored) for key, stored in record.params.items()})


def best_file(arm: str = "") -> str:
    """Return the name of the file of an arm's best recipe, or of the best of all."""
    plain = "".join(letter if letter.isalnum() else "-" for letter in arm.rpartition("=")[2])
    return f"best{plain and '-'}{plain}.yaml"
