"""Read recipes and other mappings from YAML, above all the recipes that come with the package."""

from collections.abc import Sequence
from functools import cache
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

import yaml

from sfa.errors import InputError, unknown_name
from sfa.folders import PathLike


@cache
def shipped_recipes() -> dict[str, dict[str, Any]]:
    """Return the recipes in the package by name, ``family/dataset``, each with a line ``about`` it."""
    recipes = {}
    with as_file(files("sfa.run").joinpath("recipes")) as folder:
        for file in sorted(folder.glob("*.yaml")):
            for key, recipe in read_yaml(file, f"recipe {file.name}", "method, spectral and training").items():
                if not key.startswith("_"):  # which holds settings that several recipes share
                    recipes[f"{file.stem}/{key}"] = recipe
    return recipes


def read_recipe(name: PathLike) -> dict[str, Any] | None:
    """Read the file of a recipe; return ``None`` for a shipped one or a family of them, and raise if it is neither."""
    path, shipped = Path(name), shipped_recipes()
    if path.suffix in (".yaml", ".yml") or path.exists():
        return read_yaml(path, f"recipe {path}", "method, spectral and training")
    if str(name) not in shipped and str(name).lower() not in {key.partition("/")[0] for key in shipped}:
        raise unknown_name("recipe", str(name), shipped)
    return None


def read_yaml(file: Path, what: str, keys: str) -> dict[str, Any]:
    """Read a mapping from a file; errors call it ``what``, and say the ``keys`` that it may have."""
    try:
        content = yaml.safe_load(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not text"
        raise InputError(f"The {what} cannot be read: {reason}.") from error
    except (yaml.YAMLError, RecursionError) as error:
        raise InputError(f"The {what} is not valid YAML: {' '.join(str(error).split())}") from error
    if not isinstance(content, dict):
        raise InputError(f"The {what} must be a mapping with keys such as {keys}.")
    return content


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
