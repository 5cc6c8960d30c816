"""Read the recipes that come with the package."""

from functools import cache
from importlib.resources import files
from typing import Any

import yaml

from sfa.errors import InputError


@cache
def shipped_recipes() -> dict[str, dict[str, Any]]:
    """Return the recipes in the package by name, ``family/dataset``, each with a line ``about`` it."""
    recipes = {}
    for file in sorted(files("sfa.run").joinpath("recipes").iterdir(), key=lambda entry: entry.name):
        if file.name.endswith(".yaml"):
            family = file.name.removesuffix(".yaml")
            for key, recipe in parse_yaml(file.read_text(encoding="utf-8"), file.name).items():
                if not key.startswith("_"):  # which holds settings that several recipes share
                    recipes[f"{family}/{key}"] = recipe
    return recipes


def parse_yaml(text: str, source: str) -> dict[str, Any]:
    """Read a recipe from YAML."""
    try:
        content = yaml.safe_load(text)
    except (yaml.YAMLError, RecursionError) as error:
        raise InputError(f"The recipe {source} is not valid YAML: {' '.join(str(error).split())}") from error
    if not isinstance(content, dict):
        raise InputError(f"The recipe {source} must be a mapping with keys such as method, spectral and training.")
    return content
