"""The report on a search: its winners trained with fresh seeds, and the test labels read, once."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sfa.atomic import write_text
from sfa.errors import InputError, sentence_of
from sfa.evaluate import Difference, Score, paired_difference, pool_seeds
from sfa.run.identity import recipe_hash
from sfa.sweep.search import Search, SearchCallback, best_of_each, is_fatal, recipe_of
from sfa.sweep.trials import REPORT, Record

FRESH_SEEDS = 3
METRIC = "accuracy"

Scores = dict[tuple[str, str], dict[int, Score]]
"""By protocol and arm, the score of each seed."""


@dataclass(frozen=True)
class Summary:
    """The scores of one arm under one protocol, over the seeds of training; with one seed, over its splits."""

    mean: float | None = None
    std: float | None = None
    seeds: int = 0
    difference: Difference | None = None
    """From the first arm, paired over the same."""


@dataclass(frozen=True)
class Report:
    """What came out of a search.

    Attributes:
        winners: The trial that was chosen in each arm, on validation alone.
        seeds: Fresh seeds, with which each was trained.
        protocols: The name of the protocol and, where it differs, of what of it no choice has seen.
        table: By protocol and arm.
        failures: Why runs failed, by arm and seed.
    """

    winners: Mapping[str, Record]
    seeds: tuple[int, ...]
    protocols: tuple[str, ...]
    table: Mapping[tuple[str, str], Summary]
    failures: Mapping[str, str]


def fresh_seeds(search: Search, asked: Sequence[int] = ()) -> tuple[int, ...]:
    """Return the seeds to report with, asked for or the first three; raise if the search was made with one of them."""
    used = set(search.settings.seeds)
    if not asked:
        return tuple(seed for seed in range(FRESH_SEEDS + len(used)) if seed not in used)[:FRESH_SEEDS]
    stale = sorted(used & set(asked))
    if stale:
        raise InputError(
            f"The search was made with the training seed {', '.join(map(str, stale))}: report with fresh ones, for "
            f"instance --report-seeds {' '.join(map(str, fresh_seeds(search)))}."
        )
    return tuple(dict.fromkeys(asked))


def make_report(
    search: Search,
    *,
    seeds: Sequence[int] = (),
    device: str = "auto",
    strict: bool = False,
    callback: SearchCallback | None = None,
) -> Report:
    """Train the winners with fresh seeds and score them on the test parts, which ends the search.

    Every run is written to ``report.json`` as it ends; a report that was stopped goes on from there.

    Args:
        search: Which.
        seeds: Seeds of training; if there are none, the first three that the search was not made with.
        device: Where methods are trained.
        strict: Raise what makes a run fail.
        callback: Receives the progress.
    """
    fresh, callback = fresh_seeds(search, seeds), callback or SearchCallback()
    winners, content = _freeze_choice(search)
    protocols, path = search.test_protocols(), search.folder / REPORT
    runs = {(run["arm"], run["seed"]): run for run in content.get("runs", [])}
    for seed in fresh:
        for arm, record in winners.items():
            if (arm, seed) in runs and runs[arm, seed]["failure"] is None:
                continue
            recipe = recipe_of(search.arms[arm], record).updated({"training.seed": seed})
            failure, scores = None, list[Score]()
            callback.on_run_begin(arm, record.number, recipe)
            try:
                scores = search.train_and_score(recipe, search.data, protocols, device, callback)
            except Exception as error:
                if strict or is_fatal(error):
                    raise
                failure = sentence_of(error)
            values = {score.protocol: list(score.of(METRIC)) for score in scores}
            runs[arm, seed] = {"arm": arm, "seed": seed, "failure": failure, "scores": values}
            content["runs"] = list(runs.values())
            write_text(path, json.dumps(content, indent=1) + "\n")
            callback.on_report_end(arm, seed, failure)
    chosen = {place: run for place, run in runs.items() if place[1] in fresh}
    report = Report(
        winners=winners,
        seeds=fresh,
        protocols=tuple(protocol.name for protocol in protocols),
        table=_summarize(search, [protocol.name for protocol in protocols], chosen),
        failures={
            f"{arm}{arm and ' '}seed {seed}": run["failure"]
            for (arm, seed), run in chosen.items()
            if run["failure"] is not None
        },
    )
    write_text(path, json.dumps({**content, **_as_dict(report)}, indent=1) + "\n")
    return report


def _freeze_choice(search: Search) -> tuple[dict[str, Record], dict[str, Any]]:
    """Write down the chosen trial of each arm before any test label is read, while no process can begin another.

    Returns:
        The trials, and what ``report.json`` holds now.

    Raises:
        InputError: A trial is still running, an arm has no finished one, or another choice was reported on.
    """
    path = search.folder / REPORT
    with search.trials() as trials, trials.lock:
        records = search.records(trials)
        running = [
            f"{record.arm}{record.arm and ' '}trial {record.number}" for record in records if record.state == "running"
        ]
        if running:
            raise InputError(f"Another process is still at {running[0]}: report when the search is at its end.")
        winners = best_of_each(records)
        missing = [arm or "this search" for arm in search.arms if arm not in winners]
        if missing:
            raise InputError(f"No trial of {missing[0]} in {search.folder} is finished: there is nothing to report on.")
        choice = {
            arm: {
                "trial": record.number,
                "validation": record.value,
                "recipe_hash": recipe_hash(recipe_of(search.arms[arm], record).as_dict()),
            }
            for arm, record in winners.items()
        }
        if not path.exists():
            write_text(path, json.dumps({"chosen": choice}, indent=1) + "\n")
        try:
            content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
            before = content["chosen"]
        except (OSError, KeyError, TypeError, ValueError) as error:
            raise InputError(f"{path} is damaged: remove it, if no test label was read before.") from error
        if before != choice:
            raise InputError(f"{search.folder} has been reported on with another choice: it is reported once.")
    return winners, content


def _summarize(
    search: Search, protocols: Sequence[str], runs: Mapping[tuple[str, int], Mapping[str, Any]]
) -> dict[tuple[str, str], Summary]:
    scores: Scores = {(protocol, arm): {} for protocol in protocols for arm in search.arms}
    for (arm, seed), run in runs.items():
        for protocol, values in run["scores"].items():
            scores[protocol, arm][seed] = Score(arm, protocol, {METRIC: tuple(values)})
    first = next(iter(search.arms))
    return {
        (protocol, arm): _summary(found, {} if arm == first else scores[protocol, first])
        for (protocol, arm), found in scores.items()
    }


def _summary(scores: Mapping[int, Score], baseline: Mapping[int, Score]) -> Summary:
    if not scores:
        return Summary()
    pooled, common, difference = pool_seeds(scores, METRIC), scores.keys() & baseline.keys(), None
    if common:
        ours, theirs = (pool_seeds({seed: found[seed] for seed in common}, METRIC) for found in (scores, baseline))
        difference = paired_difference(ours, theirs, METRIC) if len(ours.of(METRIC)) > 1 else None
    std = pooled.std(METRIC)
    return Summary(pooled.mean(METRIC), None if math.isnan(std) else std, len(scores), difference)


def _as_dict(report: Report) -> dict[str, Any]:
    return {
        "seeds": list(report.seeds),
        "results": [
            {
                "protocol": protocol,
                "arm": arm,
                "metric": METRIC,
                "mean": summary.mean,
                "std": summary.std,
                "seeds": summary.seeds,
                "difference": None if summary.difference is None else summary.difference.as_dict(),
            }
            for (protocol, arm), summary in report.table.items()
        ],
        "failures": dict(report.failures),
    }
