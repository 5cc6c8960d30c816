"""Sections of a recipe: a name and keyword arguments, checked against the signature of what they go to."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Any, get_type_hints

from pydantic import ConfigDict, ValidationError, create_model
from torch import nn

from sfa.augment import Augmentation
from sfa.errors import InputError, unknown_name
from sfa.methods import Method
from sfa.registry import WORDS, is_ready, resolve
from sfa.sampling import Sampler
from sfa.spectral import SpectralMap

Section = dict[str, Any]

GIVEN: dict[str, tuple[str, ...]] = {
    "method": ("encoder", "augmentation", "spectral", "num_nodes", "width"),
    "spectral": (),
    "augmentation": (),
    "postprocess": (),
}
"""Arguments that are not a recipe's to give, by kind; of encoders and samplers the first one, the size or the data."""


def options_of(target: Any, kind: str) -> dict[str, tuple[Any, Any]]:
    """Return the keyword arguments of a class or function as ``{name: (type, default)}``.

    Where a constructor hands ``**options`` on, those of the class that it is derived from are among them.
    """
    found: dict[str, tuple[Any, Any]] = {}
    if is_ready(target, kind):
        return found
    for function in _constructors(target):
        parameters = list(inspect.signature(function).parameters.values())
        if inspect.isclass(target):
            parameters = parameters[1:]
        given = GIVEN.get(kind, tuple(one.name for one in parameters[:1]))
        try:
            hints = get_type_hints(function, include_extras=True)
        except Exception:  # of a class of someone else's, whose annotations need not be types
            hints = {}
        for one in parameters:
            if one.kind in (one.POSITIONAL_OR_KEYWORD, one.KEYWORD_ONLY) and one.name not in (*given, *found):
                default = ... if one.default is one.empty else one.default
                found[one.name] = (hints.get(one.name, Any), default)
        if not any(one.kind is one.VAR_KEYWORD for one in parameters):
            break
    return found


def takes_anything(target: Any) -> bool:
    """Tell whether a class or function takes keyword arguments that its signature does not name."""
    *_, last = _constructors(target)
    return any(one.kind is one.VAR_KEYWORD for one in inspect.signature(last).parameters.values())


def _constructors(target: Any) -> list[Callable[..., Any]]:
    """Return the function itself, or the constructors of a class and of those that it is derived from."""
    if not inspect.isclass(target):
        return [target]
    found: list[Callable[..., Any]] = []
    for cls in target.__mro__:
        if "__init__" in vars(cls) and cls is not object:
            found.append(vars(cls)["__init__"])
            if not any(one.kind is one.VAR_KEYWORD for one in inspect.signature(found[-1]).parameters.values()):
                break
    return found or [target]


def complete(section: Mapping[str, Any], kind: str, elsewhere: Iterable[str] = ()) -> Section:
    """Check the options of a section against what they go to, and fill its defaults in.

    ``elsewhere`` are keys of other sections, one of which may be meant by a key that this one does not have.
    """
    if is_object(section["name"]):
        if options := ", ".join(key for key in section if key != "name"):
            given = f"The {kind} {section['name']} was given as an object"
            raise InputError(f"{given}, which has its options already: leave out {options}.")
        return dict(section)
    target = resolve(kind, section["name"])
    check_part(target, kind, section["name"])
    model = _model_of(target, kind)
    options = validated(model, {key: value for key, value in section.items() if key != "name"}, kind, elsewhere)
    filled = {key: value for key, value in options.model_dump().items() if key in section or _is_plain(value)}
    return {"name": section["name"], **filled}


def check_part(part: Any, kind: str, name: str) -> None:
    """Raise unless a class or function can be a part of this kind: a recipe must not call anything else."""
    base, words = _BASES.get(kind, (None, ""))
    this = f"The {WORDS.get(kind, kind)} {name} is no"
    if not callable(part):
        raise InputError(f"{this} class and no function, but {part!r}.")
    if inspect.isclass(part):
        if base is not None and not issubclass(part, base):
            raise InputError(f"{this} {words}.")
        if kind == "postprocess" and "__call__" not in dir(part):
            raise InputError(f"{this} class whose objects map (z, data) to z.")
    elif base is not None and kind in ("method", "spectral", "sampler"):
        raise InputError(f"{this} {words}, but a function.")


_BASES: dict[str, tuple[type, str]] = {
    "method": (Method, "subclass of sfa.methods.Method"),
    "encoder": (nn.Module, "subclass of torch.nn.Module"),
    "augmentation": (Augmentation, "subclass of sfa.augment.Augmentation, nor a function"),
    "spectral": (SpectralMap, "subclass of sfa.spectral.SpectralMap"),
    "sampler": (Sampler, "subclass of sfa.sampling.Sampler"),
}
"""What classes of each kind are derived from."""


@lru_cache(maxsize=512)
def _model_of(target: Any, kind: str) -> Any:
    """Return the model that the options of a class or function are checked by; it takes milliseconds to make."""
    config = ConfigDict(extra="forbid", allow_inf_nan=False, arbitrary_types_allowed=True)
    if takes_anything(target):
        config["extra"] = "allow"
    known: Any = options_of(target, kind)
    return create_model(getattr(target, "__name__", kind), __config__=config, **known)


def _is_plain(value: Any) -> bool:
    """Tell whether a default can be written to a recipe; others, of classes of someone else's, are left to them."""
    if isinstance(value, list | tuple):
        return all(map(_is_plain, value))
    if isinstance(value, dict):
        return all(isinstance(key, str) and _is_plain(one) for key, one in value.items())
    return value is None or isinstance(value, bool | int | float | str)


def validated(model: Any, given: Mapping[str, Any], where: str, elsewhere: Iterable[str] = ()) -> Any:
    """Validate values; an unknown key or a wrong value is named in one sentence."""
    try:
        return model.model_validate(dict(given))
    except ValidationError as error:
        first = error.errors()[0]
        *parents, key = (str(part) for part in first["loc"])
        path = ".".join((*parents, key))
        if first["type"] == "extra_forbidden" and not model.model_fields and not elsewhere:
            why = f"this {where} takes no options; choose another by its name to set some"
            raise InputError(f"Unknown {where} key {path!r}: {why}.") from None
        if first["type"] == "extra_forbidden":
            parent = model if not parents else model.model_fields[parents[0]].annotation
            raise unknown_name(f"{where} key", key, [*parent.model_fields, *elsewhere]) from None
        if first["type"] == "missing":
            raise InputError(f"{where.capitalize()} key {path!r} is missing: it has no default.") from None
        raise InputError(f"{where.capitalize()} key {path!r}: {first['msg']}, not {first['input']!r}.") from None


def named(section: Any, kind: str, default: Mapping[str, Any], empty: str | None = "none") -> Section:
    """Return a section with a name: ``grace`` is short for ``{name: grace}``, and options alone are the default's.

    A section without a name, or with the default's, has the default's options where it does not say others.
    """
    if isinstance(section, Mapping):
        other = section.get("name", default.get("name")) != default.get("name")
        found = dict(section) if other else {**default, **section}
    elif section is None and empty is not None:
        found = {"name": empty}
    else:
        found = {"name": section}
        if section == default.get("name"):
            found = dict(default)
    if not isinstance(found.get("name"), str):
        raise InputError(f"Recipe key {kind!r} is a name or a mapping with a name, not {section!r}.")
    return found


def is_object(name: Any) -> bool:
    """Tell whether a part was given as an object, ``<GAT>``, and not by a name that can be resolved."""
    return isinstance(name, str) and name.startswith("<") and name.endswith(">")


def names_of(section: Any) -> str:
    """Return the name of a section, or those of several: ``noise + sfa``."""
    if isinstance(section, list | tuple):
        return " + ".join(one["name"] for one in section) or "none"
    return "none" if section is None else str(section["name"])
