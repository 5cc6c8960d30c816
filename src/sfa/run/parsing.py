"""From what a recipe says of a section to the section itself, and from all of them to an untrained method."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from torch import nn

from sfa.augment import Augmentation, Compose
from sfa.errors import InputError, unknown_name
from sfa.graph.features import OF_ALL_ROWS
from sfa.methods import Method
from sfa.postprocess import ConcatFeatures
from sfa.registry import build, is_path, known_names, resolve
from sfa.run.sections import check_part, is_object, named, names_of, options_of, takes_anything
from sfa.sampling import Sampler
from sfa.seeding import seeded_initialisation
from sfa.spectral.base import as_spectral
from sfa.tasks import DATA, ITEMS, Task, task_attribute

if TYPE_CHECKING:
    from sfa.run.recipe import Recipe

GENTLE: dict[str, Any] = {"name": "sfa", "passes": 64, "strength": 0.125}
"""What ``gentle`` is short for: the map of methods for nodes where none is named; ``sfa`` is Algorithm 1."""


def label_of(section: Any) -> Any:
    """Return the name that stands for a section: that of its class, or ``gentle``."""
    is_gentle = isinstance(section, Mapping) and GENTLE.items() <= section.items()
    return "gentle" if is_gentle else names_of(section)


def class_of_method(name: str) -> type[Method]:
    """Return the class of a method by its name; ``<name>`` is that of a method that was given as an object."""
    found = resolve("method", name.strip("<>"))
    if not (inspect.isclass(found) and issubclass(found, Method)):
        raise InputError(f"The method {name!r} is no subclass of sfa.methods.Method.")
    parameters = inspect.signature(found).parameters
    if not any(one.kind is one.VAR_KEYWORD for one in parameters.values()):
        first = "num_nodes" if found.transductive else "encoder"
        needed = [first, *(["augmentation"] if found.takes_augmentation else []), "spectral"]
        for missing in [argument for argument in needed if argument not in parameters]:
            raise InputError(
                f"The constructor of the method {name} must take {', '.join(needed)}: it has no {missing}."
            )
    return found


def with_required_options(name: str, changes: Mapping[str, Any], prefix: str = "method.") -> dict[str, Any]:
    """Return the section of a method with those of its options among the changes that have no default."""
    known = options_of(class_of_method(name), "method")
    required = {key: f"{prefix}{key}" for key, (_, default) in known.items() if default is ...}
    return {"name": name, **{key: changes[path] for key, path in required.items() if path in changes}}


def part_section(kind: str, section: Any, method: str, default: Any, without: str | None = None) -> Any:
    """Return the section of an encoder or augmentation, or of several; ``without`` says why a method takes none."""
    if without is not None:
        if section not in (None, "none"):
            raise InputError(f"{method} {without}: leave out {kind}.")
        return None
    if section is None:
        return dict(default)
    if kind == "augmentation":
        if isinstance(section, list):
            return [part_section(kind, one, method, default) for one in section]
        if section == "none" or (isinstance(section, Mapping) and section.get("name") == "none"):
            section = "identity"  # two views that are the data themselves
    return named(section, kind, default, None)


def spectral_section(section: Any, task: Task) -> Any:
    """Return the map's section with ``gentle`` written out; options without a name are of that, for nodes."""
    if isinstance(section, list):
        return [spectral_section(one, task) for one in section] or {"name": "none"}
    if section == "gentle":
        return dict(GENTLE)
    if isinstance(section, Mapping) and section.get("name", "gentle" if task == "node" else "") == "gentle":
        return {**GENTLE, **section, "name": GENTLE["name"]}
    found = named(section, "spectral", {"name": "sfa"})
    if not is_object(found["name"]) and not is_path(found["name"]) and found["name"] not in known_names("spectral"):
        raise unknown_name("spectral map", found["name"], ("gentle", *known_names("spectral")))
    return found


def postprocess_section(section: Any) -> list[dict[str, Any]]:
    """Return the steps of postprocessing, a section each."""
    if section is not None and not isinstance(section, list | tuple):
        section = [section]
    return [named(one, "postprocess", {}, None) for one in section or []]


def sampler_section(section: Any, default: Mapping[str, Any]) -> dict[str, Any]:
    """Return the sampler's section; options alone, where the default is the whole graph, ask for neighbors."""
    if isinstance(section, Mapping) and section and "name" not in section and default["name"] == "whole":
        default = {"name": "neighbours"}
    return named(section, "sampler", default, "whole")


def training_section(given: Any, settings: Mapping[str, Any]) -> Any:
    """Return the section of training with the method's settings, and a warm-up that fits the epochs."""
    if not isinstance(given, Mapping):
        return given
    epochs = settings.get("epochs", 0)
    warmup = stretched_warmup(settings.get("warmup", 0), epochs, given.get("epochs"))
    return {**settings, "warmup": warmup, **given}


def stretched_warmup(warmup: int, epochs: int, other: Any) -> int:
    """Return the warm-up of a run of other epochs than the warm-up was meant for."""
    return round(warmup * other / epochs) if isinstance(other, int) and other > 0 and epochs else warmup


def check_fit(recipe: Recipe, method_class: type[Method]) -> None:
    """Raise unless the parts of a recipe go together."""
    method, task, sampler = recipe.method["name"], method_class.task, recipe.sampler["name"]
    sampler_class: type[Sampler] = resolve("sampler", sampler)
    check_part(sampler_class, "sampler", sampler)
    embeds = f"{method} embeds {ITEMS[task]}"
    if task != sampler_class.task:
        what = f"batches of {sampler} are of {DATA[sampler_class.task]}"
        raise InputError(f"{embeds}, and {what}: leave the sampler out.")
    if method_class.samplers and sampler not in method_class.samplers:
        raise InputError(f"{method} works with the sampler {' or '.join(method_class.samplers)}, not with {sampler}.")
    if sampler_class.for_walks and sampler not in method_class.samplers:
        raise InputError(f"The sampler {sampler} is for methods that walk, and {method} does not.")
    if task == "image" and (recipe.feature_norm != "none" or recipe.feature_noise > 0):
        raise InputError(
            f"{method} embeds images, which have no features to normalise or to add noise to: leave out "
            "feature_norm and feature_noise."
        )
    if task != "node" and recipe.edge_noise > 0:
        raise InputError(f"edge_noise replaces edges of one graph, and {embeds}: leave it out.")
    if task == "graph" and recipe.feature_norm in OF_ALL_ROWS:
        raise InputError(
            f"The feature normalisation {recipe.feature_norm} is made of all nodes together, and a graph's "
            "embedding would depend on the graphs beside it: for sets of graphs take row or none, or scale the "
            "features before."
        )
    if task != "node" and recipe.postprocess:
        raise InputError(f"{embeds}, and postprocessing is of embeddings of the nodes of one graph: leave it out.")
    views = recipe.augmentation if isinstance(recipe.augmentation, list) else [recipe.augmentation or {}]
    for section in views:
        known = section and not is_object(section["name"])
        own: Task | None = task_attribute(resolve("augmentation", section["name"])) if known else None
        if own not in (None, task):
            raise InputError(f"The augmentation {section['name']} is of {DATA[own]}, and {embeds}.")


def build_method(recipe: Recipe, in_features: int, num_nodes: int | None, parts: Mapping[str, Any]) -> Method:
    """Build the untrained method of a recipe; see :meth:`sfa.run.Recipe.build`."""
    method_class: Any = class_of_method(recipe.method["name"])
    if "method" in parts:
        return _with_steps(recipe, copy.deepcopy(parts["method"]))
    if is_object(recipe.method["name"]):
        raise InputError(f"The method {recipe.method['name']} was given as an object, and is needed again: method=….")
    with seeded_initialisation(recipe.training.seed):
        spectral = as_spectral(_build("spectral", recipe.spectral, parts))
        options = {key: value for key, value in recipe.method.items() if key != "name"}
        if method_class.transductive:
            if num_nodes is None:
                raise InputError(f"{recipe.method['name']} has weights for each node: say how many nodes there are.")
            built: Method = method_class(num_nodes, spectral=spectral, **options)
        else:
            encoder = _build("encoder", recipe.encoder, parts, in_features)
            views = _build("augmentation", recipe.augmentation, parts) if method_class.takes_augmentation else None
            chosen = {} if views is None else {"augmentation": views}
            built = method_class(encoder, **chosen, spectral=spectral, **options)
    return _with_steps(recipe, built)


def _with_steps(recipe: Recipe, method: Method) -> Method:
    """Give a method the steps of postprocessing; raise if one of them would leave nothing of its embeddings."""
    if recipe.postprocess:
        method.postprocess = [build("postprocess", step) for step in recipe.postprocess]
    for step in method.postprocess:
        if isinstance(step, ConcatFeatures):
            break  # what comes after sees wider embeddings
        if hasattr(step, "check_width"):
            step.check_width(method.width)
    return method


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
        if kind != "augmentation":
            return built
        return built[0] if len(built) == 1 and isinstance(built[0], Augmentation) else Compose(built)
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
