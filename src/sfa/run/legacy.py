"""Read recipes of the old layout, in which encoder and augmentation were options of the method.

:func:`modernize` reads old recipes, run folders and results. :func:`flatten` returns a recipe in the old layout, whose
hash it keeps, so that no measured result is lost.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple


class OldPart(NamedTuple):
    """An encoder or augmentation of the old layout."""

    name: str
    options: tuple[str, ...] = ()  # those that were options of the method
    fixed: Mapping[str, Any] = MappingProxyType({})  # options that could not be chosen, with the values they had
    named_by: str = ""  # the method's option that held its name, ``encoder``, or its option that ``augmentation`` held


def _gcn(*options: str, activate_last: bool = True, **fixed: Any) -> OldPart:
    return OldPart("gcn", ("hidden", *options), {"norm_momentum": 0.1, "activate_last": activate_last, **fixed})


_FULL = ("layers", "widths", "activation", "batch_norm")
_SHORT: dict[str, Any] = {"widths": "constant", "batch_norm": False}
_DROPS = ("edge_drop", "feature_drop")
_RATES = ("node_drop", "edge_drop", "edge_add", "attribute_mask", "subgraph_keep")
_UNIFORM = OldPart("uniform", _DROPS, {"directed": False})
_GIN = OldPart("gin", ("hidden", "layers"), named_by="encoder")
_BOTH = OldPart("random-choice", _RATES, {"both_views": True}, named_by="kinds")
_JOAO = OldPart("random-choice", _RATES, {"kinds": "all", "both_views": False})
_MVGRL_OPTIONS = ("diffusion", "alpha", "t", "tolerance", "top_k")
_MVGRL = OldPart("diffusion", _MVGRL_OPTIONS, {"edge_drop": 0.0, "feature_drop": [0.0, 0.0]})
_MERIT = OldPart("diffusion", ("alpha", "tolerance", "top_k", *_DROPS), {"diffusion": "ppr", "t": 5.0})
_IMAGE = OldPart("small", ("hidden",), named_by="encoder"), OldPart("image", (), named_by="strength")

OLD: dict[str, tuple[OldPart | None, OldPart | None]] = {  # encoder and augmentation of the methods of the old layout
    **dict.fromkeys(("grace", "g-bt", "bgrl", "costa"), (_gcn(*_FULL), _UNIFORM)),
    "gca": (_gcn(*_FULL), OldPart("adaptive", (*_DROPS, "centrality", "cut_off"), {"importance": "mean"})),
    "cca-ssg": (_gcn("layers", "widths", "activation", activate_last=False, batch_norm=False), _UNIFORM),
    "dgi": (_gcn("layers", "activation", **_SHORT), OldPart("shuffle")),
    "mvgrl": (_gcn("layers", "activation", **_SHORT), _MVGRL),
    "merit": (_gcn("layers", "activation", **_SHORT), _MERIT),
    "sugrl": (OldPart("mlp", ("hidden", "layers", "inner"), {"dropout": 0.0}), None),
    "gae": (_gcn(layers=2, widths="halving", activation="relu", batch_norm=False, activate_last=False), None),
    "vgae": (_gcn(layers=2, widths="constant", activation="relu", batch_norm=False, activate_last=False), None),
    "graphcl": (_GIN, OldPart("random-choice", (*_RATES, "both_views"), named_by="kinds")),
    **dict.fromkeys(("graph-bt", "graph-bgrl"), (_GIN, _BOTH)),
    **dict.fromkeys(("joao", "joao-v2"), (_GIN, _JOAO)),
    **dict.fromkeys(("simgrace", "infograph", "lp-info"), (_GIN, None)),
    **dict.fromkeys(("simclr", "barlow-twins", "simsiam", "swav", "byol"), _IMAGE),
}

CORRECTED: dict[str, dict[str, Any]] = {
    "g-bt": {"encoder.norm_momentum": 0.1, "encoder.activate_last": True},
    "gca": {"augmentation.importance": "mean"},
    "dgi": {"training.restore_best": False},
    "mvgrl": {"training.restore_best": False},
}
"""Settings that old recipes could not choose and that have been corrected since, with the values they had."""

NEW_OPTIONS: dict[str, dict[str, Any]] = {
    "costa": {"intraview": False},
    "mlp": {"activation": "relu", "layer_norm": False, "activate_last": False},
}
"""Options of a method or encoder that old recipes do not have, with the values that were used."""
_GRAPH_ENCODERS = {"gcn": "pooled-gcn"}  # whose names have changed
STEPS = {  # old keys of postprocessing, in the order of its steps, with the step and its option now
    "without_leading": ("remove-top-pcs", "count"),
    "smoothing": ("propagate", "hops"),
    "own_features": ("concat-features", "weight"),
}


def uncorrected(recipe: Any) -> Any:
    """Return a recipe as it was before its method was corrected; the recipe itself if there was nothing to correct."""
    known = recipe.by_path()
    changes = {path: old for path, old in CORRECTED.get(recipe.method["name"], {}).items() if path in known}
    return recipe.updated(changes) if changes else recipe


def modernize(given: Mapping[str, Any], *, corrected: bool = False) -> dict[str, Any]:
    """Return a recipe, perhaps a partial one, in today's layout, with the old :data:`CORRECTED` values if not told."""
    result, section = dict(given), given.get("method")
    name = (section.get("name") or "grace") if isinstance(section, Mapping) else None
    if isinstance(section, Mapping) and isinstance(name, str):
        moved = [new for key, value in section.items() for new in modern_paths(name, key, value)]
        result["method"] = {}
        for path, value in moved:
            part, _, key = path.partition(".")
            result[part] = {**_mapping(result.get(part)), key: value}
        if not corrected and any(not path.startswith("method.") for path, _ in moved):
            for path, value in CORRECTED.get(name, {}).items():
                part, _, key = path.partition(".")
                result[part] = {key: value, **_mapping(result.get(part))}
    if STEPS.keys() & result.keys():
        steps = with_old_steps(result.get("postprocess"), result)
        result = {**{key: value for key, value in result.items() if key not in STEPS}, "postprocess": steps}
    return result


def _mapping(section: Any) -> Mapping[str, Any]:
    return section if isinstance(section, Mapping) else {} if section is None else {"name": section}


def modern_paths(method: str, key: str, value: Any) -> list[tuple[str, Any]]:
    """Return the paths and values that an option of an old method has now."""
    for kind, part in zip(("encoder", "augmentation"), OLD.get(method, (None, None)), strict=True):
        if part is not None and key == kind and part.named_by:
            option = "name" if part.named_by == "encoder" else part.named_by
            return [(f"{kind}.{option}", _GRAPH_ENCODERS.get(value, value) if part is _GIN else value)]
        if part is not None and key in part.options:
            if method == "vgae" and isinstance(value, int):
                value = 2 * value  # means and deviations side by side
            latent = [("method.latent", value)] if (method, key) == ("lp-info", "hidden") else []
            return [(f"{kind}.{key}", value), *latent]
    return [(f"method.{key}", value)]


def with_old_steps(steps: Any, given: Mapping[str, Any]) -> Any:
    """Return the steps of postprocessing with those that old keys set, or leave out at zero, each at its place."""
    order = [name for name, _ in STEPS.values()]
    for old in [key for key in STEPS if key in given]:
        name, option = STEPS[old]
        listed = steps if isinstance(steps, list | tuple) else [] if steps is None else [steps]
        steps = [step for step in listed if _mapping(step).get("name") != name]
        if given[old] != 0:
            after = order[order.index(name) + 1 :]
            place = next((i for i, step in enumerate(steps) if _mapping(step).get("name") in after), len(steps))
            steps.insert(place, {"name": name, option: given[old]})
    return steps


def flatten(recipe: Mapping[str, Any]) -> dict[str, Any]:
    """Return a complete recipe, or a part of one, in the old layout; what that cannot express stays in its section."""
    new_sections = ("encoder", "augmentation", "postprocess")
    if not set(new_sections) & recipe.keys():
        return dict(recipe)
    flat = {key: value for key, value in recipe.items() if key not in new_sections}
    if "spectral" in flat:
        flat["spectral"] = _only(flat["spectral"])
    method = dict(recipe.get("method") or {})
    name = method.get("name", "")
    for kind, old in zip(("encoder", "augmentation"), OLD.get(name, (None, None)), strict=True):
        options, rest = _taken_apart(_only(recipe.get(kind)), old)
        if name == "vgae" and "hidden" in options:
            options["hidden"] = options["hidden"] // 2
        method |= options
        if rest:
            flat[kind] = rest
    if name == "lp-info" and method.get("latent") == method.get("hidden"):
        method.pop("latent", None)
    if "method" in recipe:
        flat["method"] = _without(method, NEW_OPTIONS.get(name, {}))
    listed = [_without(step, {"concat": False}) for step in recipe.get("postprocess") or []]
    steps = {step["name"]: step for step in listed}
    old_steps = {key: steps[name][option] for key, (name, option) in STEPS.items() if name in steps}
    in_order = listed == [
        {"name": name, option: old_steps[key]} for key, (name, option) in STEPS.items() if key in old_steps
    ]
    return {**flat, **(old_steps if in_order else {"postprocess": listed})}


def _only(section: Any) -> Any:
    return section[0] if isinstance(section, list) and len(section) == 1 else section


def _without(options: Mapping[str, Any], values: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in options.items() if key not in values or value != values[key]}


def _taken_apart(section: Any, old: OldPart | None) -> tuple[dict[str, Any], Any]:
    """Return the options of a part that were the method's, and the rest, which the old layout cannot express."""
    if isinstance(section, Mapping):
        section = _without(section, NEW_OPTIONS.get(section.get("name", ""), {}))
    if not isinstance(section, Mapping) or old is None:
        return {}, section
    options = {key: value for key, value in section.items() if key != "name"}
    if old.named_by == "encoder":
        if not options.keys() <= set(old.options):
            return {}, section
        names = {new: before for before, new in _GRAPH_ENCODERS.items()} if old is _GIN else {}
        return {"encoder": names.get(section["name"], section["name"]), **options}, None
    if section["name"] != old.name:
        return {}, section
    known = {key: options.pop(key) for key in old.options if key in options}
    if old.named_by in options:
        known["augmentation"] = options.pop(old.named_by)
    return known, _without(options, old.fixed)
