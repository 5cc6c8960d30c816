"""Check the sections of a recipe, a name and keyword arguments each, against the signatures of their parts."""

import inspect
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Any, get_type_hints

from pydantic import BaseModel, ConfigDict, ValidationError, create_model
from torch import nn

from sfa.augment import Augmentation
from sfa.errors import InputError, quoted, unknown_name
from sfa.methods import Method
from sfa.registry import WORDS, is_ready, resolve
from sfa.sampling import Sampler
from sfa.spectral import SpectralMap

GIVEN: dict[str, tuple[str, ...]] = {
    "method": ("encoder", "augmentation", "spectral", "num_nodes", "in_features", "width"),
    **dict.fromkeys(("spectral", "augmentation", "postprocess"), ()),
}
"""Arguments that a recipe does not set, by kind; of encoders and samplers it is the first one, the size or the data."""

BASES: dict[str, tuple[Any, str]] = {  # the base class of the parts of each kind
    "method": (Method, "subclass of sfa.methods.Method"),
    "encoder": (nn.Module, "subclass of torch.nn.Module"),
    "augmentation": (Augmentation, "subclass of sfa.augment.Augmentation, nor a function"),
    "spectral": (SpectralMap, "subclass of sfa.spectral.SpectralMap"),
    "postprocess": (Callable, "class whose objects map (z, data) to z"),
    "sampler": (Sampler, "subclass of sfa.sampling.Sampler"),
}


def options_of(target: Any, kind: str) -> dict[str, tuple[Any, Any]]:
    """Return the keyword arguments of a class or function, also inherited ones, as ``{name: (type, default)}``."""
    found: dict[str, tuple[Any, Any]] = {}
    for function, parameters in [] if is_ready(target, kind) else _signatures(target):
        given = GIVEN.get(kind, tuple(one.name for one in parameters[:1]))
        try:
            hints = get_type_hints(function, include_extras=True)
        except Exception:  # the annotations of a user's class need not be types
            hints = {}
        for one in parameters:
            if one.kind in (one.POSITIONAL_OR_KEYWORD, one.KEYWORD_ONLY) and one.name not in (*given, *found):
                found[one.name] = (hints.get(one.name, Any), ... if one.default is one.empty else one.default)
    return found


def takes_anything(target: Any) -> bool:
    """Tell whether a class or function takes keyword arguments that its signature does not name."""
    return any(one.kind is one.VAR_KEYWORD for _, parameters in _signatures(target)[-1:] for one in parameters)


def _signatures(target: Any) -> list[tuple[Callable[..., Any], list[inspect.Parameter]]]:
    """Return a function, or the constructors of a class up to the first without ``**options``, and their parameters."""
    if not inspect.isclass(target):
        return [(target, list(inspect.signature(target).parameters.values()))]
    found = []
    for init in [vars(cls)["__init__"] for cls in target.__mro__[:-1] if "__init__" in vars(cls)]:
        _, *parameters = inspect.signature(init).parameters.values()
        found.append((init, parameters))
        if not any(one.kind is one.VAR_KEYWORD for one in parameters):
            break
    return found


def complete(section: Any, kind: str, elsewhere: Iterable[str] = ()) -> Any:
    """Check the options of a section, or of several, against the signature of the part, and fill in the defaults."""
    if isinstance(section, list):
        return [complete(one, kind) for one in section]
    name, given = section["name"], {key: value for key, value in section.items() if key != "name"}
    if is_object(name):
        if given:
            this = f"The {kind} {name} was given as an object, which has its options already"
            raise InputError(f"{this}: leave out {', '.join(given)}.")
        return dict(section)
    target = resolve(kind, name)
    check_part(target, kind, name)
    filled = validated(_model_of(target, kind), given, kind, elsewhere).model_dump()
    return {"name": name, **{key: value for key, value in filled.items() if key in given or _is_plain(value)}}


def check_part(part: Any, kind: str, name: str) -> None:
    """Raise unless a class or function can be a part of this kind: a recipe must not call anything else."""
    base, words = BASES[kind]
    this = f"The {WORDS.get(kind, kind)} {name} is no"
    if not callable(part):
        raise InputError(f"{this} class and no function, but {part!r}.")
    fits = issubclass(part, base) if inspect.isclass(part) else kind not in ("method", "spectral", "sampler")
    if not fits:
        raise InputError(f"{this} {words}.")


@lru_cache(maxsize=512)
def _model_of(target: Any, kind: str) -> Any:
    """Return the model that checks the options of a class or function; making one takes milliseconds."""
    extra: Any = "allow" if takes_anything(target) else "forbid"
    config = ConfigDict(extra=extra, allow_inf_nan=False, arbitrary_types_allowed=True)
    known: Any = options_of(target, kind)
    return create_model(getattr(target, "__name__", kind), __config__=config, **known)


def _is_plain(value: Any) -> bool:
    """Tell whether a default can be written to a recipe."""
    if isinstance(value, list | tuple):
        return all(map(_is_plain, value))
    if isinstance(value, dict):
        return all(isinstance(key, str) and _is_plain(one) for key, one in value.items())
    return value is None or isinstance(value, bool | int | float | str)


def validated(model: Any, given: Mapping[str, Any], where: str, elsewhere: Iterable[str] = ()) -> Any:
    """Validate values; the error names an unknown key or a wrong value in one sentence."""
    try:
        found = model.model_validate(dict(given))
        if (path := flag_as_number(given, found)) is not None:
            raise InputError(f"{where.capitalize()} key {path!r}: Input should be a number, not true or false.")
        return found
    except ValidationError as error:
        first = error.errors()[0]
        *parents, key = map(str, first["loc"])
        path, this = ".".join((*parents, key)), f"{where.capitalize()} key"
        if first["type"] == "extra_forbidden":
            known = [*(model.model_fields[parents[0]].annotation if parents else model).model_fields, *elsewhere]
            if known:
                raise unknown_name(f"{where} key", key, known) from None
            raise InputError(f"Unknown {where} key {path!r}: this {where} takes no options; choose another.") from None
        if first["type"] == "missing":
            raise InputError(f"{this} {path!r} is missing: it has no default.") from None
        raise InputError(f"{this} {path!r}: {first['msg']}, not {quoted(first['input'])}.") from None


def flag_as_number(given: Any, found: Any) -> str | None:
    """Return the path of a ``True`` or ``False`` that pydantic has taken for a number, if there is one."""
    if isinstance(given, Mapping):
        values = found if isinstance(found, Mapping) else vars(found) if isinstance(found, BaseModel) else {}
        parts = [(str(key), one, values.get(key)) for key, one in given.items()]
    elif isinstance(given, list | tuple) and isinstance(found, list | tuple):
        parts = [(str(place), *both) for place, both in enumerate(zip(given, found, strict=False))]
    else:
        is_number = isinstance(found, int | float) and not isinstance(found, bool)
        return "" if isinstance(given, bool) and is_number else None
    paths = ((key, flag_as_number(one, other)) for key, one, other in parts)
    return next((f"{key}.{rest}".rstrip(".") for key, rest in paths if rest is not None), None)


def named(section: Any, kind: str, default: Mapping[str, Any], empty: str | None = "none") -> dict[str, Any]:
    """Return a section with a name: ``grace`` is short for ``{name: grace}``, and ``None`` for ``empty``.

    A section without a name, or with the default's, has the default's options where it sets no others.
    """
    found = dict(section) if isinstance(section, Mapping) else {"name": empty if section is None else section}
    if found.setdefault("name", default.get("name")) == default.get("name"):
        found = {**default, **found}
    if not isinstance(found["name"], str):
        raise InputError(f"Recipe key {kind!r} is a name or a mapping with a name, not {quoted(section)}.")
    return found


def is_object(name: Any) -> bool:
    """Tell whether a part was given as an object, ``<GAT>``, and not by a name that can be resolved."""
    return isinstance(name, str) and name.startswith("<") and name.endswith(">")


def names_of(section: Any) -> str:
    """Return the name of a section, or those of several: ``noise + sfa``."""
    return " + ".join(one["name"] for one in as_list(section)) or "none"


def as_list(section: Any) -> list[Any]:
    """Return several sections as they are, one in a list, and an empty list for none."""
    return list(section) if isinstance(section, list | tuple) else [] if section is None else [section]
