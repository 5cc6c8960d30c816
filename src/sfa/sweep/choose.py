"""The choice: the trial with the highest validation accuracy, as a recipe; and all trials as a table."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from sfa.atomic import write_text
from sfa.run import Recipe
from sfa.run.recipe import Training
from sfa.sweep.settings import Settings
from sfa.sweep.space import Space
from sfa.sweep.trials import Record


def best_of(records: Iterable[Record]) -> Record | None:
    """The finished trial of the highest value, of equal ones the first; ``None`` if none is finished."""
    finished = [record for record in records if record.state == "done" and record.value is not None]
    return min(finished, key=lambda record: (-(record.value or 0.0), record.number), default=None)


def best_of_each(records: Sequence[Record]) -> dict[str, Record]:
    """The best trial of every arm that has a finished one."""
    arms = dict.fromkeys(record.arm for record in records)
    found = {arm: best_of(record for record in records if record.arm == arm) for arm in arms}
    return {arm: best for arm, best in found.items() if best is not None}


def recipe_of(space: Space, record: Record) -> Recipe:
    """The recipe that a trial tried."""
    ranges = {found.key: found for found in space.ranges}
    return space.with_values({key: ranges[key].value(stored) for key, stored in record.params.items()})


def write_choice(
    folder: Path, settings: Settings, arms: Mapping[str, Space], records: Sequence[Record]
) -> dict[str, Record]:
    """Write ``trials.csv`` and the best recipe, ``best.yaml``, of several arms that of each; returns their trials."""
    write_text(folder / "trials.csv", trials_table(settings, arms, records))
    chosen = best_of_each(records)
    for arm, record in chosen.items():
        if arm:
            write_text(folder / best_file(arm), _as_file(folder, recipe_of(arms[arm], record), record))
    best = best_of(chosen.values())
    if best is not None:
        write_text(folder / best_file(), _as_file(folder, recipe_of(arms[best.arm], best), best))
    return chosen


def best_file(arm: str = "") -> str:
    """The file of an arm's best recipe, or of the best of all."""
    name = arm.rpartition("=")[2]
    plain = "".join(letter if letter.isalnum() else "-" for letter in name)
    return f"best{plain and '-'}{plain}.yaml"


def trials_table(settings: Settings, arms: Mapping[str, Space], records: Sequence[Record]) -> str:
    """All trials as CSV: a line each, with a column for every range and the accuracy of every seed."""
    keys = list(dict.fromkeys(found.key for space in arms.values() for found in space.ranges))
    seeds = [f"seed {seed}" for seed in settings.seeds]
    columns = [*(["arm"] if any(arms) else []), "trial", "state", "validation", *seeds, *keys, "seconds", "failure"]
    file = io.StringIO()
    writer = csv.DictWriter(file, columns, lineterminator="\n", extrasaction="ignore")
    writer.writeheader()
    for record in records:
        row: dict[str, Any] = {
            "arm": record.arm,
            "trial": record.number,
            "state": record.state,
            "validation": record.value,
            **dict(zip(seeds, record.values, strict=False)),
            **record.params,
            "seconds": record.seconds,
            "failure": record.failure,
        }
        writer.writerow(row)  # None is an empty field
    return file.getvalue()


def _as_file(folder: Path, recipe: Recipe, record: Record) -> str:
    # A search looks at no diagnostics; whoever trains the recipe wants them.
    usual = recipe.updated({"training.diagnose_every": Training.model_fields["diagnose_every"].default})
    arm = f" of {record.arm}" if record.arm else ""
    head = f"# Trial {record.number}{arm} of the search in {folder.name}: validation accuracy {record.value:.2f} %.\n"
    return head + yaml.safe_dump(usual.as_dict(), sort_keys=False, allow_unicode=True)
