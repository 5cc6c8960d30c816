"""A recipe: everything that decides a run, validated before it starts."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model
from torch_geometric.data import Data

from sfa.errors import InputError, unknown_name
from sfa.graph.features import FeatureNormalisation
from sfa.graph.sampling import Sampler
from sfa.graph.sampling import resolve as resolve_sampler
from sfa.methods import ContrastiveMethod
from sfa.methods import resolve as resolve_method
from sfa.ranges import Count, Natural, NonNegative, Positive
from sfa.seeding import seeded_initialisation
from sfa.spectral import SpectralMap
from sfa.spectral import resolve as resolve_spectral


class Training(BaseModel):
    """Keyword arguments of :func:`sfa.training.train`."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    epochs: Count = 200
    lr: Positive = 5e-4
    weight_decay: NonNegative = 1e-5
    warmup: Natural = 0
    cosine: bool = False
    patience: Count | None = 20
    seed: Natural = 0
    checkpoint_every: Count = 25
    diagnose_every: Natural = 10


class Recipe(BaseModel):
    """A method, a spectral map and a sampler, each with its options; feature normalisation; training.

    Options of a method, map or sampler are the keyword arguments of its class; those not given have its defaults.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    method: dict[str, Any] = Field(default_factory=lambda: {"name": "grace"})
    spectral: dict[str, Any] = Field(default_factory=lambda: {"name": "sfa"})
    sampler: dict[str, Any] = Field(default_factory=lambda: {"name": "whole"})
    feature_norm: FeatureNormalisation = "row"
    training: Training = Field(default_factory=Training)

    @classmethod
    def parse(cls, given: Mapping[str, Any]) -> Recipe:
        """A complete recipe from a partial one; an unknown key or a wrong value is named in one sentence."""
        recipe: Recipe = _validated(cls, {**given, **_sections_with_names(given)}, "recipe")
        method, spectral, sampler = recipe.method, recipe.spectral, recipe.sampler
        return recipe.model_copy(
            update={
                "method": _complete(method, resolve_method(method["name"]), "method"),
                "spectral": _complete(spectral, resolve_spectral(spectral["name"]), "spectral"),
                "sampler": _complete(sampler, resolve_sampler(sampler["name"]), "sampler"),
            }
        )

    def updated(self, changes: Mapping[str, Any]) -> Recipe:
        """This recipe with some keys changed, given by path: ``{"method.tau": 0.5, "training.epochs": 100}``.

        Changing the name of a method, map or sampler drops the options of the old one, but for the batch size. Options
        of a sampler alone, where there was none, ask for sampled neighbours.
        """
        given = self.as_dict()
        if self.sampler["name"] == "whole" and any(key.startswith("sampler.") for key in changes):
            changes = {"sampler": "neighbours", **changes}
        for path in sorted(changes, key=lambda path: (path.count("."), not path.endswith(".name"))):
            value = changes[path]
            *parents, key = path.split(".")
            section = given
            for parent in parents:
                section = section.get(parent, None) if isinstance(section, dict) else None  # type: ignore[assignment]
                if not isinstance(section, dict):
                    raise unknown_name("recipe key", path, given)
            if key == "name" and section.get("name") != value:
                kept = {name: section[name] for name in ("batch_size",) if name in section and value != "whole"}
                section.clear()
                section.update(kept)
            section[key] = {"name": value} if key in _NAMED and isinstance(value, str) else value
        return Recipe.parse(given)

    def as_dict(self) -> dict[str, Any]:
        """Plain values for YAML and JSON."""
        return self.model_dump(mode="json")

    def build(self, in_features: int) -> ContrastiveMethod:
        """The untrained method for graphs with so many features; its weights depend on the seed alone."""
        with seeded_initialisation(self.training.seed):
            spectral = resolve_spectral(self.spectral["name"])(**_options(self.spectral))
            method: type[Any] = resolve_method(self.method["name"])
            built: ContrastiveMethod = method(in_features, spectral=spectral, **_options(self.method))
        return built

    def make_sampler(self) -> Callable[[Data], Sampler]:
        """What makes the sampler of a graph."""
        return partial(resolve_sampler(self.sampler["name"]), **_options(self.sampler))


_NAMED = ("method", "spectral", "sampler")
"""Sections that a name alone can stand for."""


def _options(section: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in section.items() if key != "name"}


def _sections_with_names(given: Mapping[str, Any]) -> dict[str, Any]:
    """``method: grace`` is short for ``method: {name: grace}``; a section without a name has the default's."""
    sections = {}
    for key, default, empty in (
        ("method", "grace", "none"),
        ("spectral", "sfa", "none"),
        ("sampler", "whole", "whole"),
    ):
        section = given.get(key, default)
        if isinstance(section, Mapping):
            unnamed = "neighbours" if key == "sampler" and section else default
            sections[key] = {"name": unnamed, **section}
        elif isinstance(section, str) or section is None:
            sections[key] = {"name": empty if section is None else section}
        if key not in sections or not isinstance(sections[key]["name"], str):
            raise InputError(f"Recipe key {key!r} is a name or a mapping with a name, not {section!r}.")
    return sections


def _complete(
    section: Mapping[str, Any], target: type[ContrastiveMethod | SpectralMap | Sampler], kind: str
) -> dict[str, Any]:
    """Options checked against the signature of the class they go to, with its defaults filled in."""
    hints = get_type_hints(target.__init__, include_extras=True)
    fields: dict[str, Any] = {
        name: (hints[name], parameter.default)
        for name, parameter in inspect.signature(target).parameters.items()
        if name in hints and name not in ("in_features", "spectral", "graph")
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
