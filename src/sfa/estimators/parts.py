"""Parts of an embedder as a recipe says them, and those that are objects, which no recipe can hold."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

from sfa.errors import InputError
from sfa.methods import Method
from sfa.registry import name_of
from sfa.spectral import SpectralMap

KINDS = ("encoder", "augmentation", "spectral")
"""Parts of a method that are arguments of an embedder."""


def section_of(kind: str, part: Any) -> tuple[Any, Any]:
    """Return the section of a recipe that stands for a part, and the part if it is an object, else ``None``.

    A name or a mapping is its own section, a class has the name that it is registered by or ``package.module:Class``,
    and an object is ``<Class>``. Of a list, both are lists.

    >>> section_of("spectral", ["noise", 3])
    (['noise', {'name': '<int>'}], [None, 3])
    """
    if isinstance(part, list | tuple):
        pairs = [section_of(kind, one) for one in part]
        objects = [found for _, found in pairs]
        return [section for section, _ in pairs], objects if any(one is not None for one in objects) else None
    if isinstance(part, str | Mapping):
        return part, None
    if inspect.isclass(part) or (inspect.isfunction(part) and kind == "encoder"):
        return name_of(kind, part), None
    return {"name": _word(part)}, part


def sections_of_method(method: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the sections that stand for a method, a class or an object, and the object, which has all its parts."""
    if isinstance(method, str):
        return {"method": method}, {}
    if inspect.isclass(method):
        return {"method": name_of("method", method)}, {}
    if not isinstance(method, Method):
        raise InputError(f"A method is a name, a subclass of sfa.methods.Method or an object of one, not {method!r}.")
    sections: dict[str, Any] = {"method": f"<{name_of('method', type(method))}>"}
    if not method.transductive:
        sections["encoder"] = {"name": _word(getattr(method.encoder, "module", method.encoder))}
    if method.takes_augmentation:
        sections["augmentation"] = {"name": _word(method.augmentation)}
    maps = getattr(method.spectral, "maps", [method.spectral])
    names = [{"name": "none" if type(one) is SpectralMap else _word(one)} for one in maps]
    sections["spectral"] = names if len(names) > 1 else names[0] if names else "none"
    return sections, {"method": method}


def _word(part: Any) -> str:
    return f"<{str(getattr(part, '__name__', type(part).__name__)).strip('<>')}>"
