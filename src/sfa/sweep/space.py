"""What a search goes through: a recipe, and ranges of some of its keys, checked against the recipe beforehand."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

from sfa.errors import InputError, unknown_name
from sfa.registry import resolve
from sfa.run import Recipe
from sfa.run.identity import INDIFFERENT, LATER
from sfa.run.legacy import STEPS, flatten, modern_paths
from sfa.sweep.ranges import Choices, Interval, Range
from sfa.tasks import ITEMS

NAMES = ("method", "encoder", "augmentation", "spectral", "sampler")
"""Sections of a recipe whose name decides which options they have."""


@dataclass(frozen=True)
class Space:
    """A recipe with ranges, names of methods, maps and samplers first: options apply to some of them only.

    Made by :meth:`of`, which checks.
    """

    recipe: Recipe
    ranges: tuple[Range, ...]

    @classmethod
    def of(cls, recipe: Recipe, ranges: Iterable[Range]) -> Space:
        """Raises unless every key is there, under some name at least, and takes both ends or all choices."""
        named = [_with_full_name(found) for found in ranges]
        if not named:
            raise InputError("A search needs ranges to choose from: --range KEY=LOW..HIGH or KEY=A,B.")
        keys = [_today(recipe, found.key) for found in named]
        twice = next((key for key in keys if keys.count(key) > 1), None)
        if twice is not None:
            raise InputError(f"There are two ranges of {twice}.")
        names = [found for found in named if _is_name(found.key)]
        for found in names:
            _check_name(recipe, found)
        variants = [with_values(recipe, dict(chosen)) for chosen in product(*(_pairs(found) for found in names))]
        others = [_settled(found, variants) for found in named if not _is_name(found.key)]
        return cls(recipe, (*names, *others))

    def values(self, choose: Callable[[Range], Any]) -> dict[str, Any]:
        """A value for every range that applies, by key; those of names are settled first."""
        names = {found.key: choose(found) for found in self.ranges if _is_name(found.key)}
        recipe = with_values(self.recipe, names)
        others = [found for found in self.ranges if not _is_name(found.key)]
        return {**names, **{found.key: choose(found) for found in others if value_at(recipe, found.key) is not MISSING}}

    def where(self, names: Mapping[str, Any]) -> Space:
        """The part of it with some values settled."""
        recipe = with_values(self.recipe, names)
        return Space(recipe, tuple(found for found in self.ranges if found.key not in names))

    def with_values(self, values: Mapping[str, Any]) -> Recipe:
        """The recipe with these values."""
        return with_values(self.recipe, values)

    def grid(self) -> list[dict[str, Any]]:
        """All combinations, in order; those that differ only in what does not apply are one."""
        found: dict[str, dict[str, Any]] = {}
        for point in product(*(_pairs(one) for one in self.ranges)):
            chosen = dict(point)
            values = self.values(lambda one, chosen=chosen: chosen[one.key])  # type: ignore[misc]
            found.setdefault(repr(values), values)
        return list(found.values())


def with_values(recipe: Recipe, values: Mapping[str, Any]) -> Recipe:
    """Change some keys of a recipe; ``augmentation.edge_drop.0`` is the first element of ``augmentation.edge_drop``."""
    whole = {key: value for key, value in values.items() if not key.rpartition(".")[2].isdigit()}
    changed = recipe.updated(whole)
    lists: dict[str, list[Any]] = {}
    for key in values.keys() - whole.keys():
        parent, _, place = key.rpartition(".")
        lists.setdefault(parent, list(value_at(changed, parent)))[int(place)] = values[key]
    return changed.updated(lists) if lists else changed


MISSING = object()


def value_at(recipe: Recipe, key: str) -> Any:
    """Return the value of a key; a mark of its own where the recipe has no such key.

    Keys of the old layout, ``method.edge_drop.0`` or ``smoothing``, are understood: searches that were begun with them
    have trials by these names.
    """
    complete = recipe.as_dict()
    found = _value_in(complete, key)
    if found is not MISSING:
        return found
    if key in STEPS and resolve("method", recipe.method["name"]).task == "node":
        return flatten(complete).get(key, LATER[key])
    return _value_in(flatten(complete), key)


def _value_in(values: Any, key: str) -> Any:
    for part in key.split("."):
        if isinstance(values, dict) and part in values:
            values = values[part]
        elif isinstance(values, list) and part.isdigit() and int(part) < len(values):
            values = values[int(part)]
        else:
            return MISSING
    return values


def _today(recipe: Recipe, key: str) -> str:
    """Return the key of today's layout for one that may be of the old."""
    if not key.startswith("method.") or _value_in(recipe.as_dict(), key) is not MISSING:
        return key
    option, _, place = key.removeprefix("method.").partition(".")
    path = modern_paths(recipe.method["name"], option, None)[0][0]
    return f"{path}.{place}" if place else path


def keys_of(recipe: Recipe) -> list[str]:
    """Return all keys that a range can be of."""
    keys = []
    for name, section in recipe.as_dict().items():
        several = isinstance(section, list) and bool(section)
        parts = {f"{name}.{i}": one for i, one in enumerate(section)} if several else {name: section}
        for path, part in parts.items():
            keys += [f"{path}.{key}" for key in part] if isinstance(part, dict) else [path]
    return [key for key in keys if key.removeprefix("training.") not in INDIFFERENT]


def _with_full_name(found: Range) -> Range:
    """``spectral=none,sfa`` is short for ``spectral.name=none,sfa``."""
    return Choices(f"{found.key}.name", found.values) if isinstance(found, Choices) and found.key in NAMES else found


def _is_name(key: str) -> bool:
    return key.endswith(".name")


def _pairs(found: Range) -> list[tuple[str, Any]]:
    return [(found.key, value) for value in found.grid()]


def _check_name(recipe: Recipe, found: Range) -> None:
    if value_at(recipe, found.key) is MISSING:
        raise unknown_name("recipe key", found.key, keys_of(recipe))
    if isinstance(found, Interval):
        raise InputError(f"{found.key} is a name: give choices, such as {found.key}=A,B, in place of {found.text}.")
    for value in found.values:
        _try(recipe, found, value)


def _settled(found: Range, variants: list[Recipe]) -> Range:
    """The range in the type that its key has; raises unless the key is there and takes the range's ends."""
    if found.key.removeprefix("training.") in INDIFFERENT:
        what = "the seed is given by --seeds" if found.key.endswith("seed") else "it changes no result"
        raise InputError(f"{found.key} is nothing to choose: {what}.")
    applicable = [recipe for recipe in variants if value_at(recipe, found.key) is not MISSING]
    if not applicable:
        raise unknown_name("recipe key", found.key, {key for recipe in variants for key in keys_of(recipe)})
    settled = found.settled(value_at(applicable[0], found.key))
    for recipe in applicable:
        if isinstance(value_at(recipe, found.key), dict):
            raise InputError(f"{found.key} is a section of the recipe: give a range of one of its keys.")
        for value in settled.ends:
            _try(recipe, settled, value)
    return settled


def _try(recipe: Recipe, found: Range, value: Any) -> None:
    try:
        both = recipe, with_values(recipe, {found.key: value})
        tasks = [resolve("method", one.method["name"]).task for one in both]
        if len(set(tasks)) > 1:
            raise InputError(f"{value} embeds {ITEMS[tasks[1]]}, and {recipe.method['name']} {ITEMS[tasks[0]]}.")
    except InputError as error:
        raise InputError(f"The range {found.key}={found.text} cannot be searched: {error}") from error
