"""A recipe: everything that decides a run, validated before it starts."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field
from torch import nn
from torch_geometric.data import Data

from sfa.augment import Compose
from sfa.errors import InputError, unknown_name
from sfa.graph.edge_noise import replace_edges
from sfa.graph.features import MEANINGS, OF_ALL_ROWS, FeatureNormalisation, add_noise, normalise_features
from sfa.levels import DATA, ITEMS, Level, level_of, settings_of
from sfa.methods import Method, available_methods
from sfa.ranges import Count, Natural, NonNegative, Positive, Share
from sfa.recipes.legacy import OLD, STEPS, modern_paths, modernize, with_step
from sfa.recipes.sections import complete, is_object, named, names_of, options_of, takes_anything, validated
from sfa.registry import build, is_path, registered, resolve
from sfa.sampling import Sampler
from sfa.seeding import seeded_initialisation
from sfa.spectral.sequential import as_spectral
from sfa.training.optimizers import OptimizerName
from sfa.training.precision import PrecisionName

NO_PARTS: Mapping[str, Any] = MappingProxyType({})


class Training(BaseModel):
    """Keyword arguments of :func:`sfa.training.train`."""

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


GENTLE: dict[str, Any] = {"name": "sfa", "passes": 64, "strength": 0.125}
"""What ``gentle`` is short for: the map of methods for nodes where none is named; ``sfa`` is Algorithm 1."""

SECTIONS = ("method", "encoder", "augmentation", "spectral", "sampler")
"""Sections that a name alone can stand for."""


class Recipe(BaseModel):
    """A method, its encoder, augmentation and spectral map, postprocessing, a sampler, features, and training.

    Each of the first is a name and its keyword arguments; those not given have their defaults. ``augmentation`` and
    ``spectral`` may be lists, which are applied in order, and ``postprocess`` always is one. Where no map is named it
    is SFA, for nodes in many gentle passes (:data:`GENTLE`). The rest, where it is not given, is as the method's
    authors had it (:func:`~sfa.levels.settings_of`).
    """

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    method: dict[str, Any] = Field(default_factory=lambda: {"name": "grace"})
    encoder: dict[str, Any] | None = None
    augmentation: dict[str, Any] | list[dict[str, Any]] | None = None
    spectral: dict[str, Any] | list[dict[str, Any]] = Field(default_factory=lambda: dict(GENTLE))
    postprocess: list[dict[str, Any]] = Field(default_factory=list)
    sampler: dict[str, Any] = Field(default_factory=lambda: {"name": "whole"})
    feature_norm: FeatureNormalisation = "row"
    feature_noise: NonNegative = 0.0
    edge_noise: Share = 0.0
    training: Training = Field(default_factory=Training)

    @classmethod
    def parse(cls, given: Mapping[str, Any]) -> Recipe:
        """Make a complete recipe of a partial one; an unknown key or a wrong value is named in one sentence."""
        given = modernize(given)
        method = named(given.get("method", "grace"), "method", {"name": "grace"})
        method_class = class_of_method(method["name"])
        settings = settings_of(method_class)
        sections = {
            "method": method,
            "encoder": _encoder(given, method, method_class, settings),
            "augmentation": _augmentation(given, method, method_class, settings),
            "spectral": _spectral(given.get("spectral", {}), method_class.level),
            "postprocess": _steps(given.get("postprocess")),
            "sampler": _sampler(given.get("sampler", {}), settings.get("sampler", {"name": "whole"})),
        }
        plain = {key: settings[key] for key in ("feature_norm",) if key in settings}
        training = _training(given.get("training", {}), settings.get("training", {}))
        recipe: Recipe = validated(cls, {**plain, **given, **sections, "training": training}, "recipe")
        _check_fit(recipe, method_class)
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

    def updated(self, changes: Mapping[str, Any]) -> Recipe:
        """Change some keys, given by path: ``{"method.tau": 0.5, "training.epochs": 100}``.

        Changing the name of a part drops the options of the old one, but for the batch size of a sampler. Another
        method also brings its authors' settings of the rest, but for the seed and what is kept of a run. Options of a
        sampler alone, where there was none, ask for sampled neighbors. Other epochs alone stretch the warm-up. Paths of
        the old layout, such as ``method.hidden``, are understood.
        """
        base = self._with_another_method(changes)
        changes = base._modern(changes)
        given = base.as_dict()
        if base.sampler["name"] == "whole" and any(key.startswith("sampler.") for key in changes):
            changes = {"sampler": "neighbours", **changes}
        if "training.epochs" in changes and not {"training", "training.warmup"} & changes.keys():
            warmup = _stretched(base.training.warmup, base.training.epochs, changes["training.epochs"])
            changes = {"training.warmup": warmup, **changes}
        for path in sorted(changes, key=lambda path: (path.count("."), not path.endswith(".name"))):
            _set(given, path, changes[path])
        return Recipe.parse(given)

    def _modern(self, changes: Mapping[str, Any]) -> dict[str, Any]:
        """Return changes with the paths of today's layout."""
        result: dict[str, Any] = {}
        for path, value in changes.items():
            key = path.removeprefix("method.")
            if path in STEPS:
                result["postprocess"] = self._steps(changes)
            elif path.startswith("method.") and key != "name" and key not in self.method:
                result = {**self._kept(key), **result, **dict(self._found(key, value))}
            elif path == "method" and isinstance(value, Mapping):
                modern = modernize({"method": {"name": self.method["name"], **value}}, corrected=True)
                own = Recipe.parse(modern).as_dict()
                result |= {part: own[part] for part in modern if part in SECTIONS}
            elif path != "postprocess" or path not in result:
                result[path] = value
        return result

    def _steps(self, changes: Mapping[str, Any]) -> Any:
        """Return the steps of postprocessing with those that changes name by the old keys."""
        steps = changes.get("postprocess", self.as_dict()["postprocess"])
        for old in [key for key in STEPS if key in changes]:
            steps = with_step(steps, old, changes[old])
        return steps

    def _found(self, key: str, value: Any) -> list[tuple[str, Any]]:
        """Return where an option now is that a method does not have: of its encoder or augmentation."""
        paths = modern_paths(self.method["name"], key, value)
        for kind, section in (("encoder", self.encoder), ("augmentation", self.augmentation)):
            if paths[0][0] == f"method.{key}" and isinstance(section, dict) and key in section:
                return [(f"{kind}.{key}", value)]
        return paths

    def _kept(self, key: str) -> dict[str, Any]:
        """Return the options that an encoder keeps where another is chosen as an option of the method, as of old."""
        old, encoder = OLD.get(self.method["name"], (None, None))[0], self.encoder or {}
        kept = old.options if old is not None and key == "encoder" else ()
        return {f"encoder.{option}": encoder[option] for option in kept if option in encoder}

    def _with_another_method(self, changes: Mapping[str, Any]) -> Recipe:
        """Return a recipe of another method if the changes name one; what is not the method's affair is kept."""
        asked = changes.get("method.name", changes.get("method"))
        name = asked.get("name") if isinstance(asked, Mapping) else asked
        if not isinstance(name, str) or name == self.method["name"]:
            return self
        own = Recipe.parse({"method": with_required_options(self.method["name"], self.method, "")})
        kept = {key: getattr(self, key) for key in ("spectral", "sampler") if getattr(self, key) != getattr(own, key)}
        training = {key: getattr(self.training, key) for key in ("seed", "checkpoint_every", "diagnose_every")}
        plain = {key: changes.get(key, getattr(self, key)) for key in ("feature_noise", "edge_noise")}
        plain["postprocess"] = self._steps(changes)
        method = with_required_options(name, changes)
        return Recipe.parse({"method": method, **plain, "training": training, **kept})

    def prepare(self, data: Data) -> Data:
        """Return the data with features and edges as training and embedding see them; images as they are."""
        if level_of(data) == "image":
            return data
        if self.edge_noise > 0:
            data = replace_edges(data, self.edge_noise, self.training.seed)
        if self.feature_noise > 0:
            data = add_noise(data, self.feature_noise, self.training.seed)
        return normalise_features(data, self.feature_norm)

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
        """Build the untrained method for data with so many features; its weights depend on the seed alone.

        Args:
            in_features: Number of node features, or of channels.
            num_nodes: Number of nodes, which a method with weights for each node needs.
            parts: Objects that take the place of sections: an encoder, an augmentation, a spectral map, or all of a
                method.
        """
        method_class: Any = class_of_method(self.method["name"])
        if "method" in parts:
            return self._with_steps(copy.deepcopy(parts["method"]))
        if is_object(self.method["name"]):
            raise InputError(f"The method {self.method['name']} was given as an object, and is needed again: method=….")
        with seeded_initialisation(self.training.seed):
            spectral = as_spectral(_build("spectral", self.spectral, parts))
            options = {key: value for key, value in self.method.items() if key != "name"}
            if method_class.transductive:
                if num_nodes is None:
                    raise InputError(f"{self.method['name']} has weights for each node: say how many nodes there are.")
                built: Method = method_class(num_nodes, spectral=spectral, **options)
            else:
                encoder = _build("encoder", self.encoder, parts, in_features)
                views = _build("augmentation", self.augmentation, parts) if method_class.takes_views else None
                chosen = {} if views is None else {"augmentation": views}
                built = method_class(encoder, **chosen, spectral=spectral, **options)
        return self._with_steps(built)

    def _with_steps(self, method: Method) -> Method:
        """Give a method the steps of postprocessing; raise if one of them would leave nothing of its embeddings."""
        if self.postprocess:
            method.postprocess = [build("postprocess", step) for step in self.postprocess]
        for step in method.postprocess:
            if hasattr(step, "check_width"):
                step.check_width(method.width)
        return method

    def build_for(self, data: Data, *, parts: Mapping[str, Any] = NO_PARTS) -> Method:
        """Build the untrained method for these data; says so if it embeds what they are not."""
        method, level = self.method["name"], level_of(data)
        own = class_of_method(method).level
        if own != level:
            raise InputError(
                f"{method} embeds {ITEMS[own]}, and {data.get('name', 'this')} is {DATA[level]}; methods for that are "
                f"{', '.join(available_methods(level))}."
            )
        built = self.build(data.num_features, data.num_nodes, parts=parts)
        built.setup(data)
        return built

    def make_sampler(self) -> Callable[[Data], Sampler]:
        """Return what makes the sampler of a graph."""
        options = {key: value for key, value in self.sampler.items() if key != "name"}
        return partial(resolve("sampler", self.sampler["name"]), **options)


def name_of(section: Any) -> Any:
    """Return the name that stands for a section: that of its class, or ``gentle``."""
    is_gentle = isinstance(section, Mapping) and GENTLE.items() <= section.items()
    return "gentle" if is_gentle else names_of(section)


def class_of_method(name: str) -> type[Method]:
    """Return the class of a method by its name; ``<name>`` is that of a method that was given as an object."""
    found = resolve("method", name.strip("<>"))
    if not (inspect.isclass(found) and issubclass(found, Method)):
        raise InputError(f"The method {name!r} is no subclass of sfa.methods.Method.")
    return found


def with_required_options(name: str, changes: Mapping[str, Any], prefix: str = "method.") -> dict[str, Any]:
    """Return the section of a method with those of its options among the changes that have no default."""
    known = options_of(class_of_method(name), "method")
    required = {key: f"{prefix}{key}" for key, (_, default) in known.items() if default is ...}
    return {"name": name, **{key: changes[path] for key, path in required.items() if path in changes}}


def _encoder(
    given: Mapping[str, Any], method: Mapping[str, Any], method_class: type[Method], settings: Mapping[str, Any]
) -> dict[str, Any] | None:
    section = given.get("encoder")
    if method_class.transductive:
        if section not in (None, "none"):
            raise InputError(f"{method['name']} has weights for each node and no encoder: leave out encoder.")
        return None
    default = settings["encoder"]
    return dict(default) if section is None else named(section, "encoder", default, None)


def _augmentation(
    given: Mapping[str, Any], method: Mapping[str, Any], method_class: type[Method], settings: Mapping[str, Any]
) -> Any:
    section = given.get("augmentation")
    if not method_class.takes_views:
        if section not in (None, "none"):
            raise InputError(f"{method['name']} makes no views of its data: leave out augmentation.")
        return None
    default = settings["augmentation"]
    if section is None:
        return dict(default)
    if isinstance(section, list):
        return [named(one, "augmentation", {}) for one in section]
    if section == "none" or (isinstance(section, Mapping) and section.get("name") == "none"):
        section = "identity"  # two views that are the data themselves
    return named(section, "augmentation", default, None)


def _spectral(section: Any, level: Level) -> Any:
    """Return the map's section with ``gentle`` written out; options without a name are of that, for nodes."""
    if isinstance(section, list):
        return [_spectral(one, level) for one in section]
    if section == "gentle":
        return dict(GENTLE)
    if isinstance(section, Mapping) and section.get("name", "gentle" if level == "node" else "") == "gentle":
        return {**GENTLE, **section, "name": GENTLE["name"]}
    found = named(section, "spectral", {"name": "sfa"})
    if not is_object(found["name"]) and ":" not in found["name"] and found["name"] not in registered("spectral"):
        raise unknown_name("spectral map", found["name"], ("gentle", *registered("spectral")))
    return found


def _steps(section: Any) -> list[dict[str, Any]]:
    if section is not None and not isinstance(section, list | tuple):
        section = [section]
    return [named(one, "postprocess", {}, None) for one in section or []]


def _sampler(section: Any, default: Mapping[str, Any]) -> dict[str, Any]:
    """Return the sampler's section; options alone, where the default is the whole graph, ask for neighbors."""
    if isinstance(section, Mapping) and section and "name" not in section and default["name"] == "whole":
        default = {"name": "neighbours"}
    return named(section, "sampler", default, "whole")


def _training(given: Any, settings: Mapping[str, Any]) -> Any:
    if not isinstance(given, Mapping):
        return given
    epochs = settings.get("epochs", 0)
    warmup = _stretched(settings.get("warmup", 0), epochs, given.get("epochs"))
    return {**settings, "warmup": warmup, **given}


def _stretched(warmup: int, epochs: int, other: Any) -> int:
    """Return the warm-up of a run of other epochs than the warm-up was meant for."""
    return round(warmup * other / epochs) if isinstance(other, int) and other > 0 and epochs else warmup


def _check_fit(recipe: Recipe, method_class: type[Method]) -> None:
    """Raise unless the parts of a recipe go together."""
    method, level = recipe.method["name"], method_class.level
    _check_sampler(recipe, method_class)
    if level == "image" and (recipe.feature_norm != "none" or recipe.feature_noise > 0):
        raise InputError(
            f"{method} embeds images, which have no features to normalise or to add noise to: leave out "
            "feature_norm and feature_noise."
        )
    if level != "node" and recipe.edge_noise > 0:
        raise InputError(f"edge_noise replaces edges of one graph, and {method} embeds {ITEMS[level]}: leave it out.")
    if level == "graph" and recipe.feature_norm in OF_ALL_ROWS:
        raise InputError(
            f"The feature normalisation {recipe.feature_norm} is made of all nodes together, and a graph's "
            "embedding would depend on the graphs beside it: for sets of graphs take row or none, or scale the "
            "features before."
        )
    if level != "node" and recipe.postprocess:
        raise InputError(
            f"{method} embeds {ITEMS[level]}, and postprocessing is of embeddings of the nodes of one graph: leave it "
            "out."
        )
    views = recipe.augmentation if isinstance(recipe.augmentation, list) else [recipe.augmentation or {}]
    for section in views:
        known = section and not is_object(section["name"])
        own: Level | None = getattr(resolve("augmentation", section["name"]), "level", None) if known else None
        if own not in (None, level):
            raise InputError(
                f"The augmentation {section['name']} is of {DATA[own]}, and {method} embeds {ITEMS[level]}."
            )


def _check_sampler(recipe: Recipe, method_class: type[Method]) -> None:
    """Raise unless a method can be trained on the batches of a sampler."""
    method, sampler = recipe.method["name"], recipe.sampler["name"]
    sampler_class: type[Sampler] = resolve("sampler", sampler)
    if method_class.level != sampler_class.level:
        raise InputError(
            f"{method} embeds {ITEMS[method_class.level]}, and batches of {sampler} are of "
            f"{DATA[sampler_class.level]}: leave the sampler out."
        )
    if method_class.samplers and sampler not in method_class.samplers:
        raise InputError(f"{method} works with the sampler {' or '.join(method_class.samplers)}, not with {sampler}.")
    if sampler_class.for_walks and sampler not in method_class.samplers:
        raise InputError(f"The sampler {sampler} is for methods that walk, and {method} does not.")


def _build(kind: str, section: Any, parts: Mapping[str, Any], *args: Any) -> Any:
    """Build a part, or several, of a recipe; one that was given as an object is taken, or copied if it has weights."""
    part = parts.get(kind)
    if part is None and section is None:
        return None
    if isinstance(part, list | tuple) or (part is None and isinstance(section, list)):
        objects = part if part is not None else [None] * len(section)
        sections = section if isinstance(section, list) else [section] * len(objects)
        if len(sections) != len(objects):
            raise InputError(f"The recipe has {len(sections)} of {kind} in order, {names_of(section)}: give as many.")
        built = [_build(kind, one, {kind: own}, *args) for one, own in zip(sections, objects, strict=True)]
        return Compose(built) if kind == "augmentation" else built
    if part is not None:
        return copy.deepcopy(part) if isinstance(part, nn.Module) else part
    if is_object(section["name"]):
        raise InputError(f"The {kind} {section['name']} was given as an object, and is needed again: {kind}=….")
    try:
        return build(kind, section, *args)
    except TypeError as error:
        if not is_path(section["name"]) and not takes_anything(resolve(kind, section["name"])):
            raise
        raise InputError(f"The {kind} {section['name']} cannot be made with these options: {error}.") from error


def _set(given: dict[str, Any], path: str, value: Any) -> None:
    """Set a key of a recipe in place; ``spectral.0.strength`` is of the first of several maps."""
    *parents, key = path.split(".")
    section: Any = given
    for parent in parents:
        if isinstance(section, list) and parent.isdigit() and int(parent) < len(section):
            section = section[int(parent)]
        else:
            section = section.get(parent) if isinstance(section, dict) else None
        if section is None and [parent] == parents and parent in SECTIONS:  # a method without says so when it is parsed
            section = given[parent] = {}
        if not isinstance(section, dict | list):
            raise unknown_name("recipe key", path, given)
    if isinstance(section, list) and key == "name" and len(parents) == 1:
        given[parents[0]] = {"name": value}
        return
    if isinstance(section, list):
        raise InputError(
            f"Recipe key {path!r}: there are several of {parents[0]}, {names_of(section)}; say of which, counted "
            f"from 0, for instance {parents[0]}.0.{key}."
        )
    if key == "name" and section and name_of(section) != value:
        kept = {name: section[name] for name in ("batch_size",) if name in section and value != "whole"}
        section.clear()
        section.update(kept)
    if not parents and key in SECTIONS:
        value = [_mapping(one) for one in value] if isinstance(value, list | tuple) else _mapping(value)
    section[key] = value


def _mapping(section: Any) -> Any:
    """Return a name as the mapping that it is short for; a mapping as a copy, and anything else as it is."""
    return {"name": section} if isinstance(section, str) else dict(section) if isinstance(section, Mapping) else section
