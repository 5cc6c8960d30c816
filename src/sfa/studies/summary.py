"""A study's table: what each variant reached on each data set, and how it differs from its baseline."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sfa.evaluation import Difference, Score, paired_difference
from sfa.ledger import Entry
from sfa.studies.plan import Plan
from sfa.studies.resolver import RUN_TIME

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
    scores = [score for cell in plan.cells if cell.key in entries for score in entries[cell.key].scores]
    found = {(score.protocol, metric): None for score in scores for metric in score.values}
    return sorted((pair for pair in found if pair[0] in plan.protocols), key=lambda pair: plan.protocols.index(pair[0]))


def summarise(plan: Plan, entries: Mapping[str, Entry], protocol: str, metric: str) -> dict[tuple[str, str], Summary]:
    """The table by variant and data set, in the order of the plan; ``entries`` are the ledger's by key."""
    cells: dict[tuple[str, str], list[Entry | None]] = {}
    baselines: dict[tuple[str, str], str | None] = {}
    for cell in plan.cells:
        place = cell.variant.label, cell.dataset.name
        cells.setdefault(place, []).append(entries.get(cell.key))
        baselines[place] = cell.variant.baseline
    scores = {place: _scores(found, protocol, metric) for place, found in cells.items()}
    return {
        place: _summary(found, scores[place], scores.get((baselines[place] or "", place[1]), {}), metric)
        for place, found in cells.items()
    }


def _scores(entries: Sequence[Entry | None], protocol: str, metric: str) -> dict[int, Score]:
    found = {entry.seed: entry.score_under(protocol) for entry in entries if entry is not None and not entry.failure}
    return {seed: score for seed, score in found.items() if score is not None and metric in score.values}


def _summary(entries: Sequence[Entry | None], scores: Scores, baseline: Scores, metric: str) -> Summary:
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
    return Score(any_of_them.name, any_of_them.protocol, {metric: means})


def _difference(scores: Scores, baseline: Scores, metric: str) -> Difference | None:
    """Paired over the seeds that both have; none with fewer than two values to pair."""
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
