"""The runs that fill a cell: those of its recipe, with any seed and budget, in a data frame of all results."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cache, partial
from typing import Any, NamedTuple

import pandas as pd

from sfa.evaluate import Score
from sfa.methods import available_methods
from sfa.paper.plans import RUN_TIME, SEEDLESS, Variant, starting_point
from sfa.paper.results_files import Entry
from sfa.paper.summary import ratio
from sfa.paper.tables.definition import VALIDATION, Definition, Point
from sfa.paper.tables.model import Interval, Measured
from sfa.paper.tables.selection import Budget, Selection, essence, has_fitting_warmup
from sfa.registry import resolve
from sfa.run.legacy import uncorrected
from sfa.sweep.report import summarize_seeds
from sfa.tasks import Task

COLUMNS = ["dataset", "kind", "seed", "fingerprint", "created", "failure", "recipe"]  # fields of an entry
MORE = ["mine", "studies", "essence", "budget", "protocol", "splits", "score"]
POOLED = ["mine", "budget", "fingerprint", "splits"]  # columns that runs with several seeds must have in common


class Match(NamedTuple):
    """The value that fills a cell, and the runs of one recipe, budget, data and splits that it is the mean of."""

    measured: Measured
    budget: Budget
    scores: Mapping[int, Score]
    is_corrected: bool = True  # whether their method is as it is now (:data:`sfa.run.legacy.CORRECTED`)


class Measurements:
    """Find the values of a table in a data frame of all scores: of the user's runs, then of runs shipped with sfa."""

    def __init__(
        self, definition: Definition, selection: Selection, mine: Iterable[Entry] = (), shipped: Iterable[Entry] = ()
    ) -> None:
        self.definition, self.selection = definition, selection
        rows = [row for own, entries in ((True, mine), (False, shipped)) for row in _rows(entries, own)]
        self.datasets = {row["dataset"] for row in rows}
        frame = pd.DataFrame(rows, columns=[*COLUMNS, *MORE], dtype=object)
        self._nothing = frame[:0]
        self._of = dict(iter(frame.groupby(["dataset", "kind", "essence"], sort=False)))
        self.find = cache(self._find)

    def variants(self, point: Point, *, with_budget: bool = False) -> tuple[Variant, Variant | None]:
        """Return the variant of a point and its baseline, ``with_budget`` with the selected one. No data are read."""
        line, chosen = point.line, self.selection.methods
        methods = tuple(name for name in available_methods() if name in chosen)  # the task's first comes first
        if line.method:
            methods = (line.method,)
        changes = self.selection.changes if with_budget else self.selection.settings
        text = json.dumps(changes, default=str)  # a date, as YAML reads it
        found = _variants(self.definition.study, point.dataset, self.definition.task, methods, line.recipe, text)
        variant = found[line.variant]
        return variant, found.get(variant.baseline or "")

    def runs(self, point: Point, variant: Variant) -> pd.DataFrame:
        """Return the runs of a variant that count, failed ones too."""
        own, seeds = variant.decisive, self._seeds(point)
        rows = self._of.get((point.dataset.lower(), variant.kind, essence(own)), self._nothing)
        rows = rows[rows.recipe.map(partial(has_fitting_warmup, own=own)).astype(bool)]
        if self.selection.settings.keys() != self.selection.changes.keys():
            budget = Budget.of(self.variants(point, with_budget=True)[0].decisive)
            rows = rows[rows.budget.map(lambda spent: replace(spent, turns=budget.turns) == budget).astype(bool)]
        return rows[rows.seed.isin(seeds)] if seeds else rows

    def _seeds(self, point: Point) -> set[int]:
        """Return the seeds that count; 0 for a variant that depends on none."""
        seeds = self.selection.seeds
        return {0} if seeds and self.variants(point)[0].kind in SEEDLESS else set(seeds)

    def _pools(self, point: Point, variant: Variant) -> list[pd.DataFrame]:
        """Return the runs of a variant that have the score, in groups that may be pooled."""
        rows = self.runs(point, variant)
        scored = rows[rows.failure.isna() & (rows.protocol == self.definition.protocol)]
        has_metric = scored.score.map(lambda score: point.metric in score.values).astype(bool)
        return [pool for _, pool in scored[has_metric].drop_duplicates([*POOLED, "seed"]).groupby(POOLED, sort=False)]

    def _find(self, point: Point) -> Match | None:
        """Find the runs that fill a cell; of a corrected method that was not measured since, those from before."""
        variant, baseline = self.variants(point)
        found, before = self._match(point, variant, baseline), replace(variant, recipe=uncorrected(variant.recipe))
        if found is not None or before == variant:
            return found
        found = self._match(point, before, baseline and replace(baseline, recipe=uncorrected(baseline.recipe)))
        if found is None:
            return None
        budget = ", ".join(filter(None, ("before its correction", found.measured.budget)))
        return found._replace(measured=replace(found.measured, budget=budget), is_corrected=False)

    def _match(self, point: Point, variant: Variant, baseline: Variant | None) -> Match | None:
        """Find the runs with the largest budget; else the user's, most seeds, runs of the study, the newest."""
        own = Budget.of(variant.decisive)

        def preference(pool: pd.DataFrame) -> tuple[Any, ...]:
            first, labeled = pool.iloc[0], any(self.definition.study in studies for studies in pool.studies)
            return first.budget.size(own), first.mine, len(pool), labeled, pool.created.max()

        best = max(self._pools(point, variant), key=preference, default=None)
        if best is None:
            return None
        first, scores = best.iloc[0], dict(zip(best.seed, best.score, strict=True))
        alike = (
            dict(zip(pool.seed, pool.score, strict=True))
            for pool in (self._pools(point, baseline) if baseline else ())
            if tuple(pool.iloc[0][POOLED[1:]]) == tuple(first[POOLED[1:]])
        )
        protocol, text = self.definition.protocol, None
        timed = protocol == RUN_TIME
        summary = summarize_seeds(scores, next(alike, {}), point.metric, in_per_cent=timed)
        assert summary.mean is not None
        difference = summary.difference
        if timed:
            protocol = f"{protocol}, {first.budget.machine}"
            text, difference = f"{summary.mean:.3g} s" + (f", {ratio(difference)}" if difference else ""), None
        measured = Measured(
            summary.mean,
            summary.std,
            seeds=tuple(sorted(scores)),
            splits=len(first.score.of(point.metric)),
            protocol=protocol,
            metric=point.metric,
            budget=first.budget.words(own),
            mine=bool(first.mine),
            text=text,
            difference=Interval(difference.mean, difference.low, difference.high) if difference else None,
        )
        return Match(measured, first.budget, scores)

    def failure(self, point: Point) -> str | None:
        """Return why a run that counts failed, if one did."""
        return next(iter(self.runs(point, self.variants(point)[0]).failure.dropna()), None)

    def is_complete(self, point: Point) -> bool:
        """Tell whether every run that is wanted is there; if no seeds are selected, one is enough."""
        found = self.find(point)
        return found is not None and found.is_corrected and self._seeds(point) <= set(found.scores)


@cache
def _variants(
    study: str, dataset: str, task: Task, methods: tuple[str, ...], recipe: str | None, changes: str
) -> Mapping[str, Variant]:
    """Return all variants of a study on one data set, by label."""
    found = resolve("study", study)
    base = starting_point(found, dataset, task, methods=methods, recipe=recipe, changes=json.loads(changes))
    return {variant.label: variant for variant in found.variants(base)}


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
