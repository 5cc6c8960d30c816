"""A recipe: everything that decides a run, validated before it starts."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import partial
from typing import Annotated, Any, get_type_hints

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, create_model
from torch_geometric.data import Data

from sfa.errors import InputError, unknown_name
from sfa.graph.edge_noise import replace_edges
from sfa.graph.features import MEANINGS, OF_ALL_ROWS, FeatureNormalisation, add_noise, normalise_features
from sfa.levels import DATA, ITEMS, Level, level_of
from sfa.methods import METHODS, Method
from sfa.methods import resolve as resolve_method
from sfa.ranges import Count, Natural, NonNegative, Positive, Share
from sfa.registry import registered, resolve
from sfa.sampling import Sampler
from sfa.sampling import resolve as resolve_sampler
from sfa.seeding import seeded_initialisation
from sfa.spectral import SpectralMap
from sfa.training.optimizers import OptimizerName
from sfa.training.precision import PrecisionName


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
    seed: Natural = 0
    checkpoint_every: Count = 25
    diagnose_every: Natural = 10
    online_probe: bool = False

    @property
    def arguments(self) -> dict[str, Any]:
        """What training itself is called with; a probe is made of the data, which are not known here."""
        return self.model_dump(exclude={"online_probe"})


GENTLE: dict[str, Any] = {"name": "sfa", "passes": 64, "strength": 0.125}
"""What ``gentle`` is short for: the map of methods for nodes where none is named; ``sfa`` is Algorithm 1."""
AT_INFERENCE = {
    "without_leading": "only embeddings of nodes are made of one graph, all at once, and have leading directions",
    "smoothing": "only embeddings of nodes can be spread over a graph",
    "own_features": "only nodes have features of their own to put beside their embeddings",
}
"""Keys of what is done to embeddings of nodes once they are learnt, in turn, and why not to others."""


class Recipe(BaseModel):
    """A method, a spectral map and a sampler, each with its options; what is done to features and embeddings; training.

    Options of a method, map or sampler are the keyword arguments of its class; those not given have its defaults. Where
    no map is named it is SFA, for nodes in many gentle passes (:data:`GENTLE`). The rest, where it is not
    given, is as the method's authors had it (:attr:`~sfa.methods.Method.defaults`).
    """

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    method: dict[str, Any] = Field(default_factory=lambda: {"name": "grace"})
    spectral: dict[str, Any] = Field(default_factory=lambda: dict(GENTLE))
    sampler: dict[str, Any] = Field(default_factory=lambda: {"name": "whole"})
    feature_norm: FeatureNormalisation = "row"
    feature_noise: NonNegative = 0.0
    edge_noise: Share = 0.0
    without_leading: Natural = 0
    smoothing: Natural = 0
    own_features: NonNegative = 0.0
    training: Training = Field(default_factory=Training)

    @classmethod
    def parse(cls, given: Mapping[str, Any]) -> Recipe:
        """A complete recipe from a partial one; an unknown key or a wrong value is named in one sentence."""
        method_class = resolve_method(_with_name("method", given)["name"])
        given = {**given, "spectral": _spectral(given.get("spectral", {}), method_class.level)}
        given = _with_settings(given, method_class.defaults)
        sections = {key: _with_name(key, given) for key in _NAMED}
        if sections["spectral"]["name"] not in registered("spectral"):
            raise unknown_name("spectral map", sections["spectral"]["name"], ("gentle", *registered("spectral")))
        recipe: Recipe = _validated(cls, {**given, **sections}, "recipe")
        method, spectral, sampler = recipe.method, recipe.spectral, recipe.sampler
        _check_fit(method["name"], sampler["name"])
        if method_class.level == "image" and (recipe.feature_norm != "none" or recipe.feature_noise > 0):
            raise InputError(
                f"{method['name']} embeds images, which have no features to normalise or to add noise to: leave out "
                "feature_norm and feature_noise."
            )
        if method_class.level != "node" and recipe.edge_noise > 0:
            raise InputError(
                f"edge_noise replaces edges of one graph, and {method['name']} embeds {ITEMS[method_class.level]}: "
                "leave it out."
            )
        if method_class.level == "graph" and recipe.feature_norm in OF_ALL_ROWS:
            raise InputError(
                f"The feature normalisation {recipe.feature_norm} is made of all nodes together, and a graph's "
                "embedding would depend on the graphs beside it: for sets of graphs take row or none, or scale the "
                "features before."
            )
        for key, why in AT_INFERENCE.items():
            if method_class.level != "node" and getattr(recipe, key) > 0:
                raise InputError(f"{method['name']} embeds {ITEMS[method_class.level]}, and {why}: leave out {key}.")
        return recipe.model_copy(
            update={
                "method": _complete(method, method_class, "method"),
                "spectral": _complete(spectral, resolve("spectral", spectral["name"]), "spectral"),
                "sampler": _complete(sampler, resolve_sampler(sampler["name"]), "sampler"),
            }
        )

    def updated(self, changes: Mapping[str, Any]) -> Recipe:
        """This recipe with some keys changed, given by path: ``{"method.tau": 0.5, "training.epochs": 100}``.

        Changing the name of a method, map or sampler drops the options of the old one, but for the batch size. Another
        method also brings its authors' settings of the rest, but for the seed and what is kept of a run. Options of a
        sampler alone, where there was none, ask for sampled neighbours. Other epochs alone stretch the warm-up.
        """
        base = self._with_another_method(changes)
        given = base.as_dict()
        if base.sampler["name"] == "whole" and any(key.startswith("sampler.") for key in changes):
            changes = {"sampler": "neighbours", **changes}
        if "training.epochs" in changes and not {"training", "training.warmup"} & changes.keys():
            warmup = _stretched(base.training.warmup, base.training.epochs, changes["training.epochs"])
            changes = {"training.warmup": warmup, **changes}
        for path in sorted(changes, key=lambda path: (path.count("."), not path.endswith(".name"))):
            value = changes[path]
            *parents, key = path.split(".")
            section = given
            for parent in parents:
                section = section.get(parent, None) if isinstance(section, dict) else None  # type: ignore[assignment]
                if not isinstance(section, dict):
                    raise unknown_name("recipe key", path, given)
            if key == "name" and name_of(section) != value:
                kept = {name: section[name] for name in ("batch_size",) if name in section and value != "whole"}
                section.clear()
                section.update(kept)
            is_name = not parents and key in _NAMED and isinstance(value, str)
            section[key] = {"name": value} if is_name else value
        return Recipe.parse(given)

    def _with_another_method(self, changes: Mapping[str, Any]) -> Recipe:
        """If the changes name another method, a recipe of that method which keeps what is not the method's affair."""
        asked = changes.get("method.name", changes.get("method"))
        name = asked.get("name") if isinstance(asked, Mapping) else asked
        if not isinstance(name, str) or name == self.method["name"]:
            return self
        own = Recipe.parse({"method": self.method["name"]})
        kept = {key: getattr(self, key) for key in ("spectral", "sampler") if getattr(self, key) != getattr(own, key)}
        training = {key: getattr(self.training, key) for key in ("seed", "checkpoint_every", "diagnose_every")}
        plain = {key: changes.get(key, getattr(self, key)) for key in ("feature_noise", "edge_noise", *AT_INFERENCE)}
        return Recipe.parse({"method": name, **plain, "training": training, **kept})

    def prepare(self, graph: Data) -> Data:
        """The graph with its features and edges as training and embedding see them; images as they are."""
        if level_of(graph) == "image":
            return graph
        if self.edge_noise > 0:
            graph = replace_edges(graph, self.edge_noise, self.training.seed)
        if self.feature_noise > 0:
            graph = add_noise(graph, self.feature_noise, self.training.seed)
        return normalise_features(graph, self.feature_norm)

    @property
    def preparation(self) -> str:
        """What :meth:`prepare` does, in a few words."""
        noise = f", noise of deviation {self.feature_noise:g} added before" if self.feature_noise else ""
        edges = f", {100 * self.edge_noise:g} % of the edges replaced at random" if self.edge_noise else ""
        return f"{MEANINGS[self.feature_norm]}{noise}{edges}"

    def as_dict(self) -> dict[str, Any]:
        """Plain values for YAML and JSON."""
        return self.model_dump(mode="json")

    def build(self, in_features: int, num_nodes: int | None = None) -> Method:
        """The untrained method for graphs with so many features; its weights depend on the seed alone.

        A method with weights for each node needs their number too.
        """
        method: type[Any] = resolve_method(self.method["name"])
        if method.transductive and num_nodes is None:
            raise InputError(f"{self.method['name']} has weights for each node: say how many nodes there are.")
        with seeded_initialisation(self.training.seed):
            spectral = resolve("spectral", self.spectral["name"])(**_options(self.spectral))
            size = num_nodes if method.transductive else in_features
            built: Method = method(size, spectral=spectral, **_options(self.method))
        if self.without_leading >= built.width:
            raise InputError(
                f"without_leading={self.without_leading} would leave nothing of embeddings of width {built.width}."
            )
        for key in AT_INFERENCE:
            setattr(built, key, getattr(self, key))
        return built

    def build_for(self, graph: Data) -> Method:
        """The untrained method for these data; says so if it embeds what they are not."""
        method, level = self.method["name"], level_of(graph)
        if resolve_method(method).level != level:
            raise InputError(
                f"{method} embeds {ITEMS[resolve_method(method).level]}, and {graph.get('name', 'this')} is "
                f"{DATA[level]}; {_suitable(level)}."
            )
        built = self.build(graph.num_features, graph.num_nodes)
        built.look_at(graph)
        return built

    def make_sampler(self) -> Callable[[Data], Sampler]:
        """What makes the sampler of a graph."""
        return partial(resolve_sampler(self.sampler["name"]), **_options(self.sampler))


def name_of(section: Mapping[str, Any]) -> Any:
    """The name that stands for a section: that of its class, or ``gentle``."""
    return "gentle" if GENTLE.items() <= section.items() else section.get("name")


def _spectral(section: Any, level: Level) -> Any:
    """The map's section with ``gentle`` written out; options without a name are of that, for nodes."""
    if section == "gentle":
        return GENTLE
    if isinstance(section, Mapping) and section.get("name", "gentle" if level == "node" else "") == "gentle":
        return {**GENTLE, **section, "name": GENTLE["name"]}
    return section


_NAMED = {"method": ("grace", "none"), "spectral": ("sfa", "none"), "sampler": ("whole", "whole")}
"""Sections that a name alone can stand for: the name where nothing is said, and that of nothing."""


def _suitable(level: Level) -> str:
    fitting = [name for name, method in METHODS.items() if method.level == level]
    return f"methods for that are {', '.join(fitting)}"


def _check_fit(method: str, sampler: str) -> None:
    """Raise unless a method can be trained on the batches of a sampler."""
    method_class, sampler_class = resolve_method(method), resolve_sampler(sampler)
    if method_class.level != sampler_class.level:
        raise InputError(
            f"{method} embeds {ITEMS[method_class.level]}, and batches of {sampler} are of "
            f"{DATA[sampler_class.level]}: leave the sampler out."
        )
    if method_class.samplers and sampler not in method_class.samplers:
        raise InputError(f"{method} works with the sampler {' or '.join(method_class.samplers)}, not with {sampler}.")
    if sampler_class.for_walks and sampler not in method_class.samplers:
        raise InputError(f"The sampler {sampler} is for methods that walk, and {method} does not.")


def _options(section: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in section.items() if key != "name"}


def _with_name(key: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """``method: grace`` is short for ``method: {name: grace}``; a section without a name has the default's."""
    default, empty = _NAMED[key]
    section = given.get(key, default)
    if isinstance(section, Mapping):
        unnamed = "neighbours" if key == "sampler" and section else default
        named = {"name": unnamed, **section}
    else:
        named = {"name": empty if section is None else section}
    if not isinstance(named["name"], str):
        raise InputError(f"Recipe key {key!r} is a name or a mapping with a name, not {section!r}.")
    return named


def _with_settings(given: Mapping[str, Any], settings: Mapping[str, Any]) -> dict[str, Any]:
    """A partial recipe with a method's settings where it says nothing; a sampler of another name has its own."""
    result: dict[str, Any] = {**given, "training": given.get("training", {})}
    if isinstance(result["training"], Mapping):
        own = {
            path.removeprefix("training."): value for path, value in settings.items() if path.startswith("training.")
        }
        own["warmup"] = _stretched(own.get("warmup", 0), own.get("epochs", 0), result["training"].get("epochs"))
        result["training"] = {**own, **result["training"]}
    sampler = result.get("sampler", {})
    if isinstance(sampler, Mapping) and "name" not in sampler:
        own = {path.removeprefix("sampler."): value for path, value in settings.items() if path.startswith("sampler.")}
        result["sampler"] = {**own, **sampler}
    return {**{path: value for path, value in settings.items() if "." not in path}, **result}


def _stretched(warmup: int, epochs: int, other: Any) -> int:
    """The warm-up of a run of other epochs than the warm-up was meant for."""
    return round(warmup * other / epochs) if isinstance(other, int) and other > 0 and epochs else warmup


def _complete(section: Mapping[str, Any], target: type[Method | SpectralMap | Sampler], kind: str) -> dict[str, Any]:
    """Options checked against the signature of the class they go to, with its defaults filled in."""
    hints = get_type_hints(target.__init__, include_extras=True)
    fields: dict[str, Any] = {
        name: (hints[name], parameter.default)
        for name, parameter in inspect.signature(target).parameters.items()
        if name in hints and name not in ("in_features", "num_nodes", "spectral", "graph")
    }
    model = create_model(target.__name__, __config__=ConfigDict(extra="forbid", allow_inf_nan=False), **fields)
    options = _validated(model, _options(section), kind)
    return {"name": section["name"], **options.model_dump()}


def _validated(model: type[Any], given: Mapping[str, Any], where: str) -> Any:
    try:
        return model.model_validate(dict(given))
    except ValidationError as error:
        first = error.errors()[0]
        path = ".".join(str(part) for part in first["loc"])
        if first["type"] == "extra_forbidden" and not model.model_fields:
            raise InputError(
                f"Unknown {where} key {path!r}: this {where} takes no options; choose another by its name to set some."
            ) from None
        if first["type"] == "extra_forbidden":
            parent = model if len(first["loc"]) == 1 else Training
            raise unknown_name(f"{where} key", path.split(".")[-1], parent.model_fields) from None
        raise InputError(f"{where.capitalize()} key {path!r}: {first['msg']}, not {first['input']!r}.") from None
