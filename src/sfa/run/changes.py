"""Change a recipe by paths, those of today's layout or those of the old one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sfa.errors import InputError, unknown_name
from sfa.run.legacy import OLD, STEPS, modern_paths, modernize, with_old_steps
from sfa.run.parsing import label_of, stretched_warmup, with_required_options
from sfa.run.sections import names_of

if TYPE_CHECKING:
    from sfa.run.recipe import Recipe

SECTIONS = ("method", "encoder", "augmentation", "spectral", "sampler")  # sections that a name alone can stand for
MISSING = object()
KEYWORDS = {
    **{section: f"{section}.name" for section in SECTIONS},
    **{key: f"training.{key}" for key in ("epochs", "lr", "seed", "precision", "online_probe")},
    **{key: f"method.{key}" for key in ("hidden", "tau")},
    "iterations": "spectral.iterations",
    "batch_size": "sampler.batch_size",
}
"""Short names of keys of a recipe."""


def changed(recipe: Recipe, changes: Mapping[str, Any]) -> Recipe:
    """Change some keys, given by path: ``{"method.tau": 0.5, "training.epochs": 100}``.

    Changing the name of a part drops the options of the old one, except the batch size of a sampler. Another method
    also brings its authors' other settings, except the seed and the intervals of checkpoints and diagnostics. Options
    of a sampler alone, where there was none, ask for sampled neighbors. Other epochs alone stretch the warm-up. Paths
    of the old layout, such as ``method.hidden``, are understood.
    """
    base = _with_another_method(recipe, changes)
    changes = _modern_changes(base, changes)
    if base.sampler["name"] == "whole" and any(key.startswith("sampler.") for key in changes):
        changes = {"sampler": "neighbours", **changes}
    if "training.epochs" in changes and not {"training", "training.warmup"} & changes.keys():
        warmup = stretched_warmup(base.training.warmup, base.training.epochs, changes["training.epochs"])
        changes = {"training.warmup": warmup, **changes}
    result = base.as_dict()
    for path in sorted(changes, key=lambda path: (path.count("."), not path.endswith(".name"))):
        _set(result, path, changes[path])
    return recipe.parse(result)


def _with_another_method(recipe: Recipe, changes: Mapping[str, Any]) -> Recipe:
    """Return a recipe of another method if the changes name one; it keeps what does not depend on the method."""
    asked = changes.get("method.name", changes.get("method"))
    name = asked.get("name") if isinstance(asked, Mapping) else asked
    if not isinstance(name, str) or name == recipe.method["name"]:
        return recipe
    own = recipe.parse({"method": with_required_options(recipe.method["name"], recipe.method, "")})
    kept = {key: getattr(recipe, key) for key in ("spectral", "sampler") if getattr(recipe, key) != getattr(own, key)}
    kept |= {key: changes.get(key, getattr(recipe, key)) for key in ("feature_noise", "edge_noise")}
    kept |= {"feature_norm": "auto"} if recipe.feature_norm == "auto" else {}
    kept["postprocess"] = with_old_steps(changes.get("postprocess", recipe.postprocess), changes)
    kept["training"] = {key: getattr(recipe.training, key) for key in ("seed", "checkpoint_every", "diagnose_every")}
    return recipe.parse({"method": with_required_options(name, changes), **kept})


def _modern_changes(recipe: Recipe, changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return changes with the paths of today's layout."""
    result: dict[str, Any] = {}
    for path, value in changes.items():
        key = path.removeprefix("method.")
        if path in STEPS or path == "postprocess":
            result["postprocess"] = with_old_steps(changes.get("postprocess", recipe.postprocess), changes)
        elif path.startswith("method.") and key != "name" and key not in recipe.method:
            if key == "encoder" and recipe.encoder and (old := OLD.get(recipe.method["name"], (None,))[0]):
                kept = {f"encoder.{option}": value for option, value in recipe.encoder.items() if option in old.options}
                result = {**kept, **result}  # as of old, where another encoder is chosen as an option of the method
            paths = dict(modern_paths(recipe.method["name"], key, value))
            own = [kind for kind in ("encoder", "augmentation") if key in (getattr(recipe, kind) or {})]
            result |= {f"{own[0]}.{key}": value} if f"method.{key}" in paths and own else paths
        elif path == "method" and isinstance(value, Mapping):
            modern = modernize({"method": {"name": recipe.method["name"], **value}}, corrected=True)
            complete = recipe.parse(modern).as_dict()
            result |= {part: complete[part] for part in modern if part in SECTIONS}
        else:
            result[path] = value
    return result


def _set(given: dict[str, Any], path: str, value: Any) -> None:
    """Set a key of a recipe in place; ``spectral.0.strength`` is that of the first of several maps."""
    *parents, key = path.split(".")
    if path not in given and not parents:
        sections = {name: section for name, section in given.items() if isinstance(section, dict)}
        known = KEYWORDS | {option: f"{name}.{option}" for name, section in sections.items() for option in section}
        if key in known:
            raise InputError(f"Unknown recipe key {path!r}: did you mean {known[key]!r}?")
    if len(parents) == 1 and parents[0] in SECTIONS and given.get(parents[0]) is None:
        given[parents[0]] = {}  # refused when parsed, if a method has none
    section = value_in(given, parents)
    several = isinstance(section, list) and all(isinstance(one, dict) and "name" in one for one in section)
    if not (several or isinstance(section, dict)):
        raise unknown_name("recipe key", path, given)
    if isinstance(section, list):
        if key != "name" or len(parents) > 1:
            which = f"there are several of {parents[0]}, {names_of(section)}: count from 0"
            raise InputError(f"Recipe key {path!r}: {which}, for instance {parents[0]}.0.{key}.")
        given[parents[0]] = section = {}
    if key == "name" and "name" in section and label_of(section) != value:
        kept = {"batch_size": section["batch_size"]} if "batch_size" in section and value != "whole" else {}
        section.clear()
        section.update(kept)
    if not parents and key in SECTIONS:
        value = [_mapping(one) for one in value] if isinstance(value, list | tuple) else _mapping(value)
    section[key] = value


def value_in(values: Any, keys: Sequence[str]) -> Any:
    """Return the value that keys, or places in lists, lead to one after the other; or :data:`MISSING`."""
    for key in keys:
        if isinstance(values, dict) and key in values:
            values = values[key]
        elif isinstance(values, list) and key.isdigit() and int(key) < len(values):
            values = values[int(key)]
        else:
            return MISSING
    return values


def _mapping(section: Any) -> Any:
    """Return a name as the mapping that it is short for; a mapping as a copy, and anything else as it is."""
    return {"name": section} if isinstance(section, str) else dict(section) if isinstance(section, Mapping) else section
