"""The report on a search: its winners are trained with fresh seeds, and the test labels are read, once."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import product
from typing import Annotated, Any

from annotated_types import Len
from pydantic import BaseModel, FiniteFloat

from sfa.atomic import write_text
from sfa.errors import InputError, sentence_of
from sfa.evaluate import Difference, Score, paired_difference, pool_seeds
from sfa.folders import read_json
from sfa.run.identity import recipe_hash
from sfa.sweep.development import unseen_protocol
from sfa.sweep.search import Search, SearchCallback, is_fatal, recipe_of
from sfa.sweep.trials import REPORT, Record, best_of_each
from sfa.train.run_folder import require_valid

FRESH_SEEDS = 3
METRIC = "accuracy"


@dataclass(frozen=True)
class Summary:
    """The scores of one recipe under one protocol, over the seeds of training; with one seed, over its splits."""

    mean: float | None = None
    std: float | None = None  # over seeds, of the means over splits, or over the splits of one seed
    seeds: int = 0
    difference: Difference | None = None  # from the baseline, paired over the same


@dataclass(frozen=True)
class Report:
    """The result of a search."""

    winners: Mapping[str, Record]  # the trial chosen in each arm, on validation alone
    seeds: tuple[int, ...]  # the fresh seeds that each was trained with
    protocols: tuple[str, ...]  # the protocol and, where it differs, the same without items seen by the search
    table: Mapping[tuple[str, str], Summary]  # by protocol and arm
    failures: Mapping[str, str]  # why runs failed, by arm and seed


def fresh_seeds(search: Search, asked: Sequence[int] = ()) -> tuple[int, ...]:
    """Return the seeds to report with, asked for or the first three; raise if the search was made with one of them."""
    used = search.settings.seeds
    first = [seed for seed in range(FRESH_SEEDS + len(used)) if seed not in used][:FRESH_SEEDS]
    stale = sorted(set(used) & set(asked))
    if stale:
        raise InputError(
            f"The search was made with the training seed {', '.join(map(str, stale))}: report with fresh ones, for "
            f"instance --report-seeds {' '.join(map(str, first))}."
        )
    return tuple(dict.fromkeys(asked or first))


def make_report(
    search: Search,
    *,
    seeds: Sequence[int] = (),
    device: str = "auto",
    strict: bool = False,
    callback: SearchCallback | None = None,
) -> Report:
    """Train the winners with fresh seeds and score them on the test parts, which ends the search.

    Every run is written to ``report.json`` as it ends; a report that was stopped goes on from there. ``seeds`` are by
    default the first three that the search was not made with; the other arguments are those of :meth:`Search.run`.
    """
    fresh, callback = fresh_seeds(search, seeds), callback or SearchCallback()
    winners, content = _freeze_choice(search)
    unseen = unseen_protocol(search.protocol, search.data)
    protocols = [search.protocol] if unseen is None else [search.protocol, unseen]
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
            _write(search, content)
            callback.on_report_end(arm, seed, failure)
    search.remove_shared_weights()
    chosen = {place: run for place, run in runs.items() if place[1] in fresh}
    names = tuple(protocol.name for protocol in protocols)
    table, first = {}, next(iter(search.arms))
    for name, arm in product(names, search.arms):
        baseline = {} if arm == first else _scores_of(chosen, name, first)
        table[name, arm] = summarize_seeds(_scores_of(chosen, name, arm), baseline, METRIC)
    failures = {f"{arm} seed {seed}".strip(): run["failure"] for (arm, seed), run in chosen.items() if run["failure"]}
    results = [
        {"protocol": protocol, "arm": arm, "metric": METRIC, **asdict(summary)}
        for (protocol, arm), summary in table.items()
    ]
    _write(search, content | {"seeds": list(fresh), "results": results, "failures": failures})
    return Report(winners, fresh, names, table, failures)


class _WrittenRun(BaseModel):
    arm: str
    seed: int
    failure: str | None
    scores: dict[str, Annotated[list[FiniteFloat], Len(1)]]


class _Written(BaseModel):
    """What ``report.json`` holds, from which a report goes on."""

    chosen: dict[str, Any]
    runs: list[_WrittenRun] = []


def _write(search: Search, content: Mapping[str, Any]) -> None:
    write_text(search.folder / REPORT, json.dumps(content, indent=1) + "\n")


def _freeze_choice(search: Search) -> tuple[dict[str, Record], dict[str, Any]]:
    """Write down the chosen trial of each arm before any test label is read, while no process can begin another."""
    path = search.folder / REPORT
    with search.trials() as trials, trials.lock:
        records = search.records(trials)
        for running in [record.name for record in records if record.state == "running"]:
            raise InputError(f"Another process is still at {running}: report when the search is at its end.")
        winners, choice = best_of_each(records), {}
        for arm, space in search.arms.items():
            if arm not in winners:
                none = f"No trial of {arm or 'this search'} in {search.folder} is finished"
                raise InputError(f"{none}: there is nothing to report on.")
            record, digest = winners[arm], recipe_hash(recipe_of(space, winners[arm]).as_dict())
            choice[arm] = {"trial": record.number, "validation": record.value, "recipe_hash": digest}
        if not path.exists():
            _write(search, {"chosen": choice})
        try:
            content: dict[str, Any] = read_json(path)
            require_valid(_Written, content, path)
        except InputError as error:
            raise InputError(f"{error} Remove it, if no test label was read before.") from error
        if content["chosen"] != choice:
            raise InputError(f"{search.folder} has been reported on with another choice: it is reported once.")
    return winners, content


def _scores_of(runs: Mapping[tuple[str, int], Mapping[str, Any]], protocol: str, arm: str) -> dict[int, Score]:
    """Return the scores of an arm under a protocol, by seed."""
    found = {seed: run["scores"] for (own, seed), run in runs.items() if own == arm and protocol in run["scores"]}
    return {seed: Score(arm, protocol, {METRIC: tuple(scores[protocol])}) for seed, scores in found.items()}


def summarize_seeds(
    scores: Mapping[int, Score], baseline: Mapping[int, Score], metric: str, *, in_per_cent: bool = False
) -> Summary:
    """Pool scores by seed, and compare those that the baseline has too; ``in_per_cent`` of the values paired with.

    There is no difference of fewer than two values.
    """
    if not scores:
        return Summary()
    pooled, common, difference = pool_seeds(scores, metric), scores.keys() & baseline.keys(), None
    if common:
        ours, theirs = (pool_seeds({seed: found[seed] for seed in common}, metric) for found in (scores, baseline))
        if 1 < len(ours.of(metric)) == len(theirs.of(metric)):
            if in_per_cent:
                ratios = tuple(100 * a / b for a, b in zip(ours.of(metric), theirs.of(metric), strict=True))
                ours = Score(ours.name, ours.protocol, {metric: ratios})
                theirs = Score(theirs.name, theirs.protocol, {metric: (100.0,) * len(ratios)})
            difference = paired_difference(ours, theirs, metric)
    std = pooled.std(metric)
    return Summary(pooled.mean(metric), None if math.isnan(std) else std, len(scores), difference)
