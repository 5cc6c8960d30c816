"""Complete the sections of a recipe, check that they fit together, and build the untrained method from them."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from torch import nn

from sfa.augment import Augmentation, Compose
from sfa.errors import InputError, unknown_name
from sfa.methods import Method
from sfa.postprocess import PCA, ConcatFeatures
from sfa.registry import build, is_path, known_names, resolve
from sfa.run.sections import as_list, check_part, is_object, named, names_of, options_of, takes_anything
from sfa.sampling import Sampler
from sfa.seeding import seeded_initialization
from sfa.spectral.base import as_spectral
from sfa.tasks import DATA, ITEMS, Task, settings_of, task_attribute

if TYPE_CHECKING:
    from sfa.run.recipe import Recipe

GENTLE: dict[str, Any] = {"name": "sfa", "passes": 64, "strength": 0.125}
"""The map that ``gentle`` is short for, the default of methods for nodes; ``sfa`` is Algorithm 1."""


def label_of(section: Any) -> Any:
    """Return the name that stands for a section of a spectral map: that of its class, or ``gentle``."""
    is_gentle = isinstance(section, Mapping) and GENTLE.items() <= section.items()
    return "gentle" if is_gentle else names_of(section)


def class_of_method(name: str) -> type[Method]:
    """Return the class of a method by its name; ``<name>`` is that of a method that was given as an object."""
    found: type[Method] = resolve("method", name.strip("<>"))
    if not (inspect.isclass(found) and issubclass(found, Method)):
        raise InputError(f"The method {name!r} is no subclass of sfa.methods.Method.")
    parameters = inspect.signature(found).parameters
    first = "num_nodes" if found.transductive else "encoder" if found.learns else "in_features"
    needed = [first, *(["augmentation"] if found.takes_augmentation else []), "spectral"]
    missing = [argument for argument in needed if argument not in parameters]
    if missing and not any(one.kind is one.VAR_KEYWORD for one in parameters.values()):
        raise InputError(f"The constructor of the method {name} must take {', '.join(needed)}: it has no {missing[0]}.")
    return found


def with_required_options(name: str, changes: Mapping[str, Any], prefix: str = "method.") -> dict[str, Any]:
    """Return the section of a method with those of its options among the changes that have no default."""
    known = options_of(class_of_method(name), "method")
    required = [key for key, (_, default) in known.items() if default is ... and f"{prefix}{key}" in changes]
    return {"name": name, **{key: changes[f"{prefix}{key}"] for key in required}}


def parse_sections(given: Mapping[str, Any], name: str, method_class: type[Method]) -> dict[str, Any]:
    """Return the sections of a recipe except its method, with the settings of the method's authors as defaults."""
    settings = settings_of(method_class)
    sampler, usual = given.get("sampler", {}), settings.get("sampler", {"name": "whole"})
    if isinstance(sampler, Mapping) and sampler and "name" not in sampler and usual["name"] == "whole":
        usual = {"name": "neighbours"}  # options alone ask for sampled neighbors
    sampler = named(sampler, "sampler", usual, "whole")
    if sampler["name"] == "neighbors":
        sampler["name"] = "neighbours"  # as all stored recipes spell it
    training, usual_training = given.get("training", {}), settings.get("training", {})
    if isinstance(training, Mapping):
        warmup, epochs = usual_training.get("warmup", 0), usual_training.get("epochs", 0)
        warmup = stretched_warmup(warmup, epochs, training.get("epochs"))
        training = {**usual_training, "warmup": warmup, **training}
    spectral = given.get("spectral", settings.get("spectral", {})) if method_class.learns else "none"
    sections = {
        "spectral": _spectral_section(spectral, method_class.task),
        "postprocess": [named(one, "postprocess", {}, None) for one in as_list(given.get("postprocess"))],
        "sampler": sampler,
        "feature_norm": given.get("feature_norm", settings.get("feature_norm", "row")),
        "training": training,
    }
    no_encoder = "has weights for each node and no encoder" if method_class.transductive else None
    reasons = {
        "encoder": no_encoder if method_class.learns else "learns nothing and has no encoder",
        "augmentation": None if method_class.takes_augmentation else "makes no views of its data",
    }
    for kind, reason in reasons.items():
        if reason is not None and given.get(kind) not in (None, "none"):
            raise InputError(f"{name} {reason}: leave out {kind}.")
        sections[kind] = _part_section(kind, given.get(kind), settings[kind]) if reason is None else None
    return sections


def _part_section(kind: str, section: Any, default: Mapping[str, Any]) -> Any:
    """Return the section of an encoder or augmentation, or of several augmentations."""
    if kind == "augmentation" and isinstance(section, list):
        return [_part_section(kind, one, default) for one in section]
    if kind == "augmentation" and section in ("none", {"name": "none"}):
        section = "identity"  # two views that are the data themselves
    return named({} if section is None else section, kind, default, None)


def _spectral_section(section: Any, task: Task) -> Any:
    """Return the section of the spectral map, or of several; options without a name are of ``gentle`` for nodes."""
    if isinstance(section, list):
        return [_spectral_section(one, task) for one in section] or {"name": "none"}
    found = dict(section) if isinstance(section, Mapping) else {"name": section}
    if found.get("name", "gentle" if task == "node" else "") == "gentle":
        return {**GENTLE, **found, "name": GENTLE["name"]}
    found = named(section, "spectral", {"name": "sfa"})
    if not is_object(found["name"]) and not is_path(found["name"]) and found["name"] not in known_names("spectral"):
        raise unknown_name("spectral map", found["name"], ("gentle", *known_names("spectral")))
    return found


def stretched_warmup(warmup: int, epochs: int, other: Any) -> int:
    """Return the warm-up of a run of other epochs than the warm-up was meant for."""
    return round(warmup * other / epochs) if isinstance(other, int) and other > 0 and epochs else warmup


def check_fit(recipe: Recipe, method_class: type[Method]) -> None:
    """Raise unless the parts of a recipe go together."""
    method, task, sampler = recipe.method["name"], method_class.task, recipe.sampler["name"]
    sampler_class: type[Sampler] = resolve("sampler", sampler)
    check_part(sampler_class, "sampler", sampler)
    embeds, norm = f"{method} embeds {ITEMS[task]}", recipe.feature_norm
    if task != sampler_class.task:
        batches = f"batches of {sampler} are of {DATA[sampler_class.task]}"
        raise InputError(f"{embeds}, and {batches}: leave the sampler out.")
    if method_class.samplers and sampler not in method_class.samplers:
        raise InputError(f"{method} works with the sampler {' or '.join(method_class.samplers)}, not with {sampler}.")
    if sampler_class.for_walks and sampler not in method_class.samplers:
        raise InputError(f"The sampler {sampler} is for methods that walk, and {method} does not.")
    if task == "image" and (norm not in ("none", "auto") or recipe.feature_noise > 0):
        what = "no features to normalize or to add noise to"
        raise InputError(f"{embeds}, which have {what}: leave out feature_norm and feature_noise.")
    if task != "node" and recipe.edge_noise > 0:
        raise InputError(f"edge_noise replaces edges of one graph, and {embeds}: leave it out.")
    if task != "node" and recipe.postprocess:
        raise InputError(f"{embeds}, and postprocessing is of embeddings of the nodes of one graph: leave it out.")
    for name in [one["name"] for one in as_list(recipe.augmentation) if not is_object(one["name"])]:
        own: Task | None = task_attribute(resolve("augmentation", name))
        if own not in (None, task):
            raise InputError(f"The augmentation {name} is of {DATA[own]}, and {embeds}.")


def build_method(
    recipe: Recipe, in_features: int, num_nodes: int | None = None, *, parts: Mapping[str, Any] = MappingProxyType({})
) -> Method:
    """Build the untrained method for data with so many features or channels; weights depend on the seed alone.

    ``parts`` are objects in place of sections: an encoder, an augmentation, a spectral map, or a whole method.
    """
    name, method_class = recipe.method["name"], class_of_method(recipe.method["name"])
    if "method" in parts or is_object(name):
        built: Method = _build("method", recipe.method, parts)
    else:
        with seeded_initialization(recipe.training.seed):
            options = {key: value for key, value in recipe.method.items() if key != "name"}
            options["spectral"] = as_spectral(_build("spectral", recipe.spectral, parts))
            if method_class.transductive and num_nodes is None:
                raise InputError(f"{name} has weights for each node: say how many nodes there are.")
            first: Any = num_nodes if method_class.transductive else in_features
            if recipe.encoder is not None:
                first = _build("encoder", recipe.encoder, parts, in_features)
            if recipe.augmentation is not None:
                options["augmentation"] = _build("augmentation", recipe.augmentation, parts)
            if recipe.encoder is not None and "in_features" in inspect.signature(method_class).parameters:
                options["in_features"] = in_features
            built = method_class(first, **options)
    if recipe.postprocess:
        built.postprocess = [build("postprocess", step) for step in recipe.postprocess]
    for step in built.postprocess:
        if hasattr(step, "check_width"):
            step.check_width(built.width)
        if isinstance(step, ConcatFeatures | PCA) or getattr(step, "concat", False):
            break  # the steps after it see embeddings of another width
    return built


def _build(kind: str, section: Any, parts: Mapping[str, Any], *args: Any) -> Any:
    """Build a part, or several, of a recipe; one that was given as an object is taken, or copied if it has weights."""
    part = parts.get(kind)
    if isinstance(part, list | tuple) or (part is None and isinstance(section, list)):
        objects = part if part is not None else [None] * len(section)
        sections = section if isinstance(section, list) else [section] * len(objects)
        if len(sections) != len(objects):
            raise InputError(f"The recipe has {len(sections)} of {kind} in order, {names_of(section)}: give as many.")
        built = [_build(kind, one, {kind: own}, *args) for one, own in zip(sections, objects, strict=True)]
        if kind != "augmentation":
            return built
        return built[0] if len(built) == 1 and isinstance(built[0], Augmentation) else Compose(built)
    if part is not None:
        return copy.deepcopy(part) if isinstance(part, nn.Module) else part
    name = section["name"]
    if is_object(name):
        raise InputError(f"The {kind} {name} was given as an object, and is needed again: {kind}=….")
    try:
        return build(kind, section, *args)
    except TypeError as error:
        if not is_path(name) and not takes_anything(resolve(kind, name)):
            raise
        raise InputError(f"The {kind} {name} cannot be made with these options: {error}.") from error
