"""The report on a search: its winners are trained with fresh seeds, and the test labels are read, once."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from sfa.atomic import write_text
from sfa.errors import InputError, sentence_of
from sfa.evaluate import Difference, Score, paired_difference, pool_seeds
from sfa.run.identity import recipe_hash
from sfa.sweep.development import unseen_protocol
from sfa.sweep.search import Search, SearchCallback, best_of_each, is_fatal, recipe_of
from sfa.sweep.trials import REPORT, Record

FRESH_SEEDS = 3
METRIC = "accuracy"


@dataclass(frozen=True)
class Summary:
    """The scores of one arm under one protocol, over the seeds of training; with one seed, over its splits."""

    mean: float | None = None
    std: float | None = None
    seeds: int = 0
    difference: Difference | None = None  # paired, from the first arm


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
    chosen = {place: run for place, run in runs.items() if place[1] in fresh}
    names = tuple(protocol.name for protocol in protocols)
    table = {(name, arm): _summarize(search, name, arm, chosen) for name in names for arm in search.arms}
    failures = {f"{arm} seed {seed}".strip(): run["failure"] for (arm, seed), run in chosen.items() if run["failure"]}
    results = [
        {"protocol": protocol, "arm": arm, "metric": METRIC, **asdict(summary)}
        for (protocol, arm), summary in table.items()
    ]
    _write(search, content | {"seeds": list(fresh), "results": results, "failures": failures})
    return Report(winners, fresh, names, table, failures)


def _write(search: Search, content: Mapping[str, Any]) -> None:
    write_text(search.folder / REPORT, json.dumps(content, indent=1) + "\n")


def _freeze_choice(search: Search) -> tuple[dict[str, Record], dict[str, Any]]:
    """Write down the chosen trial of each arm before any test label is read, while no process can begin another.

    Return the trials and the content of ``report.json``.
    """
    path = search.folder / REPORT
    with search.trials() as trials, trials.lock:
        records = search.records(trials)
        running = next((record.name for record in records if record.state == "running"), None)
        if running is not None:
            raise InputError(f"Another process is still at {running}: report when the search is at its end.")
        winners = best_of_each(records)
        missing = next((arm or "this search" for arm in search.arms if arm not in winners), None)
        if missing is not None:
            raise InputError(f"No trial of {missing} in {search.folder} is finished: there is nothing to report on.")
        choice = {
            arm: {
                "trial": record.number,
                "validation": record.value,
                "recipe_hash": recipe_hash(recipe_of(search.arms[arm], record).as_dict()),
            }
            for arm, record in winners.items()
        }
        if not path.exists():
            _write(search, {"chosen": choice})
        try:
            content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
            before = content["chosen"]
        except (OSError, KeyError, TypeError, ValueError) as error:
            raise InputError(f"{path} is damaged: remove it, if no test label was read before.") from error
        if before != choice:
            raise InputError(f"{search.folder} has been reported on with another choice: it is reported once.")
    return winners, content


def _summarize(search: Search, protocol: str, arm: str, runs: Mapping[tuple[str, int], Mapping[str, Any]]) -> Summary:
    """Pool the scores of an arm, and compare them with those of the first arm, of the same seeds."""
    first = next(iter(search.arms))
    ours, theirs = (
        {
            seed: Score(own, protocol, {METRIC: tuple(run["scores"][protocol])})
            for (own, seed), run in runs.items()
            if own == wanted and protocol in run["scores"]
        }
        for wanted in (arm, first)
    )
    if not ours:
        return Summary()
    pooled, common, difference = pool_seeds(ours, METRIC), ours.keys() & theirs.keys(), None
    if common and arm != first:
        one, other = (pool_seeds({seed: found[seed] for seed in common}, METRIC) for found in (ours, theirs))
        difference = paired_difference(one, other, METRIC) if len(one.of(METRIC)) > 1 else None
    std = pooled.std(METRIC)
    return Summary(pooled.mean(METRIC), None if math.isnan(std) else std, len(ours), difference)
