"""The settings of a search, kept in its folder: whoever continues it does so with the same."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sfa.atomic import write_text
from sfa.errors import InputError
from sfa.methods import DEFAULTS
from sfa.registry import resolve
from sfa.run import Recipe, load_recipe, shipped_recipes
from sfa.sweep.ranges import Range, parse_range
from sfa.sweep.space import Space
from sfa.sweep.trials import PrunerName, SamplerName
from sfa.tasks import Task

FILE = "search.json"


@dataclass(frozen=True)
class Settings:
    """A search in plain values.

    Attributes:
        source: Where the data come from.
        fingerprint: Of the data.
        protocol: Under which the winner will be reported.
        recipe: Where the search starts from.
        ranges: What it chooses from.
        ablate: A range whose choices are each searched on their own, with as many trials.
        seeds: Of training; a trial's value is the mean over them.
        sampler: What proposes trials.
        seed: Of the sampler.
        pruner: What gives up trials after some of the seeds.
    """

    source: Mapping[str, Any]
    fingerprint: str
    protocol: str
    recipe: Recipe
    ranges: tuple[Range, ...]
    ablate: Range | None = None
    seeds: tuple[int, ...] = (0,)
    sampler: SamplerName = "tpe"
    seed: int = 0
    pruner: PrunerName = "none"

    def __post_init__(self) -> None:
        if not self.seeds:
            raise InputError("A search needs at least one seed of training.")
        if self.pruner == "median" and len(self.seeds) < 2:
            raise InputError(
                "The median pruner gives up trials after their first seeds, and there is but one: give more --seeds, "
                "or take --pruner none."
            )

    def arms(self) -> dict[str, Space]:
        """What is searched, by name: one space without a name, or one for each choice that is compared.

        Raises unless all ranges fit the recipe.
        """
        if self.ablate is None:
            return {"": Space.of(self.recipe, self.ranges)}
        (choices,) = Space.of(self.recipe, [self.ablate]).ranges
        if any(choices.key in (found.key, f"{found.key}.name") for found in self.ranges):
            raise InputError(f"{choices.key} is compared by --ablate: leave out its range.")
        everything = Space.of(self.recipe, [choices, *self.ranges])  # each range applies to one of them at least
        return {
            f"{choices.key}={choices.stored(value)}": everything.where({choices.key: value}) for value in choices.grid()
        }

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "data": dict(self.source),
            "fingerprint": self.fingerprint,
            "protocol": self.protocol,
            "recipe": self.recipe.as_dict(),
            "ranges": [f"{found.key}={found.text}" for found in self.ranges],
            "ablate": None if self.ablate is None else f"{self.ablate.key}={self.ablate.text}",
            "seeds": list(self.seeds),
            "sampler": self.sampler,
            "seed": self.seed,
            "pruner": self.pruner,
        }

    @classmethod
    def read(cls, folder: Path) -> Settings:
        """The search that was begun in a folder."""
        path = folder / FILE
        if not path.exists():
            raise InputError(f"There is no search in {folder}: `sfa sweep DATA --out {folder}` makes one.")
        try:
            given = json.loads(path.read_text(encoding="utf-8"))
            return cls(
                source=dict(given["data"]),
                fingerprint=str(given["fingerprint"]),
                protocol=str(given["protocol"]),
                recipe=Recipe.parse(given["recipe"]),
                ranges=tuple(map(parse_range, given["ranges"])),
                ablate=None if given["ablate"] is None else parse_range(given["ablate"]),
                seeds=tuple(map(int, given["seeds"])),
                sampler=given["sampler"],
                seed=int(given["seed"]),
                pruner=given["pruner"],
            )
        except OSError as error:
            raise InputError(f"{path} cannot be read: {error.strerror or error}.") from error
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise InputError(f"{path} is damaged, or was written by another version of sfa.") from error

    def settle(self, folder: Path) -> None:
        """Note the search in its folder, which is made; raises if another one was begun there."""
        try:
            folder.mkdir(parents=True, exist_ok=True)
            if not (folder / FILE).exists():
                write_text(folder / FILE, json.dumps(self.as_dict(), indent=1) + "\n")
        except OSError as error:
            raise InputError(f"Cannot search in {folder}: {error.strerror or error}.") from error
        self.require_same(folder)

    def require_same(self, folder: Path) -> None:
        """Raise if another search was begun in a folder."""
        if not (folder / FILE).exists():
            return
        before, now = Settings.read(folder).as_dict(), self.as_dict()
        different = [key for key in now if _comparable(before, key) != _comparable(now, key)]
        if different:
            raise InputError(
                f"The search in {folder} was begun with other {' and '.join(different)}: go on with the same, or "
                "search in another --out."
            )


def _comparable(settings: Mapping[str, Any], key: str) -> Any:
    """Data are the same by what they are, wherever they lie."""
    return settings["fingerprint"] if key == "data" else settings[key]


def starting_recipe(
    dataset: str,
    task: Task,
    *,
    method: str | None = None,
    recipe: str | None = None,
    changes: Mapping[str, Any] | None = None,
) -> Recipe:
    """Return the recipe that a search starts from: the one named, or the method's own for this data set, with SFA."""
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
    # Diagnostics change no result, and take time.
    return found.updated({"training.diagnose_every": 0, **(changes or {})})
