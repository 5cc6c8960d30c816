"""A recipe: everything that decides a run, validated before it starts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field
from torch_geometric.data import Data

from sfa.errors import InputError, unknown_name
from sfa.graph.features import MEANINGS, FeatureNormalization, add_noise, normalize_features
from sfa.graph.rewiring import replace_edges
from sfa.methods import Method, available_methods
from sfa.ranges import Count, Natural, NonNegative, Positive, Share
from sfa.registry import resolve
from sfa.run.changes import changed
from sfa.run.legacy import modernize
from sfa.run.parsing import (
    GENTLE,
    build_method,
    check_fit,
    class_of_method,
    part_section,
    postprocess_section,
    sampler_section,
    spectral_section,
    training_section,
)
from sfa.run.sections import complete, named, names_of, validated
from sfa.run.shipped import parse_yaml, shipped_recipes
from sfa.sampling import Sampler
from sfa.tasks import DATA, ITEMS, Task, settings_of, task_of
from sfa.train.fabric import PrecisionName
from sfa.train.optim import OptimizerName

NO_PARTS: Mapping[str, Any] = MappingProxyType({})


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
    seed: Natural = 0
    checkpoint_every: Count = 25
    diagnose_every: Natural = 10
    online_probe: bool = False

    @property
    def arguments(self) -> dict[str, Any]:
        """Return what training itself is called with; a probe is made of the data, which are not known here."""
        return self.model_dump(exclude={"online_probe"})


class Recipe(BaseModel):
    """A method, its encoder, augmentation and spectral map, postprocessing, a sampler, features, and training.

    Each of the first is a name and its keyword arguments; those not given have their defaults. ``augmentation`` and
    ``spectral`` may be lists, which are applied in order, and ``postprocess`` always is one. Where no map is named it
    is SFA, for nodes in many gentle passes (:data:`GENTLE`). The rest, where it is not given, is as the method's
    authors had it (:func:`~sfa.tasks.settings_of`).
    """

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    method: dict[str, Any] = Field(default_factory=lambda: {"name": "grace"})
    encoder: dict[str, Any] | None = None
    augmentation: dict[str, Any] | list[dict[str, Any]] | None = None
    spectral: dict[str, Any] | list[dict[str, Any]] = Field(default_factory=lambda: dict(GENTLE))
    postprocess: list[dict[str, Any]] = Field(default_factory=list)
    sampler: dict[str, Any] = Field(default_factory=lambda: {"name": "whole"})
    feature_norm: FeatureNormalization = "row"
    feature_noise: NonNegative = 0.0
    edge_noise: Share = 0.0
    training: Training = Field(default_factory=Training)

    @classmethod
    def parse(cls, given: Mapping[str, Any]) -> Recipe:
        """Make a complete recipe of a partial one; an unknown key or a wrong value is named in one sentence."""
        given = modernize(given)
        method = named(given.get("method", "grace"), "method", {"name": "grace"})
        method_class = class_of_method(method["name"])
        settings, name = settings_of(method_class), method["name"]
        no_encoder = "has weights for each node and no encoder" if method_class.transductive else None
        no_views = None if method_class.takes_augmentation else "makes no views of its data"
        sections = {
            "method": method,
            "encoder": part_section("encoder", given.get("encoder"), name, settings.get("encoder"), no_encoder),
            "augmentation": part_section(
                "augmentation", given.get("augmentation"), name, settings.get("augmentation"), no_views
            ),
            "spectral": spectral_section(given.get("spectral", {}), method_class.task),
            "postprocess": postprocess_section(given.get("postprocess")),
            "sampler": sampler_section(given.get("sampler", {}), settings.get("sampler", {"name": "whole"})),
        }
        plain = {key: settings[key] for key in ("feature_norm",) if key in settings}
        training = training_section(given.get("training", {}), settings.get("training", {}))
        recipe: Recipe = validated(cls, {**plain, **given, **sections, "training": training}, "recipe")
        check_fit(recipe, method_class)
        completed = {
            kind: [complete(one, kind) for one in part] if isinstance(part, list) else part and complete(part, kind)
            for kind, part in sections.items()
            if kind != "method"
        }
        parts = {kind: part for kind in ("encoder", "augmentation") if isinstance(part := completed[kind], dict)}
        elsewhere = [f"{kind}.{key}" for kind, part in parts.items() for key in part if key != "name"]
        completed["method"] = complete(method, "method", elsewhere)
        return recipe.model_copy(update=completed)

    @property
    def spectral_name(self) -> str:
        """The name of the spectral map, or of several: ``noise + sfa``."""
        return names_of(self.spectral)

    @property
    def spectral_label(self) -> str:
        """What tells the spectral layer from others: ``sfa`` is Algorithm 1, ``sfa (64 passes)`` the gentle form."""
        sections = self.spectral if isinstance(self.spectral, list) else [self.spectral]
        passes = (f" ({one['passes']} passes)" if one.get("passes", 1) > 1 else "" for one in sections)
        return " + ".join(f"{one['name']}{told}" for one, told in zip(sections, passes, strict=True)) or "none"

    def updated(self, changes: Mapping[str, Any]) -> Recipe:
        """Change some keys, given by path: ``{"method.tau": 0.5, "training.epochs": 100}``.

        Changing the name of a part drops the options of the old one, but for the batch size of a sampler. Another
        method also brings its authors' settings of the rest, but for the seed and what is kept of a run. Options of a
        sampler alone, where there was none, ask for sampled neighbors. Other epochs alone stretch the warm-up. Paths of
        the old layout, such as ``method.hidden``, are understood.
        """
        return changed(self, changes)

    def prepare(self, data: Data) -> Data:
        """Return the data with features and edges as training and embedding see them; images as they are."""
        if task_of(data) == "image":
            return data
        if self.edge_noise > 0:
            data = replace_edges(data, self.edge_noise, self.training.seed)
        if self.feature_noise > 0:
            data = add_noise(data, self.feature_noise, self.training.seed)
        return normalize_features(data, self.feature_norm)

    @property
    def preparation(self) -> str:
        """What :meth:`prepare` does, in a few words."""
        noise = f", noise of deviation {self.feature_noise:g} added before" if self.feature_noise else ""
        edges = f", {100 * self.edge_noise:g} % of the edges replaced at random" if self.edge_noise else ""
        return f"{MEANINGS[self.feature_norm]}{noise}{edges}"

    def as_dict(self) -> dict[str, Any]:
        """Return plain values for YAML and JSON."""
        return self.model_dump(mode="json")

    def build(self, in_features: int, num_nodes: int | None = None, *, parts: Mapping[str, Any] = NO_PARTS) -> Method:
        """Build the untrained method for data with so many features or channels; weights depend on the seed alone.

        A method with weights for each node needs ``num_nodes``. Objects in ``parts`` take the place of sections: an
        encoder, an augmentation, a spectral map, or all of a method.
        """
        return build_method(self, in_features, num_nodes, parts)

    def build_for(self, data: Data, *, parts: Mapping[str, Any] = NO_PARTS) -> Method:
        """Build the untrained method for these data; says so if it embeds what they are not."""
        method, task = self.method["name"], task_of(data)
        own = class_of_method(method).task
        if own != task:
            raise InputError(
                f"{method} embeds {ITEMS[own]}, and {data.get('name', 'this')} is {DATA[task]}; methods for that are "
                f"{', '.join(available_methods(task))}."
            )
        built = self.build(data.num_features, data.num_nodes, parts=parts)
        built.setup(data)
        return built

    def make_sampler(self) -> Callable[[Data], Sampler]:
        """Return what makes the sampler of a graph."""
        options = {key: value for key, value in self.sampler.items() if key != "name"}
        return partial(resolve("sampler", self.sampler["name"]), **options)


def load_recipe(
    name: str | Path, dataset: str | None = None, method: str | None = None, task: Task | None = None
) -> Recipe:
    """Load a recipe from a YAML file, or a shipped one: ``paper/cora``, or ``paper`` for the data set at hand.

    If it is to be of another method than it is, and there is a shipped one of that method for the same data, it is that
    with the spectral map of the one named: ``paper`` for CIFAR-10 and Barlow Twins is Barlow Twins' own with SFA.

    If there is none for the data, it is said what there are some for, of data of the same ``task`` if that is given.
    """
    shipped = shipped_recipes()
    key = (dataset or "").lower().removeprefix("tu:")  # tu:NCI1 is nci1
    for candidate in (str(name), f"{name}/{key}".lower()):
        if candidate in shipped:
            recipe, own = _shipped(candidate), f"{method}/{candidate.split('/')[1]}"
            if method in (None, recipe.method["name"]) or own not in shipped:
                return recipe
            return _shipped(own).updated({"spectral": recipe.spectral, "training.seed": recipe.training.seed})
    path = Path(name)
    if path.suffix in (".yaml", ".yml") or path.exists():
        try:
            return Recipe.parse(parse_yaml(path.read_text(encoding="utf-8"), str(path)))
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is not text"
            raise InputError(f"The recipe {path} cannot be read: {reason}.") from error
    if any(key.startswith(f"{name}/") for key in shipped):
        family = [key for key in shipped if key.startswith(f"{name}/")]
        sets = [key.split("/")[1] for key in family if task in (None, _task_of(key))]
        others = f"there are some for: {', '.join(sets)}" if sets else f"they are all for {_task_of(family[0])}s"
        raise InputError(f"There is no {name!r} recipe for {dataset or 'these data'}; {others}.")
    raise unknown_name("recipe", str(name), shipped)


def _shipped(name: str) -> Recipe:
    return Recipe.parse({key: value for key, value in shipped_recipes()[name].items() if key != "about"})


def _task_of(name: str) -> Task:
    task: Task = resolve("method", _shipped(name).method["name"]).task
    return task
