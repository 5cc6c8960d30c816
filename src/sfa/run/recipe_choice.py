"""The recipe that is asked for: by name, file or value, with changes by path or by keyword."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from sfa.errors import InputError, unknown_name
from sfa.methods import DEFAULTS, available_methods
from sfa.registry import is_path, known_names
from sfa.run.changes import SECTIONS
from sfa.run.parsing import label_of
from sfa.run.recipe import Recipe, load_recipe
from sfa.run.shipped import shipped_recipes
from sfa.tasks import Task
from sfa.train import RunFolder

GivenRecipe = str | os.PathLike[str] | Mapping[str, Any] | Recipe

KEYWORDS = {
    "method": "method.name",
    "encoder": "encoder.name",
    "augmentation": "augmentation.name",
    "spectral": "spectral.name",
    "sampler": "sampler.name",
    "iterations": "spectral.iterations",
    "epochs": "training.epochs",
    "hidden": "method.hidden",
    "lr": "training.lr",
    "tau": "method.tau",
    "seed": "training.seed",
    "batch_size": "sampler.batch_size",
    "precision": "training.precision",
    "online_probe": "training.online_probe",
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
        if key == "spectral" and isinstance(value, str) and "," in value:
            result[key] = value.split(",")
        elif key in KEYWORDS and (key not in SECTIONS or isinstance(value, str)):
            result[KEYWORDS[key]] = value
        elif key == "training" and isinstance(value, Mapping):
            result |= {f"{key}.{option}": one for option, one in value.items()}
        elif key in Recipe.model_fields:
            result[key] = value
        else:
            raise unknown_name("keyword", key, dict.fromkeys([*KEYWORDS, *Recipe.model_fields]))
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
    """Return the recipe asked for, with all that is changed in it."""
    method = changes.get("method.name", changes.get("method"))
    if isinstance(method, str) and not is_path(method) and method not in known_names("method"):
        raise unknown_name("method", method, available_methods(task))
    return _chosen_recipe(recipe, task, dataset, changes.get("method.name")).updated(changes)


def _chosen_recipe(recipe: GivenRecipe | None, task: Task | None, dataset: str | None, method: str | None) -> Recipe:
    """Return the recipe asked for; if none is, the data set's own or else the defaults of the task's first method."""
    if isinstance(recipe, Recipe):
        return recipe
    if isinstance(recipe, Mapping):
        return Recipe.parse(recipe if task is None else {"method": DEFAULTS[task], **recipe})
    if recipe is not None:
        return load_recipe(Path(recipe) if isinstance(recipe, os.PathLike) else recipe, dataset, method, task)
    if _has_default(dataset):
        return load_recipe("default", dataset, method)
    return Recipe.parse({"method": DEFAULTS[task or "node"]})


def _has_default(dataset: str | None) -> bool:
    return f"default/{dataset}".lower() in shipped_recipes()


def hint_at_recipes(recipe: Recipe, dataset: str | None) -> str | None:
    """Return a hint at settings for these data: a method's own defaults are its authors' for one data set."""
    method, spectral = recipe.method["name"], label_of(recipe.spectral)
    if f"{method}/{dataset}".lower() not in shipped_recipes() or _has_default(dataset):
        return None
    same_map = "" if spectral == "none" else f" --spectral {spectral.replace(' + ', ',')}"
    best = ", --recipe best the best that we know" if f"best/{dataset}".lower() in shipped_recipes() else ""
    return f"Settings are {method}'s defaults; --recipe {method}{same_map} has its authors' for {dataset}{best}."


def settled_recipe(
    folder: RunFolder, recipe: GivenRecipe | None, changes: Mapping[str, Any], dataset: str | None
) -> Recipe:
    """Return the recipe of a run to go on with; what is given again must agree with it."""
    settled = load_recipe(folder.recipe_file)
    asked = settled if recipe is None else _chosen_recipe(recipe, None, dataset, changes.get("method.name"))
    asked = asked.updated(changes)
    if asked != settled:
        before, now = _flat(settled), _flat(asked)
        different = ", ".join(sorted(key for key in before.keys() | now.keys() if before.get(key) != now.get(key)))
        raise InputError(
            f"The run in {folder.path} was started with another value of {different}: "
            "resume it without that option, or start a new run in another --out."
        )
    return settled


def _flat(recipe: Recipe) -> dict[str, Any]:
    """Return the values of a recipe by path."""
    return {
        f"{name}.{key}" if key else name: value
        for name, section in recipe.as_dict().items()
        for key, value in (section.items() if isinstance(section, dict) else [("", section)])
    }
