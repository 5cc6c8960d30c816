"""The rows of the page of all results: what was measured, over which seeds, at what budget, and by which command."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from measured import Group, groups, shipped_recipe
from run_commands import commands

from sfa.data import names
from sfa.paper.results_files import Entry
from sfa.paper.tables.selection import Budget
from sfa.run import shipped_recipes
from sfa.run.parsing import GENTLE, label_of

FIELDS = [
    "method",
    "map",
    "data",
    "protocol",
    "metric",
    "mean",
    "std",
    "over",
    "seeds",
    "epochs",
    "published",
    "budget",
]
FIELDS += ["commands", "studies", "recipe"]
SEED = "SEED"
"""In commands, the place of the seed."""
VALUES = {"clustering": "runs", "tu-svm-10fold": "folds", "run-time": "turns"}
"""What a deviation is taken over if there is one seed; by default splits."""


def results_script(entries: Sequence[Entry]) -> str:
    """A script that holds the rows, which pages on disk can load too."""
    rows = [[row[field] for field in FIELDS] for row in result_rows(entries)]
    lines = ",\n".join(json.dumps(row, ensure_ascii=False, separators=(",", ":")) for row in rows)
    return f"window.sfaResults = {{fields: {json.dumps(FIELDS)}, rows: [\n{lines}\n]}};\n"


def result_rows(entries: Sequence[Entry]) -> list[dict[str, Any]]:
    """A row for every recipe, data set, protocol and metric, seeds pooled, in the order of data sets and methods."""
    of_data = {one.name: (place, one.task) for place, one in enumerate(names())}
    found = []
    for kind, method in dict.fromkeys((entry.kind, entry.method) for entry in entries):
        for group in groups(entries, method=method, kind=kind):
            found += [(of_data[group.dataset][0], row) for row in _rows(group, of_data[group.dataset][1])]
    by_kind = {"trained": 0, "timed": 2}
    found.sort(key=lambda one: (one[0], by_kind.get(one[1]["kind"], 1), one[1]["method"], one[1]["protocol"]))
    return [row for _, row in found]


def _rows(group: Group, task: Any) -> Iterator[dict[str, Any]]:
    entry = group.entries[0]
    is_run = entry.kind in ("trained", "timed")
    published = published_epochs(entry) if entry.kind == "trained" else None
    epochs = group.recipe["training"]["epochs"] if is_run else None
    place = f"runs/{entry.dataset}-{entry.method or 'baseline'}-{entry.recipe_hash[:6]}-{SEED}"
    lines = commands(entry, task, group.protocol, place)
    row = {
        "kind": entry.kind,
        "method": f"{entry.kind}, {entry.method}" if entry.kind == "untrained encoder" else entry.method or entry.kind,
        "map": _map(group) if is_run else "",
        "data": group.dataset,
        "protocol": group.protocol,
        "seeds": sorted(group.scores),
        "epochs": epochs,
        "published": published,
        "budget": _batches(group) if entry.kind == "trained" else "",
        "commands": [line.replace(f"--seed {entry.seed}", f"--seed {SEED}") for line in lines],
        "studies": "; ".join(dict.fromkeys(study for one in group.entries for study, _ in one.labels)),
        "recipe": entry.recipe_hash,
    }
    for metric in group.metrics:
        summary = group.summary(metric)
        told = {"mean": _rounded(summary.mean), "std": _rounded(summary.std), "over": _over(group, metric)}
        yield {**row, "metric": metric, **told}


def _rounded(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.6g}")


def published_epochs(entry: Entry) -> int | None:
    """The epochs of the method's recipe for the data, by default its authors'; ``None`` if nobody published any."""
    assert entry.method is not None
    name = f"{entry.method}/{entry.dataset}"
    if str(shipped_recipes().get(name, {}).get("about", "")).startswith("nobody"):
        return None
    return shipped_recipe(entry.method, entry.dataset).training.epochs


def _map(group: Group) -> str:
    is_gentle = label_of(group.recipe["spectral"]) == "gentle" and group.spectral.count("=") == len(GENTLE) - 1
    return "gentle" if is_gentle else group.spectral


def _batches(group: Group) -> str:
    """Batches and learning rate where they are not the recipe's own; epochs done where patience ended a run."""
    own = Budget.of(shipped_recipe(group.recipe["method"]["name"], group.dataset).as_dict())
    spent = Budget.of({**group.recipe, "training": {**group.recipe["training"], "epochs": own.epochs}})
    done = sorted({entry.epochs for entry in group.entries if entry.epochs is not None})
    ended = " to ".join(map(str, dict.fromkeys((done[0], done[-1])))) if done else ""
    ended = f"ended by patience after {ended}" if done and done[0] < group.recipe["training"]["epochs"] else ""
    before = "before its correction" if group.correction else ""
    return ", ".join(filter(None, (spent.words(own), ended, before)))


def _over(group: Group, metric: str) -> str:
    """What the deviation is over."""
    values = len(next(iter(group.scores.values())).of(metric))
    if len(group.scores) > 1:
        return f"{len(group.scores)} seeds"
    return f"{values} {VALUES.get(group.protocol, 'splits')}, one seed" if values > 1 else ""
