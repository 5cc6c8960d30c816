"""The report on a search: its winners trained with fresh seeds, and the test labels read, once."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sfa.atomic import write_text
from sfa.errors import InputError
from sfa.experiments.cells import Plan
from sfa.experiments.entry import Entry
from sfa.experiments.results import Ledger
from sfa.experiments.runner import Runner, Watcher
from sfa.experiments.summary import Summary, summarise
from sfa.recipes.identity import recipe_hash
from sfa.sweep.cells import cell_of, plan_of
from sfa.sweep.choose import best_of_each, recipe_of
from sfa.sweep.search import Search
from sfa.sweep.trials import REPORT, Record, Trials

FRESH_SEEDS = 3
METRIC = "accuracy"


@dataclass(frozen=True)
class Report:
    """What came out.

    Attributes:
        winners: The trial that was chosen in each arm, on validation alone.
        seeds: Fresh ones, with which each was trained.
        protocols: Names: of the protocol, and of what of it no choice has seen, where that is less than all.
        table: By protocol and arm. Arms are compared with the first, paired over seeds.
        failures: Why runs failed, by their titles.
    """

    winners: Mapping[str, Record]
    seeds: tuple[int, ...]
    protocols: tuple[str, ...]
    table: Mapping[tuple[str, str], Summary]
    failures: Mapping[str, str]


def fresh_seeds(search: Search, asked: Sequence[int] = ()) -> tuple[int, ...]:
    """Seeds to report with, asked for or the first three; none that the search was made with, which knows its luck."""
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


def frozen_winners(search: Search) -> dict[str, Record]:
    """The chosen trial of each arm, noted for good while no process can take up another."""
    with search.trials() as trials, trials.at_rest():
        chosen = _winners(search, trials)
        _freeze(search, chosen)
    return chosen


def _winners(search: Search, trials: Trials) -> dict[str, Record]:
    """The chosen trial of each arm; raises if there is none, or if a trial is still under way."""
    busy = [f"{arm}{arm and ' '}trial {number}" for arm in search.arms for number in trials.busy(arm)]
    if busy:
        raise InputError(f"Another process is still at {busy[0]}: report when the search is at its end.")
    found = best_of_each(search.records(trials))
    missing = [arm or "this search" for arm in search.arms if arm not in found]
    if missing:
        raise InputError(f"No trial of {missing[0]} in {search.folder} is finished: there is nothing to report on.")
    return found


def make_report(
    search: Search,
    ledger: Ledger,
    *,
    seeds: Sequence[int] = (),
    device: str = "auto",
    strict: bool = False,
    watcher: Watcher | None = None,
) -> Report:
    """Train the winners with fresh seeds and score them on the test parts; the search is at its end with that.

    Args:
        search: Which.
        ledger: Where the runs are entered.
        seeds: Of training; if there are none, the first three that the search was not made with.
        device: Where methods are trained.
        strict: Raise what makes a run fail.
        watcher: Is told how it goes.
    """
    settled, chosen = fresh_seeds(search, seeds), frozen_winners(search)
    plan = report_plan(search, chosen, settled)
    runner = Runner(ledger, device=device, strict=strict, watcher=watcher or Watcher())
    runner.run(plan)
    entries = {entry.key: entry for entry in ledger.select(keys=[cell.key for cell in plan.cells])}
    report = Report(chosen, settled, plan.protocols, _table(search, plan, entries), dict(runner.failures))
    write_text(search.folder / REPORT, json.dumps({**_choice(search, chosen), **_plain(report)}, indent=1) + "\n")
    return report


def report_plan(search: Search, chosen: Mapping[str, Record], seeds: Sequence[int]) -> Plan:
    """The runs of a report."""
    data, first = search.all_data(), next(iter(search.arms))
    cells = [
        cell_of(
            data,
            recipe_of(search.arms[arm], record),
            seed,
            _label(search, arm),
            baseline=None if arm == first else _label(search, first),
        )
        for seed in seeds
        for arm, record in chosen.items()
    ]
    return plan_of(cells, data)


def _label(search: Search, arm: str) -> str:
    return f"{search.folder.name}{arm and ', '}{arm}: best"


def _table(search: Search, plan: Plan, entries: Mapping[str, Entry]) -> dict[tuple[str, str], Summary]:
    (dataset,) = {cell.dataset.name for cell in plan.cells}
    found = {protocol: summarise(plan, entries, protocol, METRIC) for protocol in plan.protocols}
    return {
        (protocol, arm): summaries[_label(search, arm), dataset]
        for protocol, summaries in found.items()
        for arm in search.arms
    }


def _choice(search: Search, chosen: Mapping[str, Record]) -> dict[str, Any]:
    return {
        "chosen": {
            arm: {
                "trial": record.number,
                "validation": record.value,
                "recipe_hash": recipe_hash(recipe_of(search.arms[arm], record).as_dict()),
            }
            for arm, record in chosen.items()
        }
    }


def _freeze(search: Search, chosen: Mapping[str, Record]) -> None:
    """Note the choice before any test label is read; raise if another one was noted."""
    path, choice = search.folder / REPORT, _choice(search, chosen)
    if path.exists():
        try:
            before = json.loads(path.read_text(encoding="utf-8"))["chosen"]
        except (OSError, KeyError, TypeError, ValueError) as error:
            raise InputError(f"{path} is damaged: remove it, if no test label was read before.") from error
        if before != choice["chosen"]:
            raise InputError(f"{search.folder} has been reported on with another choice: it is reported once.")
        return
    write_text(path, json.dumps(choice, indent=1) + "\n")


def _plain(report: Report) -> dict[str, Any]:
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
