"""The runs that fill a cell: of its recipe, whatever the seed and the budget, in a data frame of all results."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Any

import numpy as np
import pandas as pd

from sfa.evaluate import Score
from sfa.methods import available_methods
from sfa.paper.cells import SEEDLESS, Variant
from sfa.paper.entry import Entry
from sfa.paper.plans import starting_point
from sfa.paper.summary import Summary, summary_of
from sfa.paper.tables.budgets import Budget, essence, has_fitting_warmup
from sfa.paper.tables.definition import VALIDATION, Definition, Point
from sfa.paper.tables.selection import Selection
from sfa.registry import resolve
from sfa.run.legacy import uncorrected
from sfa.tasks import Task

POOLED = ["mine", "budget", "fingerprint", "splits"]
"""What runs with several seeds must have in common."""


@dataclass(frozen=True)
class Target:
    """What a cell is to be filled with."""

    dataset: str
    variant: Variant
    """By the method's own recipe: its budget is the one that goes without saying."""
    protocol: str
    metric: str
    study: str = ""
    """Whose runs are preferred where nothing else decides: what was timed by turns with what."""
    baseline: Variant | None = None
    """What it is compared with."""
    budget: Budget | None = None
    """The only one that counts; any, if ``None``."""
    seeds: tuple[int, ...] = ()
    """The only ones that count; any, if there are none."""

    @property
    def before_correction(self) -> Target | None:
        """The same of the method as it was before it was corrected (:data:`sfa.run.legacy.CORRECTED`)."""
        old, baseline = (one and replace(one, recipe=uncorrected(one.recipe)) for one in (self.variant, self.baseline))
        return None if old in (None, self.variant) else replace(self, variant=old, baseline=baseline)

    @cached_property
    def own_budget(self) -> Budget:
        return Budget.of(self.variant.decisive)

    @property
    def own_seeds(self) -> set[int]:
        """Those that count: what depends on none has 0."""
        return {0} if self.seeds and self.variant.kind in SEEDLESS else set(self.seeds)


def target_of(definition: Definition, point: Point, selection: Selection) -> Target:
    """Return what a cell of a table is to be filled with. No data are read."""
    line, settings = point.line, selection.settings
    methods = tuple(name for name in available_methods() if name in selection.methods)  # the task's first comes first
    if line.recipe and line.method:
        methods = (line.method,)

    def variants(changes: Mapping[str, Any]) -> Mapping[str, Variant]:
        told = json.dumps(changes, default=str)  # a date, as YAML reads it
        return _variants(definition.study, point.dataset, definition.task, methods, line.recipe, told)

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
    """Return all variants of a study on one data set; made once, as the cells of all tables have them in common."""
    found = resolve("study", study)
    base = starting_point(found, dataset, task, methods=methods, recipe=recipe, changes=json.loads(changes))
    return {variant.label: variant for variant in found.variants(base)}


@dataclass(frozen=True)
class Match:
    """What there is for a cell: runs of one recipe, budget, data and splits."""

    summary: Summary
    budget: Budget
    scores: Mapping[int, Score]
    """By seed."""
    mine: bool
    words: str | None
    """The budget, where it is not the recipe's own."""

    @property
    def seeds(self) -> tuple[int, ...]:
        return tuple(sorted(self.scores))


class Measurements:
    """All that was measured, a row for each score: the user's own runs, then those that came with sfa.

    Args:
        mine: Runs of the user.
        shipped: Runs that count where the user has none as long.
    """

    def __init__(self, mine: Iterable[Entry] = (), shipped: Iterable[Entry] = ()) -> None:
        rows = [row for own, entries in ((True, mine), (False, shipped)) for row in _rows(entries, own)]
        self.datasets = {row["dataset"] for row in rows}
        columns = [*COLUMNS, "mine", "studies", "essence", "budget", "protocol", "splits", "score"]
        frame = pd.DataFrame(rows, columns=columns, dtype=object)
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
        """Return the runs of a variant with a score by protocol and metric, those together that may be pooled."""
        rows = self.runs(target, variant)
        scored = rows[rows.failure.isna() & (rows.protocol == target.protocol)]
        measured = np.array([target.metric in score.values for score in scored.score], dtype=bool)
        rows = scored[measured].drop_duplicates([*POOLED, "seed"])
        return [pool for _, pool in rows.groupby(POOLED, sort=False)]

    def find(self, target: Target) -> Match | None:
        """Find what fills a cell; of a method that was corrected and not measured since, how it was before."""
        found, earlier = self.find_exactly(target), target.before_correction
        if found is not None or earlier is None or (found := self.find_exactly(earlier)) is None:
            return found
        return replace(found, words=", ".join(filter(None, ("before its correction", found.words))))

    def find_exactly(self, target: Target) -> Match | None:
        """Find the runs of the largest budget, never of several; of the same budget, the user's go first.

        Else what has more seeds is preferred, then what the study itself entered, then what is newest.
        """

        def preference(pool: pd.DataFrame) -> tuple[Any, ...]:
            first, labelled = pool.iloc[0], any(target.study in studies for studies in pool.studies)
            return first.budget.size(target.own_budget), first.mine, len(pool), labelled, pool.created.max()

        best = max(self.pools(target, target.variant), key=preference, default=None)
        if best is None:
            return None
        first, scores = best.iloc[0], dict(zip(best.seed, best.score, strict=True))
        baseline: Mapping[int, Score] = {}
        for pool in self.pools(target, target.baseline) if target.baseline else ():
            if not baseline and tuple(pool.iloc[0][POOLED[1:]]) == tuple(first[POOLED[1:]]):
                baseline = dict(zip(pool.seed, pool.score, strict=True))
        summary = summary_of([None] * len(scores), scores, baseline, target.metric)
        return Match(summary, first.budget, scores, bool(first.mine), first.budget.words(target.own_budget))

    def failure(self, target: Target) -> str | None:
        """Return why a run that counts failed, if one did."""
        return next(iter(self.runs(target, target.variant).failure.dropna()), None)

    def is_complete(self, target: Target) -> bool:
        """Tell whether every run that is wanted is there; of no seeds in particular, one is enough."""
        found = self.find_exactly(target)
        return found is not None and target.own_seeds <= set(found.seeds)


COLUMNS = ["dataset", "kind", "seed", "fingerprint", "created", "failure", "recipe"]
"""Of an entry."""


def _rows(entries: Iterable[Entry], mine: bool) -> Iterator[dict[str, Any]]:
    for entry in entries:
        studies = {study for study, _ in entry.labels}
        if studies == {"sweep"}:
            continue  # its rate and epochs were chosen by a search, and are no budget of the recipe's
        run = {name: getattr(entry, name) for name in COLUMNS} | {"mine": mine, "studies": studies}
        run |= {"dataset": entry.dataset.lower(), "essence": essence(entry.recipe), "budget": Budget.of(entry.recipe)}
        for score in entry.scores or (Score("", "", {}),):
            kept: Any = score.validation or {}
            values = {
                **score.values,
                **{f"{VALIDATION}{metric}": kept[metric] for metric in score.values if metric in kept},
            }
            yield {**run, "protocol": score.protocol, "splits": score.splits, "score": replace(score, values=values)}
