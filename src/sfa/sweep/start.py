"""The search that is asked for: by the options of ``sfa sweep``, or by the folder of one that was begun."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from torch_geometric.data import Data

from sfa.data import fingerprint
from sfa.errors import InputError
from sfa.evaluate import default_protocol
from sfa.methods import DEFAULTS
from sfa.registry import resolve
from sfa.run import Recipe, load_recipe, shipped_recipes
from sfa.run.display import Display
from sfa.run.source import Source
from sfa.run.train import folder_name
from sfa.sweep.ranges import Range, load_ranges, merged, parse_range, shipped_ranges
from sfa.sweep.search import Search
from sfa.sweep.settings import Settings
from sfa.sweep.trials import PrunerName, SamplerName
from sfa.tasks import task_of


def open_search(
    data: Any,
    *,
    method: str | None = None,
    recipe: str | None = None,
    set: Mapping[str, Any] | None = None,
    epochs: int | None = None,
    ranges: Sequence[str] = (),
    ranges_file: Path | None = None,
    ablate: str | None = None,
    seeds: Sequence[int] = (0,),
    sampler: SamplerName = "tpe",
    pruner: PrunerName = "none",
    seed: int = 0,
    protocol: str | None = None,
    out: Path | None = None,
    data_root: Path | None = None,
    display: Display | None = None,
) -> Search:
    """Load the data and return the search that the options of ``sfa sweep`` describe; ``set`` changes the recipe.

    It starts from the recipe named, or from the method's own for these data, with SFA.
    """
    given = list(map(parse_range, ranges))
    keys = [range_.key for range_ in given]
    if len(dict.fromkeys(keys)) < len(keys):
        raise InputError(f"There are two ranges of {next(key for key in keys if keys.count(key) > 1)}.")
    given = merged(load_ranges(ranges_file) if ranges_file is not None else [], given)
    compared = None if ablate is None else parse_range(ablate)
    source = Source(data, data_root)
    loaded = source.load(display)
    # Diagnostics change no result, and take time.
    changes = {"training.diagnose_every": 0, **(set or {}), **({} if epochs is None else {"training.epochs": epochs})}
    start = _starting_recipe(loaded, method, recipe).updated(changes)
    settings = Settings(
        source=source.as_dict(),
        fingerprint=fingerprint(loaded),
        protocol=protocol or default_protocol(task_of(loaded)),
        recipe=start,
        ranges=tuple(given or _method_ranges(start, compared)),
        ablate=compared,
        seeds=tuple(dict.fromkeys(seeds)),
        sampler=sampler,
        seed=seed,
        pruner=pruner,
    )
    search = Search(settings, loaded, out or default_folder(loaded, start))
    settings.require_same(search.folder)
    return search


def reopen_search(folder: Path, *, data_root: Path | None = None, display: Display | None = None) -> Search:
    """Return the search that was begun in a folder, with its data."""
    settings = Settings.read(folder)
    root = data_root or settings.source.get("data_root")
    return Search(settings, Source(settings.source.get("data"), root).load(display), folder)


def default_folder(data: Data, recipe: Recipe) -> Path:
    """Return the folder of a search for which none is named."""
    return Path("sweeps") / folder_name(folder_name(str(data.name)) or "graph", recipe.method["name"])


def _starting_recipe(data: Data, method: str | None, recipe: str | None) -> Recipe:
    name = str(data.name)
    if method is not None:
        resolve("method", method)
    if recipe is not None:
        found = load_recipe(recipe, name, method)
        return found if method is None else found.updated({"method.name": method})
    chosen = method or DEFAULTS[task_of(data)]
    own = f"{chosen}/{name}".lower()
    return load_recipe(own) if own in shipped_recipes() else Recipe.parse({"method": chosen, "spectral": "sfa"})


def _method_ranges(recipe: Recipe, ablate: Range | None) -> list[Range]:
    """Return the ranges that come with the method, without the one that is compared."""
    method, shipped = recipe.method["name"], shipped_ranges()
    if method not in shipped:
        raise InputError(
            f"No ranges come with {method} (some do with {', '.join(shipped)}): give --range KEY=LOW..HIGH or --ranges."
        )
    compared = [] if ablate is None else [ablate.key, f"{ablate.key}.name"]
    return [range_ for range_ in shipped[method] if range_.key not in compared]
