"""Recipes of the old layout, in which encoder and augmentation were options of the method.

Old recipes, run folders and results are read (:func:`modernize`), and a recipe that could be said in the old layout
keeps the identity that it had there (:func:`flatten`), so that no measured result is lost.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

_MISSING = object()


@dataclass(frozen=True)
class OldPart:
    """An encoder or augmentation as old methods had it: which of its options were the method's, and the others."""

    name: str
    options: tuple[str, ...] = ()
    fixed: Mapping[str, Any] = field(default_factory=dict)
    """Options that could not be chosen, with the values they had."""
    named_by: str = ""
    """The old option that held the part's name, or this option of the part: ``encoder``, ``kinds``, ``strength``."""


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
_IMAGE = OldPart("small", ("hidden",), named_by="encoder"), OldPart("image", (), named_by="strength")

OLD: dict[str, tuple[OldPart | None, OldPart | None]] = {
    "grace": (_gcn(*_FULL), _UNIFORM),
    "gca": (_gcn(*_FULL), OldPart("adaptive", (*_DROPS, "centrality", "cut_off"), {"importance": "mean"})),
    "g-bt": (_gcn(*_FULL), _UNIFORM),
    "bgrl": (_gcn(*_FULL), _UNIFORM),
    "cca-ssg": (_gcn("layers", "widths", "activation", activate_last=False, batch_norm=False), _UNIFORM),
    "costa": (_gcn(*_FULL), _UNIFORM),
    "dgi": (_gcn("layers", "activation", **_SHORT), OldPart("shuffle")),
    "mvgrl": (
        _gcn("layers", "activation", **_SHORT),
        OldPart(
            "diffusion",
            ("diffusion", "alpha", "t", "tolerance", "top_k"),
            {"edge_drop": 0.0, "feature_drop": [0.0, 0.0]},
        ),
    ),
    "merit": (
        _gcn("layers", "activation", **_SHORT),
        OldPart("diffusion", ("alpha", "tolerance", "top_k", *_DROPS), {"diffusion": "ppr", "t": 5.0}),
    ),
    "sugrl": (OldPart("mlp", ("hidden", "layers", "inner"), {"dropout": 0.0}), None),
    "gae": (_gcn(layers=2, widths="halving", activation="relu", batch_norm=False, activate_last=False), None),
    "vgae": (_gcn(layers=2, widths="constant", activation="relu", batch_norm=False, activate_last=False), None),
    "graphcl": (_GIN, OldPart("random-choice", (*_RATES, "both_views"), named_by="kinds")),
    "graph-bt": (_GIN, _BOTH),
    "graph-bgrl": (_GIN, _BOTH),
    "joao": (_GIN, _JOAO),
    "joao-v2": (_GIN, _JOAO),
    "simgrace": (_GIN, None),
    "infograph": (_GIN, None),
    "lp-info": (_GIN, None),
    "simclr": _IMAGE,
    "barlow-twins": _IMAGE,
    "simsiam": _IMAGE,
    "swav": _IMAGE,
    "byol": _IMAGE,
}
"""Encoder and augmentation of the methods of the old layout."""

CORRECTED: dict[str, dict[str, Any]] = {
    "g-bt": {"encoder.norm_momentum": 0.1, "encoder.activate_last": True},
    "gca": {"augmentation.importance": "mean"},
    "dgi": {"training.restore_best": False},
    "mvgrl": {"training.restore_best": False},
}
"""Settings that old recipes could not choose and that have been corrected since, with the values they had."""

NEW_OPTIONS: dict[str, dict[str, Any]] = {"costa": {"intraview": False}}
"""Options of a method itself that it did not have, with the values that it had."""
_GRAPH_ENCODERS = {"gcn": "pooled-gcn"}
"""Encoders of graphs whose names have changed."""
STEPS = {
    "without_leading": ("remove-top-pcs", "count"),
    "smoothing": ("propagate", "hops"),
    "own_features": ("concat-features", "weight"),
}
"""Old keys of what is done to embeddings after training, in their order, with the step and its option now."""


def uncorrected(recipe: Any) -> Any:
    """Return a recipe as it was before its method was corrected; the recipe itself if there was nothing to correct."""
    changes = {
        path: value
        for path, value in CORRECTED.get(recipe.method["name"], {}).items()
        if path.split(".")[1] in _mapping(recipe.as_dict()[path.split(".")[0]])
    }
    return recipe.updated(changes) if changes else recipe


def modernize(given: Mapping[str, Any], *, corrected: bool = False) -> dict[str, Any]:
    """Return a recipe, perhaps a partial one, in today's layout; one of today's layout as it is.

    Args:
        given: The recipe.
        corrected: Whether settings that have been corrected since have their new values (:data:`CORRECTED`); by
            default a recipe of the old layout is what it was.
    """
    result = dict(given)
    section = given.get("method")
    name = section.get("name") if isinstance(section, Mapping) else None
    if isinstance(section, Mapping) and name is None:
        name = "grace"
    if isinstance(section, Mapping) and isinstance(name, str):
        moved = {path: value for key, value in section.items() for path, value in modern_paths(name, key, value)}
        result["method"] = {}
        for path, value in moved.items():
            part, key = path.split(".")
            result[part] = {**_mapping(result.get(part)), key: value}
        if not corrected and any(not path.startswith("method.") for path in moved):
            for path, value in CORRECTED.get(name, {}).items():
                part, key = path.split(".")
                result[part] = {key: value, **_mapping(result.get(part))}
    if STEPS.keys() & result.keys():
        steps = result.get("postprocess")
        for old in [key for key in STEPS if key in result]:
            steps = with_step(steps, old, result.pop(old))
        result["postprocess"] = steps
    return result


def _mapping(section: Any) -> Mapping[str, Any]:
    """Return a section as a mapping: a name alone is short for one."""
    return section if isinstance(section, Mapping) else {} if section is None else {"name": section}


def modern_paths(method: str, key: str, value: Any) -> list[tuple[str, Any]]:
    """Return where an option of an old method is now: paths and values."""
    if method not in OLD:
        return [(f"method.{key}", value)]
    for kind, part in zip(("encoder", "augmentation"), OLD[method], strict=True):
        if part is None:
            continue
        if key == kind and part.named_by:
            option = "name" if part.named_by == "encoder" else part.named_by
            renamed = _GRAPH_ENCODERS.get(value, value) if part is _GIN else value
            return [(f"{kind}.{option}", renamed)]
        if key in part.options:
            if method == "vgae" and isinstance(value, int):
                value = 2 * value  # means and deviations side by side
            paths = [(f"{kind}.{key}", value)]
            return [*paths, ("method.latent", value)] if (method, key) == ("lp-info", "hidden") else paths
    return [(f"method.{key}", value)]


def with_step(steps: Any, old: str, value: Any) -> list[Any]:
    """Return steps of postprocessing with that of an old key set to a value, or left out at zero."""
    name, option = STEPS[old]
    listed = list(steps) if isinstance(steps, list | tuple) else [] if steps is None else [steps]
    kept = [(step, _mapping(step).get("name")) for step in listed if _mapping(step).get("name") != name]
    if value == 0:
        return [step for step, _ in kept]
    order = [step for step, _ in STEPS.values()]
    after = order[order.index(name) + 1 :]
    place = next((i for i, (_, found) in enumerate(kept) if found in after), len(kept))
    result = [step for step, _ in kept]
    return [*result[:place], {"name": name, option: value}, *result[place:]]


def flatten(recipe: Mapping[str, Any]) -> dict[str, Any]:
    """Return a complete recipe, or a part of one, in the old layout; what that cannot say stays in its section."""
    if not {"encoder", "augmentation", "postprocess"} & recipe.keys():
        return dict(recipe)
    flat = {key: value for key, value in recipe.items() if key not in ("encoder", "augmentation", "postprocess")}
    if "spectral" in flat:
        flat["spectral"] = _only(flat["spectral"])
    method = dict(recipe.get("method") or {})
    parts = OLD.get(method.get("name", ""), (None, None))
    for kind, old in zip(("encoder", "augmentation"), parts, strict=True):
        section = _only(recipe.get(kind))
        if section is None:
            continue
        options, rest = _taken_apart(section, old)
        if method.get("name") == "vgae" and "hidden" in options:
            options["hidden"] = options["hidden"] // 2
        method |= options
        if rest:
            flat[kind] = rest
    if method.get("name") == "lp-info" and method.get("latent") == method.get("hidden"):
        method.pop("latent", None)
    if "method" in recipe:
        new = NEW_OPTIONS.get(method.get("name", ""), {})
        flat["method"] = {key: value for key, value in method.items() if value != new.get(key, _MISSING)}
    steps = recipe.get("postprocess") or []
    old_keys = {name: (key, option) for key, (name, option) in STEPS.items()}
    names = [step["name"] for step in steps]
    if [name for name, _ in STEPS.values() if name in names] == names:
        return {**flat, **{old_keys[step["name"]][0]: step[old_keys[step["name"]][1]] for step in steps}}
    return {**flat, "postprocess": list(steps)}


def _only(section: Any) -> Any:
    """Return the one part of a list of one, which is the same as that part itself."""
    return section[0] if isinstance(section, list) and len(section) == 1 else section


def _taken_apart(section: Any, old: OldPart | None) -> tuple[dict[str, Any], Any]:
    """Return the options of a part that were the method's, and what cannot be said so."""
    if not isinstance(section, Mapping) or old is None:
        return {}, section
    name, options = section["name"], {key: value for key, value in section.items() if key != "name"}
    if old.named_by == "encoder":
        names = {new: before for before, new in _GRAPH_ENCODERS.items()} if old is _GIN else {}
        if not options.keys() <= set(old.options):
            return {}, section
        return {"encoder": names.get(name, name), **options}, None
    if name != old.name:
        return {}, section
    known = {key: options.pop(key) for key in old.options if key in options}
    if old.named_by and old.named_by in options:
        known["augmentation"] = options.pop(old.named_by)
    rest = {key: value for key, value in options.items() if value != old.fixed.get(key, _MISSING)}
    return known, rest or None
