"""A study's table: what each variant reached on each data set, and how it differs from its baseline."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sfa.evaluate import Difference, Score, paired_difference
from sfa.ledger import Entry
from sfa.studies.plan import Cell, Plan
from sfa.studies.study import RUN_TIME

Scores = Mapping[int, Score]
"""The score of each seed."""


@dataclass(frozen=True)
class Summary:
    """One variant on one data set, under one protocol, by one metric."""

    mean: float | None = None
    """Over seeds and splits; ``None`` if no seed has a score."""
    std: float | None = None
    """Over seeds, of the means over splits; with one seed, over its splits; ``None`` of a single value."""
    seeds: int = 0
    """How many have a score."""
    planned: int = 0
    """How many are to have one."""
    failed: int = 0
    """How many failed."""
    difference: Difference | None = None
    """From the baseline, paired as ``std`` is taken: over seeds, or with one seed over splits.

    Of times it is the relative change in per cent.
    """


def metrics_of(plan: Plan, entries: Mapping[str, Entry]) -> list[tuple[str, str]]:
    """Protocols and metrics that the study has values of, each a table."""
    found = {
        (protocol, metric): None
        for protocol in plan.protocols
        for cell in plan.cells
        if (score := _score(cell, entries.get(cell.key), protocol)) is not None
        for metric in score.values
    }
    return list(found)


def summarise(plan: Plan, entries: Mapping[str, Entry], protocol: str, metric: str) -> dict[tuple[str, str], Summary]:
    """The table by variant and data set, in the order of the plan; ``entries`` are the ledger's by key."""
    cells: dict[tuple[str, str], list[Entry | None]] = {}
    scores: dict[tuple[str, str], dict[int, Score]] = {}
    baselines: dict[tuple[str, str], str | None] = {}
    for cell in plan.cells:
        place = cell.variant.label, cell.dataset.name
        entry = entries.get(cell.key)
        cells.setdefault(place, []).append(entry)
        baselines[place] = cell.variant.baseline
        score, of_seed = _score(cell, entry, protocol), scores.setdefault(place, {})
        if score is not None and metric in score.values:
            of_seed[cell.variant.seed] = score
    return {
        place: summary_of(found, scores[place], scores.get((baselines[place] or "", place[1]), {}), metric)
        for place, found in cells.items()
    }


def _score(cell: Cell, entry: Entry | None, protocol: str) -> Score | None:
    """Of a run that is in and did not fail, on the splits that the cell's data have now."""
    if entry is None or entry.failure is not None:
        return None
    return entry.score_under(protocol, cell.dataset.digest(protocol))


def summary_of(entries: Sequence[Entry | None], scores: Scores, baseline: Scores, metric: str) -> Summary:
    """What runs with these scores come to, beside those of their baseline; ``None`` is a run that is still to come."""
    failed = sum(entry is not None and entry.failure is not None for entry in entries)
    if not scores:
        return Summary(planned=len(entries), failed=failed)
    pooled = _pooled(scores, metric)
    std = pooled.std(metric)
    return Summary(
        mean=pooled.mean(metric),
        std=None if math.isnan(std) else std,
        seeds=len(scores),
        planned=len(entries),
        failed=failed,
        difference=_difference(scores, baseline, metric),
    )


def _pooled(scores: Scores, metric: str) -> Score:
    """One score whose values are the seeds' means, or the splits of the only seed."""
    if len(scores) == 1:
        return next(iter(scores.values()))
    any_of_them = next(iter(scores.values()))
    means = tuple(scores[seed].mean(metric) for seed in sorted(scores))
    return Score(any_of_them.name, any_of_them.protocol, {metric: means}, splits=any_of_them.splits)


def _difference(scores: Scores, baseline: Scores, metric: str) -> Difference | None:
    """Paired over the seeds that both have, or over the splits of the only one; none with fewer than two values."""
    common = scores.keys() & baseline.keys()
    if not common:
        return None
    ours, theirs = (_pooled({seed: those[seed] for seed in common}, metric) for those in (scores, baseline))
    if len(ours.of(metric)) < 2 or len(ours.of(metric)) != len(theirs.of(metric)):
        return None
    if ours.protocol == RUN_TIME:
        ours, theirs = _relative(ours, theirs, metric)
    return paired_difference(ours, theirs, metric)


def _relative(ours: Score, theirs: Score, metric: str) -> tuple[Score, Score]:
    """Each value in per cent of the one it is paired with."""
    ratios = tuple(100 * a / b for a, b in zip(ours.of(metric), theirs.of(metric), strict=True))
    return (
        Score(ours.name, ours.protocol, {metric: ratios}),
        Score(theirs.name, theirs.protocol, {metric: (100.0,) * len(ratios)}),
    )
