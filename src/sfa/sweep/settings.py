"""The settings of a search, stored in its folder, so that it is only continued with the same ones."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PlainSerializer
from torch_geometric.data import Data

from sfa.atomic import write_text
from sfa.errors import InputError
from sfa.methods import DEFAULTS
from sfa.registry import resolve
from sfa.run import Recipe, load_recipe, shipped_recipes
from sfa.run.train import folder_name
from sfa.sweep.ranges import Range, parse_range, shipped_ranges
from sfa.sweep.space import Space, with_values
from sfa.sweep.trials import PrunerName, SamplerName
from sfa.tasks import Task

FILE = "search.json"


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
    seeds: tuple[int, ...] = (0,)  # of training; a trial's value is the mean over them
    sampler: SamplerName = "tpe"  # proposes trials
    seed: int = 0  # of the sampler
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

    def as_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return self.model_dump(mode="json", by_alias=True)

    @classmethod
    def read(cls, folder: Path) -> Settings:
        """Read the settings of the search in a folder."""
        path = folder / FILE
        if not path.exists():
            raise InputError(f"There is no search in {folder}: `sfa sweep DATA --out {folder}` makes one.")
        try:
            return cls.model_validate_json(path.read_text(encoding="utf-8"))
        except OSError as error:
            raise InputError(f"{path} cannot be read: {error.strerror or error}.") from error
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise InputError(f"{path} is damaged, or was written by another version of sfa.") from error

    def save(self, folder: Path) -> None:
        """Write the settings to a folder, which is made; raise if another search was begun there."""
        try:
            folder.mkdir(parents=True, exist_ok=True)
            if not (folder / FILE).exists():
                write_text(folder / FILE, json.dumps(self.as_dict(), indent=1) + "\n")
        except OSError as error:
            raise InputError(f"Cannot search in {folder}: {error.strerror or error}.") from error
        self.require_same(folder)

    def require_same(self, folder: Path) -> None:
        """Raise if another search was begun in a folder; the same data may lie elsewhere now."""
        if not (folder / FILE).exists():
            return
        before, now = Settings.read(folder).as_dict(), self.as_dict()
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
        found = Recipe.parse({"method": chosen, "spectral": "sfa"})
    return found.updated({"training.diagnose_every": 0, **changes})  # diagnostics change no result, and take time


def method_ranges(recipe: Recipe, ablate: Range | None) -> list[Range]:
    """Return the ranges that come with the method, without the one that is compared."""
    method, shipped = recipe.method["name"], shipped_ranges()
    if method not in shipped:
        raise InputError(
            f"No ranges come with {method} (some do with {', '.join(shipped)}): give --range KEY=LOW..HIGH or --ranges."
        )
    compared = [] if ablate is None else [ablate.key, f"{ablate.key}.name"]
    return [range_ for range_ in shipped[method] if range_.key not in compared]
