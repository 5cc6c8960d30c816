"""A page for each method: what it is, its options, its recipes, and what was measured of it."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml
from markdown_parts import folded, table
from measured_tables import measured_section
from options import description_and_options

from sfa.methods import Method, available_methods
from sfa.paper.results_files import Entry
from sfa.registry import resolve
from sfa.run import Recipe, shipped_recipes
from sfa.tasks import ITEMS

METHODS = available_methods()


def method_page(name: str, entries: Sequence[Entry], root: Path) -> str:
    """The Markdown of a method's page."""
    method = METHODS[name]
    recipe = Recipe.parse({"method": name})
    description, _ = description_and_options(method, "method")
    parts = [
        _opening(name, method),
        _commands(name),
        "## What it learns from",
        "\n".join([*(f"[](){{ #{path} }}" for path in _paths(method)), description]),
        *_options(recipe),
        *_part("encoder", recipe.encoder),
        *_part("augmentation", recipe.augmentation),
        *_fits(method),
        *_recipes(name),
        *measured_section(name, entries),
        *_source(method, root),
    ]
    return "\n\n".join(parts) + "\n"


def title(name: str) -> str:
    """What the method is called: ``GRACE``; of two of one name, that for graphs says so."""
    own = _name(METHODS[name])
    others = [other for other in METHODS.values() if other is not METHODS[name] and _name(other) == own]
    return f"{own} for graphs" if others and METHODS[name].task == "graph" else own


def _name(method: type[Method]) -> str:
    return (sys.modules[method.__module__].__doc__ or "").split(":")[0].split(" (")[0]


def _paths(method: type[Method]) -> list[str]:
    """The names by which docstrings refer to a method."""
    return [f"{method.__module__}.{method.__qualname__}", f"sfa.methods.{method.__qualname__}"]


def _opening(name: str, method: type[Method]) -> str:
    told = " ".join((sys.modules[method.__module__].__doc__ or "").strip().splitlines()[0].split())
    return f"# {title(name)}\n\n`{name}`, for {ITEMS[method.task]}. {told}"


def _commands(name: str) -> str:
    dataset = next((key.split("/")[1] for key in shipped_recipes() if key.startswith(f"{name}/")), "DATA")
    if not METHODS[name].learns:
        return f"```\nsfa train {dataset} --method {name}\n```"
    lines = [
        f"sfa train {dataset} --recipe {name}                   # the plain method",
        f"sfa train {dataset} --recipe {name} --spectral sfa    # with SFA in its slot",
    ]
    return "```\n" + "\n".join(lines) + "\n```"


def _options(recipe: Recipe) -> list[str]:
    """The method's own options."""
    own = _option_table("method", recipe.method)
    if own is None:
        return ["## Options", "The method itself has no options."]
    first = _first(recipe.method)
    told = f"Keyword arguments of the class, and keys of a recipe under `method`: `--set method.{first}=…`."
    return ["## Options", told, own]


def _part(kind: str, section: Any) -> list[str]:
    """The encoder or augmentation that a method has by default, with its options."""
    if section is None:
        return []
    part, name = resolve(kind, section["name"]), section["name"]
    description, _ = description_and_options(part, kind)
    told = [
        f"## The default {kind}",
        f"`{name}`, [`{part.__name__}`][{part.__module__}.{part.__qualname__}]: {_first_sentence(description)} "
        f"`--{kind} NAME` takes another (`sfa list {kind}s`), or [one of your own](../compose.md#an-{kind}).",
    ]
    own = _option_table(kind, section)
    if own is None:
        return told
    return [*told, f"Its options, keys of a recipe under `{kind}`: `--set {kind}.{_first(section)}=…`.", own]


def _option_table(kind: str, section: Mapping[str, Any]) -> str | None:
    """The options of a part, with the values that a complete recipe has; ``None`` if it has no options."""
    _, options = description_and_options(resolve(kind, section["name"]), kind)
    rows = [[f"`{one.name}`", one.values, f"`{section[one.name]!r}`", one.meaning] for one in options]
    return table(["option", "values", "default", "meaning"], rows) if rows else None


def _first(section: Mapping[str, Any]) -> str:
    return next(key for key in section if key != "name")


def _first_sentence(text: str) -> str:
    return " ".join(text.split("\n\n")[0].split())


def _fits(method: type[Method]) -> list[str]:
    facts = [
        "Several processes (`torchrun`) act as one." if method.spans_processes else "It runs in one process.",
        f"Samplers: {', '.join(f'`{name}`' for name in method.samplers) or 'any for its data'} (`sfa list samplers`).",
    ]
    if not method.learns:
        facts.append("It learns nothing: it has no encoder, takes no spectral map, and looks at the data once.")
    if method.transductive:
        facts.append("It has weights for each node: it embeds the graph that it was trained on and no other.")
    if method.requires_row_identity:
        facts.append("Its loss looks for single rows of the feature maps: maps that mix rows (`costa`) are refused.")
    told = ["## Settings outside the method", "\n".join(f"- {fact}" for fact in facts)]
    rows = [[f"`{path}`", f"`{value}`"] for path, value in _other_settings(method.defaults).items()]
    if rows:
        told += ["Unless a recipe says otherwise, training is as its authors had it:", table(["key", "value"], rows)]
    return told


def _other_settings(defaults: Mapping[str, Any]) -> dict[str, Any]:
    """A method's settings by path, but for its encoder and augmentation."""
    found: dict[str, Any] = {}
    for key, value in defaults.items():
        if isinstance(value, Mapping):
            found |= {f"{key}.{name}": inner for name, inner in value.items()}
        else:
            found[key] = value
    return {path: value for path, value in found.items() if path.split(".")[0] not in ("encoder", "augmentation")}


def _recipes(name: str) -> list[str]:
    own = {key: recipe for key, recipe in shipped_recipes().items() if _method_of(recipe) == name}
    if not own:
        return []
    rows = [[f"`{key}`", recipe["about"], str(_epochs(recipe))] for key, recipe in own.items()]
    whole = "\n".join(yaml.safe_dump({key: _without_about(recipe)}, sort_keys=False) for key, recipe in own.items())
    return [
        "## Shipped recipes",
        table(["recipe", "what it is", "epochs"], rows),
        folded("The recipes in full", f"```yaml\n{whole.rstrip()}\n```"),
    ]


def _without_about(recipe: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in recipe.items() if key != "about"}


def _method_of(recipe: dict[str, Any]) -> str:
    section = recipe.get("method", "grace")
    return str(section if isinstance(section, str) else section.get("name", "grace"))


def _epochs(recipe: dict[str, Any]) -> int:
    return Recipe.parse(_without_about(recipe)).training.epochs


def _source(method: type[Method], root: Path) -> list[str]:
    file = Path(inspect.getfile(method))
    text = file.read_text(encoding="utf-8").rstrip()
    return ["## The code", folded(f"`{file.relative_to(root).as_posix()}`", f"```python\n{text}\n```")]
