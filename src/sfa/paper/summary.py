"""The table of a plan: the mean of each variant on each data set, and its difference from the baseline."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sfa.evaluate import Difference, Score, paired_difference, pool_seeds
from sfa.paper.entry import Entry
from sfa.paper.plans import RUN_TIME, Cell, Plan

Scores = Mapping[int, Score]  # scores by seed


@dataclass(frozen=True)
class Summary:
    """One variant on one data set by one metric: its mean, and how many seeds it has, is to have, and failed.

    ``std`` is over seeds, of the means over splits, or over the splits of one seed. ``difference`` from the baseline is
    paired over the same; of times it is in per cent.
    """

    mean: float | None = None
    std: float | None = None
    seeds: int = 0
    planned: int = 0
    failed: int = 0
    difference: Difference | None = None


def metrics_of(plan: Plan, entries: Mapping[str, Entry]) -> list[tuple[str, str]]:
    """Return the protocols and metrics that a study has values of."""
    scores = [(name, _score(cell, entries, name)) for name in plan.protocols for cell in plan.cells]
    return list(dict.fromkeys((name, metric) for name, score in scores if score for metric in score.values))


def summarise(plan: Plan, entries: Mapping[str, Entry], protocol: str, metric: str) -> dict[tuple[str, str], Summary]:
    """Return summaries by variant and data set, in the order of the plan; ``entries`` are by key."""
    found: dict[tuple[str, str], list[Entry | None]] = {}
    scores: dict[tuple[str, str], dict[int, Score]] = {}
    baselines: dict[tuple[str, str], str] = {}
    for cell in plan.cells:
        place = cell.variant.label, cell.dataset.name
        found.setdefault(place, []).append(entries.get(cell.key))
        baselines[place] = cell.variant.baseline or ""
        score, by_seed = _score(cell, entries, protocol), scores.setdefault(place, {})
        if score is not None and metric in score.values:
            by_seed[cell.variant.seed] = score
    return {
        place: summary_of(those, scores[place], scores.get((baselines[place], place[1]), {}), metric)
        for place, those in found.items()
    }


def _score(cell: Cell, entries: Mapping[str, Entry], protocol: str) -> Score | None:
    """Return the score of a run that did not fail, on the splits that the cell's data have now."""
    entry = entries.get(cell.key)
    if entry is None or entry.failure is not None:
        return None
    return entry.score_under(protocol, cell.dataset.digest(protocol))


def summary_of(entries: Sequence[Entry | None], scores: Scores, baseline: Scores, metric: str) -> Summary:
    """Summarize runs with these scores beside those of their baseline; ``None`` is a run that is not measured yet."""
    failures = [entry for entry in entries if entry is not None and entry.failure is not None]
    counts: dict[str, Any] = {"planned": len(entries), "failed": len(failures)}
    if not scores:
        return Summary(**counts)
    pooled = pool_seeds(scores, metric)
    std = None if math.isnan(pooled.std(metric)) else pooled.std(metric)
    return Summary(pooled.mean(metric), std, len(scores), difference=_difference(scores, baseline, metric), **counts)


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


def ratio(relative: Difference) -> str:
    """Format a relative change in per cent as a factor with its interval."""
    mean, low, high = (1 + change / 100 for change in (relative.mean, relative.low, relative.high))
    return f"× {mean:.3f} [{low:.3f}, {high:.3f}]"
