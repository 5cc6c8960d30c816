"""Recipes by name or from a YAML file."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import yaml

from sfa.errors import InputError, unknown_name
from sfa.levels import Level
from sfa.registry import resolve
from sfa.run.recipe import Recipe


def load_recipe(
    name: str | Path, dataset: str | None = None, method: str | None = None, level: Level | None = None
) -> Recipe:
    """A recipe from a YAML file, or a shipped one: ``paper/cora``, or ``paper`` for the data set at hand.

    If it is to be of another method than it is, and there is a shipped one of that method for the same data, it is that
    with the spectral map of the one named: ``paper`` for CIFAR-10 and Barlow Twins is Barlow Twins' own with SFA.

    If there is none for the data, it is said what there are some for, of data of the same ``level`` if that is given.
    """
    shipped = shipped_recipes()
    key = (dataset or "").lower().removeprefix("tu:")  # tu:NCI1 is nci1
    for candidate in (str(name), f"{name}/{key}".lower()):
        if candidate in shipped:
            recipe, own = _shipped(candidate), f"{method}/{candidate.split('/')[1]}"
            if method in (None, recipe.method["name"]) or own not in shipped:
                return recipe
            return _shipped(own).updated({"spectral": recipe.spectral, "training.seed": recipe.training.seed})
    path = Path(name)
    if path.suffix in (".yaml", ".yml") or path.exists():
        try:
            return Recipe.parse(_parse_yaml(path.read_text(encoding="utf-8"), str(path)))
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is not text"
            raise InputError(f"The recipe {path} cannot be read: {reason}.") from error
    if any(key.startswith(f"{name}/") for key in shipped):
        family = [key for key in shipped if key.startswith(f"{name}/")]
        sets = [key.split("/")[1] for key in family if level in (None, _level_of(key))]
        others = f"there are some for: {', '.join(sets)}" if sets else f"they are all for {_level_of(family[0])}s"
        raise InputError(f"There is no {name!r} recipe for {dataset or 'these data'}; {others}.")
    raise unknown_name("recipe", str(name), shipped)


def _shipped(name: str) -> Recipe:
    return Recipe.parse({key: value for key, value in shipped_recipes()[name].items() if key != "about"})


def _level_of(name: str) -> Level:
    level: Level = resolve("method", _shipped(name).method["name"]).level
    return level


@cache
def shipped_recipes() -> dict[str, dict[str, Any]]:
    """The recipes in the package by name, ``family/dataset``, each with a line ``about`` it.

    A family is a file, whose keys are its recipes; a key that begins with ``_`` only holds what several share.
    """
    recipes = {}
    for file in sorted(files("sfa.run").joinpath("shipped").iterdir(), key=lambda entry: entry.name):
        if file.name.endswith(".yaml"):
            family = file.name.removesuffix(".yaml")
            for key, recipe in _parse_yaml(file.read_text(encoding="utf-8"), file.name).items():
                if not key.startswith("_"):
                    recipes[f"{family}/{key}"] = recipe
    return recipes


def _parse_yaml(text: str, source: str) -> dict[str, Any]:
    try:
        content = yaml.safe_load(text)
    except (yaml.YAMLError, RecursionError) as error:
        raise InputError(f"The recipe {source} is not valid YAML: {' '.join(str(error).split())}") from error
    if not isinstance(content, dict):
        raise InputError(f"The recipe {source} must be a mapping with keys such as method, spectral and training.")
    return content
