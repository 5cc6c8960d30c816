"""From a recipe to an untrained method."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from torch import nn

from sfa.augment import Augmentation, Compose
from sfa.errors import InputError
from sfa.methods import Method
from sfa.postprocess import ConcatFeatures
from sfa.registry import build, is_path, resolve
from sfa.run.parsing import class_of_method
from sfa.run.sections import is_object, names_of, takes_anything
from sfa.seeding import seeded_initialisation
from sfa.spectral.sequential import as_spectral

if TYPE_CHECKING:
    from sfa.run.recipe import Recipe


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
