"""Refuse misspelled names and missing files before PyTorch is imported, which takes seconds."""

import json
import os
import sys
from collections.abc import Iterable
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from sfa import registry
from sfa.errors import unknown_name
from sfa.folders import PathLike, existing, no_such_data
from sfa.registry import WORDS, is_path

FILE = "lists.json"
PLURALS = {"study": "studies", "spectral": "spectral", "postprocess": "postprocess"}
ALIASES = {"none", "neighbors", "all"}


@cache
def stored_lists() -> dict[str, list[Any]]:
    """Return the rows of all lists of the parts that come with the package."""
    lists: dict[str, list[Any]] = json.loads(files("sfa.cli").joinpath(FILE).read_text(encoding="utf-8"))
    return lists


def are_stored(kind: str) -> bool:
    """Tell whether the parts of a kind are those of the stored lists: nothing was imported or installed beside them."""
    return not (registry.HOMES.get(kind) in sys.modules or registry.entry_points(group=f"sfa.{kind}"))


def check_names(kind: str, *names: str | None, task: str | None = None) -> None:
    """Raise on a name that no part of a kind (and of a ``task``) has."""
    if not any(names) or not are_stored(kind):
        return
    rows = stored_lists()[PLURALS.get(kind, f"{kind}s")]
    known = {row[0] for row in rows}
    for name in names:
        if name and name not in known | ALIASES and not is_path(name):
            allowed = [row[0] for row in rows if task in (None, row[1])]
            raise unknown_name(WORDS.get(kind, kind), name, allowed)


def check_data(data: str | None, features: PathLike | None = None, labels: PathLike | None = None) -> str | None:
    """Raise if there are no such data, or no files that go with them; return what a set with a name holds."""
    if not are_stored("dataset"):
        return None
    sets = {name: task for name, task, *_ in stored_lists()["datasets"]}
    if data:
        if data.lower() in sets or data.lower().startswith("tu:") or (is_path(data) and not Path(data).exists()):
            return sets.get(data.lower())
        if "/" not in data and os.sep not in data and not Path(data).suffix and not Path(data).exists():
            raise no_such_data(data, sets)
        existing(data, "graph", or_folder=True)
    for kind, path in (("feature", features), ("label", labels)):
        if path is not None:
            existing(path, kind)
    return None


def check_recipe(recipe: str | None, data: str | None) -> None:
    """Raise unless a recipe is shipped, or a file that can be read."""
    if recipe is not None:
        from sfa.run.shipped import read_recipe, shipped_recipes

        if f"{recipe}/{data}".lower() not in shipped_recipes():
            read_recipe(recipe)


def check_runs(runs: Iterable[Path], *protocols: str | None, **data: Any) -> None:
    """Raise unless these are run folders, and there are such protocols and data."""
    from sfa.train.run_folder import RunFolder

    check_names("protocol", *protocols)
    for run in runs:
        RunFolder.open(run)
    check_data(**{"data": None, **data})
