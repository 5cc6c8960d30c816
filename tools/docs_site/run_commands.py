"""The commands of ``sfa`` that make a stored run, word for word: they resolve to its very settings."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from sfa.evaluate.protocols import default_protocol
from sfa.methods import available_methods
from sfa.paper import METHODS
from sfa.paper.results_files import Entry
from sfa.registry import registered
from sfa.run import Recipe, shipped_recipes
from sfa.run.identity import counts, recipe_hash
from sfa.run.legacy import modernize
from sfa.run.parsing import label_of
from sfa.run.recipe import as_changes
from sfa.run.shipped import parse_assignments
from sfa.run.train import asked_recipe
from sfa.tasks import Task

NOT_OF_A_RECIPE = ("beside", "device", "threads", "supervised")
NAMED = ("spectral", "sampler", "encoder", "augmentation")
"""Sections whose name is an option of ``sfa train``, which comes before their other keys."""


def commands(entry: Entry, task: Task, protocol: str, folder: str) -> list[str]:
    """The lines that train a run and score it under a protocol; what is not trained is scored beside a short run.

    The protocols of a search are known to ``sfa sweep`` alone: for them, the line trains the run that it scored.
    """
    if entry.kind == "timed":
        words = ["--datasets", entry.dataset, "--threads", str(entry.threads), "--seeds", str(entry.seed)]
        return [shlex.join(["sfa", "study", entry.labels[0][0], *words])]
    words = ["sfa", "train", entry.dataset, *options(entry, task), "--seed", str(entry.seed)]
    if protocol == default_protocol(task) and entry.kind == "trained":
        return [shlex.join(words)]
    if protocol not in registered("protocol"):
        return [shlex.join([*words, "--no-evaluate"])]
    more = ["--supervised"] if entry.kind.startswith("supervised") else []
    scored = ["sfa", "evaluate", folder, "--protocol", protocol, *more]
    return [shlex.join([*words, "--no-evaluate", "--out", folder]), shlex.join(scored)]


def options(entry: Entry, task: Task) -> tuple[str, ...]:
    """The shortest options of ``sfa train`` that ask for the settings of a run, but for its seed."""
    recipe = json.dumps({key: value for key, value in entry.recipe.items() if key not in NOT_OF_A_RECIPE})
    return _options(entry.dataset, task, entry.method or METHODS[task], recipe, entry.recipe_hash, entry.kind)


@cache
def _options(dataset: str, task: Task, method: str, recipe: str, wanted: str, kind: str) -> tuple[str, ...]:
    own = modernize(json.loads(recipe))
    found = []
    for base in _bases(dataset, task, method):
        target = own
        if kind != "trained":  # whatever has no influence is that of the base, and one epoch is enough
            basic = _ask(base, task, dataset).as_dict()
            target = {**basic, **own, "training": {**basic["training"], "epochs": 1, "warmup": 0}}
            if "precision" in basic["method"]:  # of the loss
                target["method"] = {**target["method"], "precision": basic["method"]["precision"]}
        words = _with_changes(base, Recipe.parse(target), task, dataset)
        if kind != "trained" or recipe_hash(_ask(words, task, dataset).as_dict()) == wanted:
            found.append(words)
    return tuple(min(found, key=lambda words: len(shlex.join(words))))


def _bases(dataset: str, task: Task, method: str) -> Iterator[list[str]]:
    """Ways to begin: the method's own recipe, others of it for the data, and its defaults."""
    if method in available_methods(task):
        families = [name.split("/")[0] for name in shipped_recipes() if name.split("/")[1] == dataset]
        for family in sorted(families, key=lambda name: name != method):
            if shipped_recipes()[f"{family}/{dataset}"].get("method") == method or family == method:
                yield ["--recipe", family]
    yield ["--method", method]


def _with_changes(base: Sequence[str], target: Recipe, task: Task, dataset: str) -> list[str]:
    """The words of a base with those that turn it into the target: names of parts first, then all other keys."""
    words, named, sets = list(base), _ask(base, task, dataset), list[str]()
    if target.spectral != named.spectral:
        label = label_of(target.spectral)
        words += ["--spectral", label.replace(" + ", ",")]
    for section in NAMED[1:]:
        old, new = getattr(named, section), getattr(target, section)
        if isinstance(old, dict) and isinstance(new, dict) and old["name"] != new["name"]:
            words += [f"--{section}", new["name"]]
    if target.training.epochs != named.training.epochs:
        words += ["--epochs", str(target.training.epochs)]
    reached, wanted = _ask(words, task, dataset).by_path(), target.by_path()
    for path, value in wanted.items():
        if counts(path, value) | counts(path, reached.get(path)) and value != reached.get(path):
            sets.append(f"{path}={value if isinstance(value, str) else json.dumps(value)}")
    return [*words, *(["--set", *sets] if sets else [])]


def _ask(words: Sequence[str], task: Task, dataset: str) -> Recipe:
    """The recipe that ``sfa train`` makes of these words."""
    given: dict[str, Any] = {}
    values = list(words)
    while values:
        name = values.pop(0).removeprefix("--")
        if name == "set":
            return _asked(given, parse_assignments(values), task, dataset)
        given[name] = values.pop(0)
    return _asked(given, {}, task, dataset)


def _asked(given: Mapping[str, Any], changes: Mapping[str, Any], task: Task, dataset: str) -> Recipe:
    recipe = given.get("recipe")
    keywords = {key: int(one) if key == "epochs" else one for key, one in given.items() if key != "recipe"}
    return asked_recipe(recipe, task, dataset, as_changes(changes, keywords))
