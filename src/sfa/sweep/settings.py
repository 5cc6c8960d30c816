"""What is searched: a recipe with ranges of its keys, and all settings of a search, as its folder stores them."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PlainSerializer
from torch_geometric.data import Data

from sfa.atomic import locked, write_text
from sfa.errors import InputError, translate_os_errors, unknown_name
from sfa.folders import read_json
from sfa.methods import DEFAULTS
from sfa.ranges import Seed
from sfa.registry import resolve
from sfa.run import Recipe, load_recipe, shipped_recipes
from sfa.run.changes import MISSING, SECTIONS, value_in
from sfa.run.identity import INDIFFERENT, LATER
from sfa.run.legacy import STEPS, flatten, modern_paths
from sfa.run.source import is_known
from sfa.run.train import folder_name
from sfa.sweep.ranges import MOST, Choices, Range, parse_range, shipped_ranges
from sfa.sweep.trials import LOCK, STORAGE, PrunerName, SamplerName
from sfa.tasks import ITEMS, Task

FILE = "search.json"


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
    """Return the value of a key, also of the old layout, by which older searches stored trials; or :data:`MISSING`."""
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
    grids = [[(range_.key, value) for value in range_.grid()] for range_ in ranges]
    if (points := math.prod(map(len, grids))) > MOST:
        raise InputError(f"The ranges have {points} points together, and at most {MOST} are searched: take fewer.")
    return map(dict, product(*grids))


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


WrittenRange = Annotated[Range, BeforeValidator(parse_range), PlainSerializer(lambda range_: str(range_))]
"""A range that is stored as it is written on the command line."""


class Settings(BaseModel):
    """Everything that decides a search."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)

    source: dict[str, Any] = Field(validation_alias="data", serialization_alias="data")
    fingerprint: str
    protocol: str  # under which the winner is reported
    recipe: Annotated[Recipe, BeforeValidator(lambda given: load_recipe(given))]  # that the search starts from
    ranges: tuple[WrittenRange, ...]
    ablate: WrittenRange | None = None  # whose choices are each searched on their own, with as many trials
    seeds: tuple[Seed, ...] = (0,)  # of training; a trial's value is the mean over them
    sampler: SamplerName = "tpe"  # proposes trials
    seed: Seed = 0  # of the sampler
    pruner: PrunerName = "none"  # stops trials after some of the seeds

    def arms(self) -> dict[str, Space]:
        """Return the spaces to search: one without a name, or one for each choice that is compared, by name."""
        if self.ablate is None:
            return {"": Space.of(self.recipe, self.ranges)}
        (choices,) = Space.of(self.recipe, [self.ablate]).ranges
        key = choices.key
        if any(key in (range_.key, f"{range_.key}.name") for range_ in self.ranges):
            raise InputError(f"{key} is compared by --ablate: leave out its range.")
        both = Space.of(self.recipe, [choices, *self.ranges]).ranges  # each range applies to one choice at least
        ranges = tuple(range_ for range_ in both if range_.key != key)
        return {
            f"{key}={choices.stored(value)}": Space(with_values(self.recipe, {key: value}), ranges)
            for value in choices.grid()
        }

    @classmethod
    def read(cls, folder: Path) -> Settings:
        """Read the settings of the search in a folder."""
        path = folder / FILE
        if not path.exists():
            raise InputError(f"There is no search in {folder}: `sfa sweep DATA --out {folder}` makes one.")
        values = read_json(path)
        try:
            return cls.model_validate(values)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise InputError(f"{path} is damaged, or was written by another version of sfa.") from error

    def save(self, folder: Path) -> None:
        """Write the settings to a folder, which is made; raise if another search was begun there."""
        with translate_os_errors(f"Cannot search in {folder}"):
            folder.mkdir(parents=True, exist_ok=True)
            with locked(folder / LOCK, wait=True):
                self.require_same(folder)
                if not (folder / FILE).exists():
                    write_text(folder / FILE, json.dumps(self.model_dump(mode="json", by_alias=True), indent=1) + "\n")

    def require_same(self, folder: Path) -> None:
        """Raise if another search was begun in a folder, or none can be; the same data may lie elsewhere now."""
        if "?" in str(folder.absolute()):
            raise InputError(f"The folder {folder} has a question mark in its name, which SQLite's addresses forbid.")
        with translate_os_errors(f"Cannot search in {folder}"):  # its name may be too long
            begun, has_trials = ((folder / name).exists() for name in (FILE, STORAGE))
        if not begun:
            if has_trials:
                raise InputError(f"{folder} has the trials of a search without its {FILE}: search in another --out.")
            return
        before, now = (one.model_dump(mode="json", by_alias=True) for one in (Settings.read(folder), self))
        different = [key for key in now if before[key] != now[key] and key != "data"]
        if different:
            different = ["data", *different] if "fingerprint" in different else different
            raise InputError(
                f"The search in {folder} was begun with other {' and '.join(different)}: go on with the same, or "
                "search in another --out."
            )


def default_folder(data: Data, recipe: Recipe) -> Path:
    """Return the folder of a search for which none is named."""
    return Path("sweeps") / folder_name(folder_name(str(data.name)) or "graph", recipe.method["name"])


def starting_recipe(
    dataset: str, task: Task, *, method: str | None = None, recipe: str | None = None, changes: Mapping[str, Any]
) -> Recipe:
    """Return the recipe to start from: the one named, or the method's own for this data set, with SFA."""
    if method is not None:
        resolve("method", method)
    chosen = method or DEFAULTS[task]
    if recipe is not None:
        found = load_recipe(recipe, dataset, method)
        found = found if method is None else found.updated({"method.name": method})
    elif f"{chosen}/{dataset}".lower() in shipped_recipes():
        found = load_recipe(f"{chosen}/{dataset}".lower())
    else:
        by_data = {} if is_known(dataset) else {"feature_norm": "auto"}
        found = Recipe.parse({"method": chosen, "spectral": "sfa", **by_data})
    return found.updated({"training.diagnose_every": 0, **changes})  # diagnostics change no result, and take time


def method_ranges(recipe: Recipe, ablate: Range | None) -> list[Range]:
    """Return the ranges that come with the method, without the one that is compared."""
    method, shipped = recipe.method["name"], shipped_ranges()
    if method not in shipped:
        raise InputError(
            f"No ranges come with {method} (some do with {', '.join(shipped)}): give --range KEY=LOW..HIGH or --ranges."
        )
    settled = [] if ablate is None else [ablate.key, f"{ablate.key}.name"]
    if recipe.feature_norm == "standard":  # of measurements, for which no other choice is any good
        settled.append("feature_norm")
    return [range_ for range_ in shipped[method] if range_.key not in settled]
