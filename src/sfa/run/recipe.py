"""A recipe: every setting of a run, validated before it starts."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict
from torch import Tensor
from torch_geometric.data import Data

from sfa.errors import InputError, unknown_name
from sfa.graph.batches import replace_edges
from sfa.graph.features import (
    MEANINGS,
    FeatureNormalization,
    add_noise,
    are_measurements,
    feature_statistics,
    normalize_features,
)
from sfa.methods import DEFAULTS, Method, available_methods
from sfa.ranges import Count, Natural, NonNegative, Positive, Seed, Share
from sfa.registry import build
from sfa.run.changes import KEYWORDS, SECTIONS, changed
from sfa.run.legacy import modernize
from sfa.run.parsing import build_method, check_fit, class_of_method, parse_sections
from sfa.run.sections import as_list, complete, named, names_of, validated
from sfa.run.shipped import read_recipe, shipped_recipes
from sfa.sampling import Sampler
from sfa.tasks import DATA, ITEMS, Task, settings_of, task_of
from sfa.train.loop import PrecisionName
from sfa.train.optim import OptimizerName


class Training(BaseModel):
    """Keyword arguments of :func:`sfa.train.train`."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    epochs: Count = 200
    optimizer: OptimizerName = "adam"
    lr: Positive = 5e-4
    weight_decay: NonNegative = 1e-5
    momentum: Share = 0.9
    warmup: Natural = 0
    warmup_from: NonNegative | None = None
    cosine: bool = False
    precision: Annotated[PrecisionName, BeforeValidator(str)] = "32"  # YAML reads 32 as a number
    accumulate: Count = 1
    patience: Count | None = 20
    restore_best: bool = False
    seed: Seed = 0
    checkpoint_every: Count = 25
    diagnose_every: Natural = 10
    online_probe: bool = False

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments of training itself; an online probe is made from the data, which are not known here."""
        return self.model_dump(exclude={"online_probe"})


class Recipe(BaseModel):
    """A method, its encoder, augmentation and spectral map, postprocessing, a sampler, features, and training.

    Each of the parts is a name and its keyword arguments. ``augmentation`` and ``spectral`` may be lists, which are
    applied in order, and ``postprocess`` always is one. Make recipes by :meth:`parse`, which fills in what is left out:
    the settings of the method's authors (:func:`~sfa.tasks.settings_of`), and as the map SFA, for nodes in many gentle
    passes (:data:`~sfa.run.parsing.GENTLE`).
    """

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    method: dict[str, Any]
    encoder: dict[str, Any] | None
    augmentation: dict[str, Any] | list[dict[str, Any]] | None
    spectral: dict[str, Any] | list[dict[str, Any]]
    postprocess: list[dict[str, Any]]
    sampler: dict[str, Any]
    feature_norm: FeatureNormalization = "row"
    feature_noise: NonNegative = 0.0
    edge_noise: Share = 0.0
    training: Training

    @classmethod
    def parse(cls, given: Mapping[str, Any]) -> Recipe:
        """Make a complete recipe of a partial one; the error names an unknown key or a wrong value in one sentence."""
        given = modernize(given)
        method = named(given.get("method", "grace"), "method", {"name": "grace"})
        method_class = class_of_method(method["name"])
        sections = parse_sections(given, method["name"], method_class)
        recipe: Recipe = validated(cls, {**given, **sections, "method": method}, "recipe")
        check_fit(recipe, method_class)
        kinds = ("encoder", "augmentation", "spectral", "postprocess", "sampler")
        completed = {kind: sections[kind] and complete(sections[kind], kind) for kind in kinds}
        single = {kind: completed[kind] for kind in kinds[:2] if isinstance(completed[kind], dict)}
        # Where a key that the method does not have may belong.
        elsewhere = [f"{kind}.{key}" for kind, section in single.items() for key in section if key != "name"]
        return recipe.model_copy(update={**completed, "method": complete(method, "method", elsewhere)})

    updated = changed
    build = build_method

    @property
    def spectral_name(self) -> str:
        """The name of the spectral map, or of several: ``noise + sfa``."""
        return names_of(self.spectral)

    @property
    def spectral_label(self) -> str:
        """The name of the spectral layer in tables: ``sfa`` is Algorithm 1, ``sfa (64 passes)`` the gentle form."""
        passes = [(one["name"], one.get("passes", 1)) for one in as_list(self.spectral)]
        return " + ".join(f"{name} ({count} passes)" if count > 1 else name for name, count in passes)

    def by_path(self) -> dict[str, Any]:
        """Return the values by path, ``training.lr`` for instance; of a part in a list, the list."""
        return {
            f"{name}.{key}" if key else name: value
            for name, section in self.as_dict().items()
            for key, value in (section.items() if isinstance(section, dict) else [("", section)])
        }

    def settled(self, data: Data) -> Recipe:
        """Return the recipe with ``feature_norm`` chosen by the data if it is ``auto``.

        Measurements are standardized, unless the method weights features by itself or uses none. Others are treated as
        the method's authors do.
        """
        if self.feature_norm != "auto":
            return self
        method = class_of_method(self.method["name"])
        is_open = not (method.weights_features or method.transductive or task_of(data) == "image")
        usual = settings_of(method).get("feature_norm", "row")
        return self.updated({"feature_norm": "standard" if is_open and are_measurements(data.x) else usual})

    def prepare(self, data: Data, statistics: Mapping[str, Tensor] | None = None) -> Data:
        """Return the data with features and edges as training and embedding see them; images as they are.

        ``statistics`` of the features are those of the training data, by default of these (:meth:`statistics`).
        """
        if task_of(data) == "image":
            return data
        if self.edge_noise > 0:
            data = replace_edges(data, self.edge_noise, self.training.seed)
        return normalize_features(self._with_noise(data), self.settled(data).feature_norm, statistics)

    def statistics(self, data: Data) -> dict[str, Tensor]:
        """Compute the statistics of training data by which :meth:`prepare` normalizes other data as well."""
        norm = self.settled(data).feature_norm
        return {} if task_of(data) == "image" else feature_statistics(self._with_noise(data), norm)

    def _with_noise(self, data: Data) -> Data:
        return add_noise(data, self.feature_noise, self.training.seed) if self.feature_noise > 0 else data

    @property
    def preparation(self) -> str:
        """What :meth:`prepare` does, in a few words."""
        noise = f", noise of deviation {self.feature_noise:g} added before" if self.feature_noise else ""
        edges = f", {100 * self.edge_noise:g} % of the edges replaced at random" if self.edge_noise else ""
        return f"{MEANINGS[self.feature_norm]}{noise}{edges}"

    def as_dict(self) -> dict[str, Any]:
        """Return plain values for YAML and JSON."""
        return self.model_dump(mode="json")

    def build_for(self, data: Data, *, parts: Mapping[str, Any] = MappingProxyType({})) -> Method:
        """Build the untrained method for these data; raise if it is for other data."""
        method, task = self.method["name"], task_of(data)
        own = class_of_method(method).task
        if own != task:
            what, others = f"{data.get('name', 'this')} is {DATA[task]}", ", ".join(available_methods(task))
            raise InputError(f"{method} embeds {ITEMS[own]}, and {what}; methods for that are {others}.")
        built = self.build(data.num_features, data.num_nodes, parts=parts)
        built.setup(data)
        return built

    def make_sampler(self) -> Callable[[Data], Sampler]:
        """Return a function that makes the sampler of some data."""
        return partial(build, "sampler", self.sampler)


GivenRecipe = str | os.PathLike[str] | Mapping[str, Any] | Recipe


def load_recipe(
    name: GivenRecipe, dataset: str | None = None, method: str | None = None, task: Task | None = None
) -> Recipe:
    """Load a recipe: a mapping, a YAML file, or a shipped one, ``paper/cora`` or ``paper`` for the data set at hand.

    If another ``method`` is asked for, and there is a shipped recipe of that method for the same data, the result is
    that one with the spectral map of the one named: ``paper`` for CIFAR-10 and Barlow Twins is Barlow Twins' own with
    SFA. If there is none for the data, the error lists those for data of the same ``task``.
    """
    if isinstance(name, Recipe):
        return name
    if isinstance(name, Mapping):
        return Recipe.parse(name if task is None else {"method": DEFAULTS[task], **name})
    shipped = shipped_recipes()
    key = (dataset or "").lower().removeprefix("tu:")  # tu:NCI1 is nci1
    for candidate in (str(name), f"{name}/{key}".lower()):
        if candidate in shipped:
            recipe, own = _shipped(candidate), f"{method}/{candidate.split('/')[1]}"
            if method in (None, recipe.method["name"]) or own not in shipped:
                return recipe
            return _shipped(own).updated({"spectral": recipe.spectral, "training.seed": recipe.training.seed})
    if (read := read_recipe(name)) is not None:
        return Recipe.parse(read)
    family = {key.split("/")[1]: _shipped(key).method["name"] for key in shipped if key.startswith(f"{name}/".lower())}
    tasks = {key: class_of_method(own).task for key, own in family.items()}
    sets = [key for key in family if task in (None, tasks[key])]
    others = f"there are some for: {', '.join(sets)}" if sets else f"they are all for {tasks[next(iter(family))]}s"
    raise InputError(f"There is no {name!r} recipe for {dataset or 'these data'}; {others}.")


def _shipped(name: str) -> Recipe:
    return Recipe.parse({key: value for key, value in shipped_recipes()[name].items() if key != "about"})


def as_changes(paths: Mapping[str, Any], keywords: Mapping[str, Any]) -> dict[str, Any]:
    """Return changes of a recipe by path; keywords that are ``None`` change nothing.

    >>> as_changes({"encoder.layers": 3}, {"epochs": 20, "spectral": "noise,sfa", "lr": None})
    {'encoder.layers': 3, 'training.epochs': 20, 'spectral': ['noise', 'sfa']}
    """
    result = dict(paths)
    for key, value in keywords.items():
        if value is None:
            continue
        if key not in KEYWORDS and key not in Recipe.model_fields:
            raise unknown_name("keyword", key, {**KEYWORDS, **Recipe.model_fields})
        if key == "spectral" and isinstance(value, str) and "," in value:
            result[key] = value.split(",")
        elif key == "training" and isinstance(value, Mapping):
            result |= {f"training.{option}": one for option, one in value.items()}
        else:
            is_section = key in SECTIONS and not isinstance(value, str)
            result[key if is_section else KEYWORDS.get(key, key)] = value
    return result
