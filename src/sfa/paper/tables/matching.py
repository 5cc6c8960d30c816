"""The runs that fill a cell: those of its recipe, with any seed and budget, in a data frame of all results."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from sfa.evaluate import Score
from sfa.methods import available_methods
from sfa.paper.entry import Entry
from sfa.paper.plans import RUN_TIME, SEEDLESS, Variant, starting_point
from sfa.paper.summary import ratio, summary_of
from sfa.paper.tables.definition import VALIDATION, Definition, Point
from sfa.paper.tables.model import Interval, Measured
from sfa.paper.tables.selection import Budget, Selection, essence, has_fitting_warmup
from sfa.registry import resolve
from sfa.run.legacy import uncorrected
from sfa.tasks import Task

COLUMNS = ["dataset", "kind", "seed", "fingerprint", "created", "failure", "recipe"]
"""Fields of an entry that are columns of the data frame."""
MORE = ["mine", "studies", "essence", "budget", "protocol", "splits", "score"]
POOLED = ["mine", "budget", "fingerprint", "splits"]  # columns that runs with several seeds must have in common


@dataclass(frozen=True)
class Target:
    """What a cell is to be filled with; runs of ``study`` are preferred where nothing else decides.

    If a budget and seeds are given, only runs with these count.
    """

    dataset: str
    variant: Variant
    protocol: str
    metric: str
    study: str = ""
    baseline: Variant | None = None
    budget: Budget | None = None
    seeds: tuple[int, ...] = ()

    @property
    def before_correction(self) -> Target | None:
        """The same of the method before it was corrected (:data:`sfa.run.legacy.CORRECTED`)."""
        old, baseline = (one and replace(one, recipe=uncorrected(one.recipe)) for one in (self.variant, self.baseline))
        return None if old in (None, self.variant) else replace(self, variant=old, baseline=baseline)

    @cached_property
    def own_budget(self) -> Budget:
        return Budget.of(self.variant.decisive)

    @property
    def own_seeds(self) -> set[int]:
        """The seeds that count; 0 for a variant that depends on none."""
        return {0} if self.seeds and self.variant.kind in SEEDLESS else set(self.seeds)


def target_of(definition: Definition, point: Point, selection: Selection) -> Target:
    """Return the target of a point. No data are read."""
    line, settings = point.line, selection.settings
    methods = tuple(name for name in available_methods() if name in selection.methods)  # the task's first comes first
    if line.recipe and line.method:
        methods = (line.method,)

    def variants(changes: Mapping[str, Any]) -> Mapping[str, Variant]:
        text = json.dumps(changes, default=str)  # a date, as YAML reads it
        return _variants(definition.study, point.dataset, definition.task, methods, line.recipe, text)

    variant, budget = variants(settings)[line.variant], None
    if settings.keys() != selection.changes.keys():
        budget = Budget.of(variants(selection.changes)[line.variant].decisive)
    baseline = variants(settings).get(variant.baseline or "")
    place = point.dataset, variant, definition.protocol, point.metric, definition.study
    return Target(*place, baseline, budget, selection.seeds)


@cache
def _variants(
    study: str, dataset: str, task: Task, methods: tuple[str, ...], recipe: str | None, changes: str
) -> Mapping[str, Variant]:
    """Return all variants of a study on one data set, by label."""
    found = resolve("study", study)
    base = starting_point(found, dataset, task, methods=methods, recipe=recipe, changes=json.loads(changes))
    return {variant.label: variant for variant in found.variants(base)}


class Match(NamedTuple):
    """The value that fills a cell, and the runs of one recipe, budget, data and splits that it is the mean of."""

    measured: Measured
    budget: Budget
    scores: Mapping[int, Score]


class Measurements:
    """A data frame of all scores: those of the user's runs, then those of runs that are shipped with sfa."""

    def __init__(self, mine: Iterable[Entry] = (), shipped: Iterable[Entry] = ()) -> None:
        rows = [row for own, entries in ((True, mine), (False, shipped)) for row in _rows(entries, own)]
        self.datasets = {row["dataset"] for row in rows}
        frame = pd.DataFrame(rows, columns=[*COLUMNS, *MORE], dtype=object)
        self._nothing = frame[:0]
        self._of = dict(iter(frame.groupby(["dataset", "kind", "essence"], sort=False)))

    def runs(self, target: Target, variant: Variant) -> pd.DataFrame:
        """Return the runs of a variant that count, failed ones too."""
        own = variant.decisive
        rows = self._of.get((target.dataset.lower(), variant.kind, essence(own)), self._nothing)
        counts = [
            has_fitting_warmup(recipe, own)
            and (target.budget is None or replace(budget, turns=target.budget.turns) == target.budget)
            and (not target.seeds or seed in target.own_seeds)
            for recipe, budget, seed in zip(rows.recipe, rows.budget, rows.seed, strict=True)
        ]
        return rows[np.array(counts, dtype=bool)]

    def pools(self, target: Target, variant: Variant) -> list[pd.DataFrame]:
        """Return the runs of a variant that have the score, in groups that may be pooled."""
        rows = self.runs(target, variant)
        scored = rows[rows.failure.isna() & (rows.protocol == target.protocol)]
        measured = np.array([target.metric in score.values for score in scored.score], dtype=bool)
        rows = scored[measured].drop_duplicates([*POOLED, "seed"])
        return [pool for _, pool in rows.groupby(POOLED, sort=False)]

    def find(self, target: Target) -> Match | None:
        """Find the runs that fill a cell; of a corrected method that was not measured since, those from before."""
        found, earlier = self.find_exactly(target), target.before_correction
        if found is not None or earlier is None or (found := self.find_exactly(earlier)) is None:
            return found
        budget = ", ".join(filter(None, ("before its correction", found.measured.budget)))
        return found._replace(measured=replace(found.measured, budget=budget))

    def find_exactly(self, target: Target) -> Match | None:
        """Find the runs with the largest budget; else the user's, most seeds, runs of the study, the newest."""

        def preference(pool: pd.DataFrame) -> tuple[Any, ...]:
            first, labeled = pool.iloc[0], any(target.study in studies for studies in pool.studies)
            return first.budget.size(target.own_budget), first.mine, len(pool), labeled, pool.created.max()

        best = max(self.pools(target, target.variant), key=preference, default=None)
        if best is None:
            return None
        first, scores = best.iloc[0], dict(zip(best.seed, best.score, strict=True))
        baseline: Mapping[int, Score] = {}
        for pool in self.pools(target, target.baseline) if target.baseline else ():
            if not baseline and tuple(pool.iloc[0][POOLED[1:]]) == tuple(first[POOLED[1:]]):
                baseline = dict(zip(pool.seed, pool.score, strict=True))
        summary = summary_of([], scores, baseline, target.metric)
        assert summary.mean is not None
        protocol, text, difference = target.protocol, None, summary.difference
        if protocol == RUN_TIME:
            protocol = f"{protocol}, {first.budget.machine}"
            text, difference = f"{summary.mean:.3g} s" + (f", {ratio(difference)}" if difference else ""), None
        measured = Measured(
            summary.mean,
            summary.std,
            seeds=tuple(sorted(scores)),
            splits=len(first.score.of(target.metric)),
            protocol=protocol,
            metric=target.metric,
            budget=first.budget.words(target.own_budget),
            mine=bool(first.mine),
            text=text,
            difference=Interval(difference.mean, difference.low, difference.high) if difference else None,
        )
        return Match(measured, first.budget, scores)

    def failure(self, target: Target) -> str | None:
        """Return why a run that counts failed, if one did."""
        return next(iter(self.runs(target, target.variant).failure.dropna()), None)

    def is_complete(self, target: Target) -> bool:
        """Tell whether every run that is wanted is there; if no seeds are selected, one is enough."""
        found = self.find_exactly(target)
        return found is not None and target.own_seeds <= set(found.scores)


def _rows(entries: Iterable[Entry], mine: bool) -> Iterator[dict[str, Any]]:
    for entry in entries:
        studies = {study for study, _ in entry.labels}
        if studies == {"sweep"}:
            continue  # its rate and epochs were chosen by a search, and are no budget of the recipe
        run = {name: getattr(entry, name) for name in COLUMNS} | {"mine": mine, "studies": studies}
        run |= {"dataset": entry.dataset.lower(), "essence": essence(entry.recipe), "budget": Budget.of(entry.recipe)}
        for score in entry.scores or (Score("", "", {}),):
            validation = {f"{VALIDATION}{name}": values for name, values in score.validation.items()}
            score = replace(score, values={**score.values, **validation})
            yield {**run, "protocol": score.protocol, "splits": score.splits, "score": score}
