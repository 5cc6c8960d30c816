"""The table of a plan: what each variant reached on each data set, and how it differs from its baseline."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sfa.evaluate import Difference, Score, paired_difference, pool_seeds
from sfa.paper.cells import RUN_TIME, Cell, Plan
from sfa.paper.entry import Entry

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
    """Return the protocols and metrics that the study has values of, each a table."""
    found = {
        (protocol, metric): None
        for protocol in plan.protocols
        for cell in plan.cells
        if (score := _score(cell, entries.get(cell.key), protocol)) is not None
        for metric in score.values
    }
    return list(found)


def summarise(plan: Plan, entries: Mapping[str, Entry], protocol: str, metric: str) -> dict[tuple[str, str], Summary]:
    """Return the table by variant and data set, in the order of the plan; ``entries`` are the ledger's by key."""
    found: dict[tuple[str, str], list[Entry | None]] = {}
    scores: dict[tuple[str, str], dict[int, Score]] = {}
    baselines: dict[tuple[str, str], str] = {}
    for cell in plan.cells:
        place, entry = (cell.variant.label, cell.dataset.name), entries.get(cell.key)
        found.setdefault(place, []).append(entry)
        baselines[place] = cell.variant.baseline or ""
        score, of_seed = _score(cell, entry, protocol), scores.setdefault(place, {})
        if score is not None and metric in score.values:
            of_seed[cell.variant.seed] = score
    return {
        place: summary_of(those, scores[place], scores.get((baselines[place], place[1]), {}), metric)
        for place, those in found.items()
    }


def _score(cell: Cell, entry: Entry | None, protocol: str) -> Score | None:
    """Return the score of a run that is in and did not fail, on the splits that the cell's data have now."""
    if entry is None or entry.failure is not None:
        return None
    return entry.score_under(protocol, cell.dataset.digest(protocol))


def summary_of(entries: Sequence[Entry | None], scores: Scores, baseline: Scores, metric: str) -> Summary:
    """Return what runs with these scores come to, beside their baseline's; ``None`` is a run that is still to come."""
    failed = sum(entry is not None and entry.failure is not None for entry in entries)
    if not scores:
        return Summary(planned=len(entries), failed=failed)
    pooled = pool_seeds(scores, metric)
    std = pooled.std(metric)
    return Summary(
        mean=pooled.mean(metric),
        std=None if math.isnan(std) else std,
        seeds=len(scores),
        planned=len(entries),
        failed=failed,
        difference=_difference(scores, baseline, metric),
    )


def _difference(scores: Scores, baseline: Scores, metric: str) -> Difference | None:
    """Compare over the seeds that both have, or over the splits of the only one; not with fewer than two values."""
    common = scores.keys() & baseline.keys()
    if not common:
        return None
    ours, theirs = (pool_seeds({seed: those[seed] for seed in common}, metric) for those in (scores, baseline))
    if len(ours.of(metric)) < 2 or len(ours.of(metric)) != len(theirs.of(metric)):
        return None
    if ours.protocol == RUN_TIME:  # each value in per cent of the one it is paired with
        ratios = tuple(100 * a / b for a, b in zip(ours.of(metric), theirs.of(metric), strict=True))
        ours = Score(ours.name, ours.protocol, {metric: ratios})
        theirs = Score(theirs.name, theirs.protocol, {metric: (100.0,) * len(ratios)})
    return paired_difference(ours, theirs, metric)
