"""Choose the recipe that was asked for: by name, file or value, with changes by path or by keyword."""

from collections.abc import Mapping, Sequence
from typing import Any

import yaml

from sfa.errors import InputError, unknown_name
from sfa.methods import available_methods
from sfa.registry import is_path, known_names
from sfa.run.changes import SECTIONS
from sfa.run.parsing import label_of
from sfa.run.recipe import GivenRecipe, Recipe, load_recipe
from sfa.run.shipped import shipped_recipes
from sfa.tasks import Task
from sfa.train import RunFolder

KEYWORDS = {
    **{section: f"{section}.name" for section in SECTIONS},
    **{key: f"training.{key}" for key in ("epochs", "lr", "seed", "precision", "online_probe")},
    **{key: f"method.{key}" for key in ("hidden", "tau")},
    "iterations": "spectral.iterations",
    "batch_size": "sampler.batch_size",
}
"""Short names of keys of a recipe."""


def as_changes(paths: Mapping[str, Any], keywords: Mapping[str, Any]) -> dict[str, Any]:
    """Return changes of a recipe by path; keywords that are ``None`` change nothing.

    >>> as_changes({"encoder.layers": 3}, {"epochs": 20, "spectral": "noise,sfa", "lr": None})
    {'encoder.layers': 3, 'training.epochs': 20, 'spectral': ['noise', 'sfa']}
    """
    result = dict(paths)
    for key, value in keywords.items():
        if value is None:
            continue
        if key not in KEYWORDS and key not in Recipe.model_fields:
            raise unknown_name("keyword", key, {**KEYWORDS, **Recipe.model_fields})
        if key == "spectral" and isinstance(value, str) and "," in value:
            result[key] = value.split(",")
        elif key == "training" and isinstance(value, Mapping):
            result |= {f"training.{option}": one for option, one in value.items()}
        else:
            is_section = key in SECTIONS and not isinstance(value, str)
            result[key if is_section else KEYWORDS.get(key, key)] = value
    return result


def parse_assignments(assignments: Sequence[str]) -> dict[str, Any]:
    """Return ``["method.tau=0.5"]`` as ``{"method.tau": 0.5}``; values are read as YAML."""
    changes = {}
    for assignment in assignments:
        key, equals, value = assignment.partition("=")
        try:
            changes[key.strip()] = yaml.safe_load(value)
        except yaml.YAMLError:
            equals = ""
        if not equals:
            raise InputError(f"--set takes KEY=VALUE, for instance method.tau=0.5, not {assignment!r}.")
    return changes


def asked_recipe(recipe: GivenRecipe | None, task: Task, dataset: str | None, changes: Mapping[str, Any]) -> Recipe:
    """Return the recipe that was asked for, with its changes; by default that of the data set, or of the task."""
    method = changes.get("method.name", changes.get("method"))
    if isinstance(method, str) and not is_path(method) and method not in known_names("method"):
        raise unknown_name("method", method, available_methods(task))
    if recipe is None:
        recipe = "default" if _is_shipped("default", dataset) else {}
    return load_recipe(recipe, dataset, changes.get("method.name"), task).updated(changes)


def _is_shipped(family: str, dataset: str | None) -> bool:
    return f"{family}/{dataset}".lower() in shipped_recipes()


def hint_at_recipes(recipe: Recipe, dataset: str | None) -> str | None:
    """Return a hint at settings for these data, if there are some that were not asked for."""
    method, spectral = recipe.method["name"], label_of(recipe.spectral)
    if not _is_shipped(method, dataset) or _is_shipped("default", dataset):
        return None
    same_map = "" if spectral == "none" else f" --spectral {spectral.replace(' + ', ',')}"
    best = ", --recipe best the best that we know" if _is_shipped("best", dataset) else ""
    return f"Settings are {method}'s defaults; --recipe {method}{same_map} has its authors' for {dataset}{best}."


def settled_recipe(
    folder: RunFolder, recipe: GivenRecipe | None, changes: Mapping[str, Any], dataset: str | None
) -> Recipe:
    """Return the recipe of a run to resume; settings that are given again must agree with it."""
    settled = load_recipe(folder.recipe_file)
    asked = load_recipe(settled if recipe is None else recipe, dataset, changes.get("method.name")).updated(changes)
    if asked != settled:
        before, now = settled.by_path(), asked.by_path()
        different = ", ".join(sorted(key for key in before.keys() | now.keys() if before.get(key) != now.get(key)))
        started = f"The run in {folder.path} was started with another value of {different}"
        raise InputError(f"{started}: resume it without that option, or start a new run in another --out.")
    return settled
