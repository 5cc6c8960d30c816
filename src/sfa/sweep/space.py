"""A recipe and the ranges of some of its keys, checked against the recipe before a search begins."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

from sfa.errors import InputError, unknown_name
from sfa.registry import resolve
from sfa.run import Recipe
from sfa.run.changes import MISSING, SECTIONS, value_in
from sfa.run.identity import INDIFFERENT, LATER
from sfa.run.legacy import STEPS, flatten, modern_paths
from sfa.sweep.ranges import Choices, Range
from sfa.tasks import ITEMS


@dataclass(frozen=True)
class Space:
    """A recipe with ranges; those of names come first, because the others apply to some names only."""

    recipe: Recipe
    ranges: tuple[Range, ...]

    @classmethod
    def of(cls, recipe: Recipe, ranges: Iterable[Range]) -> Space:
        """Check the ranges: every key must exist, with some name at least, and allow both ends or all choices."""
        ranges = [  # spectral=none,sfa is short for spectral.name=none,sfa
            replace(one, key=f"{one.key}.name") if isinstance(one, Choices) and one.key in SECTIONS else one
            for one in ranges
        ]
        if not ranges:
            raise InputError("A search needs ranges to choose from: --range KEY=LOW..HIGH or KEY=A,B.")
        keys = [_modern_key(recipe, range_.key) for range_ in ranges]
        if len(set(keys)) < len(keys):
            raise InputError(f"There are two ranges of {next(key for key in keys if keys.count(key) > 1)}.")
        names = [_check_range(range_, [recipe]) for range_ in ranges if _is_name(range_)]
        variants = [with_values(recipe, chosen) for chosen in _combinations(names)]
        return cls(recipe, (*names, *(_check_range(range_, variants) for range_ in ranges if not _is_name(range_))))

    def values(self, choose: Callable[[Range], Any]) -> dict[str, Any]:
        """Choose a value for every range that applies, by key; names are chosen first."""
        chosen = {range_.key: choose(range_) for range_ in self.ranges if _is_name(range_)}
        recipe = with_values(self.recipe, chosen)
        others = [range_ for range_ in self.ranges if not _is_name(range_)]
        return chosen | {range_.key: choose(range_) for range_ in others if value_at(recipe, range_.key) is not MISSING}

    def with_values(self, values: Mapping[str, Any]) -> Recipe:
        """Return the recipe with these values."""
        return with_values(self.recipe, values)

    def grid(self) -> list[dict[str, Any]]:
        """Return all combinations in order; those that differ only in values that do not apply are one."""
        found: dict[str, dict[str, Any]] = {}
        for point in _combinations(self.ranges):
            values = self.values(lambda one, point=point: point[one.key])  # type: ignore[misc]
            found.setdefault(repr(values), values)
        return list(found.values())

    def stored_grid(self) -> list[dict[str, Any]]:
        """Return the grid as trials store it."""
        ranges = {range_.key: range_ for range_ in self.ranges}
        return [{key: ranges[key].stored(value) for key, value in point.items()} for point in self.grid()]


def with_values(recipe: Recipe, values: Mapping[str, Any]) -> Recipe:
    """Change some keys of a recipe; ``augmentation.edge_drop.0`` is the first element of ``augmentation.edge_drop``."""
    whole = {key: value for key, value in values.items() if not key.rpartition(".")[2].isdigit()}
    changed = recipe.updated(whole)
    lists: dict[str, list[Any]] = {}
    for key in values.keys() - whole.keys():
        parent, _, place = key.rpartition(".")
        lists.setdefault(parent, list(value_at(changed, parent)))[int(place)] = values[key]
    return changed.updated(lists) if lists else changed


def value_at(recipe: Recipe, key: str) -> Any:
    """Return the value of a key, or :data:`MISSING`.

    Keys of the old layout, ``method.edge_drop.0`` or ``smoothing``, are understood: older searches stored trials by
    these names.
    """
    complete, keys = recipe.as_dict(), key.split(".")
    found = value_in(complete, keys)
    if found is MISSING:
        found = value_in(flatten(complete), keys)
    if found is MISSING and key in STEPS and resolve("method", recipe.method["name"]).task == "node":
        return LATER[key]
    return found


def _modern_key(recipe: Recipe, key: str) -> str:
    """Return the key in today's layout of recipes."""
    if not key.startswith("method.") or value_in(recipe.as_dict(), key.split(".")) is not MISSING:
        return key
    option, _, place = key.removeprefix("method.").partition(".")
    path = modern_paths(recipe.method["name"], option, None)[0][0]
    return f"{path}.{place}" if place else path


def _keys_of(recipe: Recipe) -> list[str]:
    """Return all keys that a range can be of."""
    keys = []
    for name, section in recipe.as_dict().items():
        several = isinstance(section, list) and bool(section)
        parts = {f"{name}.{i}": one for i, one in enumerate(section)} if several else {name: section}
        for path, part in parts.items():
            keys += [f"{path}.{key}" for key in part] if isinstance(part, dict) else [path]
    return [key for key in keys if key.removeprefix("training.") not in INDIFFERENT]


def _is_name(range_: Range) -> bool:
    return range_.key.endswith(".name")


def _combinations(ranges: Iterable[Range]) -> Iterator[dict[str, Any]]:
    return map(dict, product(*([(range_.key, value) for value in range_.grid()] for range_ in ranges)))


def _check_range(range_: Range, variants: list[Recipe]) -> Range:
    """Return the range in the type of its key; raise unless some variants of the recipe have the key and allow it."""
    if range_.key.removeprefix("training.") in INDIFFERENT:
        reason = "the seed is given by --seeds" if range_.key.endswith("seed") else "it changes no result"
        raise InputError(f"{range_.key} is nothing to choose: {reason}.")
    applicable = [recipe for recipe in variants if value_at(recipe, range_.key) is not MISSING]
    if not applicable:
        raise unknown_name("recipe key", range_.key, {key for recipe in variants for key in _keys_of(recipe)})
    if any(isinstance(value_at(recipe, range_.key), dict) for recipe in applicable):
        raise InputError(f"{range_.key} is a section of the recipe: give a range of one of its keys.")
    typed = range_.typed_like(value_at(applicable[0], range_.key))
    try:
        for recipe, value in product(applicable, typed.ends):
            methods = [one.method["name"] for one in (recipe, with_values(recipe, {typed.key: value}))]
            own, other = (resolve("method", name).task for name in methods)
            if own != other:
                raise InputError(f"{methods[1]} embeds {ITEMS[other]}, and {methods[0]} {ITEMS[own]}.")
    except InputError as error:
        raise InputError(f"The range {typed} cannot be searched: {error}") from error
    return typed
