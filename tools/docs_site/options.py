"""The options of a part for people: name, what values it takes, default, meaning."""

from __future__ import annotations

import dataclasses
import inspect
import types
import typing
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import docstrings
import griffe
from annotated_types import Ge, GroupedMetadata, Gt, Le, Lt

from sfa.run.sections import options_of

NUMBERS = {int: "whole number", float: "number"}
WORDS = {Ge: "from {:g} on", Gt: "above {:g}", Le: "at most {:g}", Lt: "below {:g}"}


@dataclass(frozen=True)
class Option:
    """A keyword argument; ``default`` is ``None`` if it must be given, else its Python text."""

    name: str
    values: str
    default: str | None
    meaning: str


def description_and_options(described: Any, kind: str) -> tuple[str, list[Option]]:
    """The docstring of a class or function before its arguments, in Markdown, and the options that recipes set.

    Args:
        described: The class or function.
        kind: Of part (:data:`sfa.registry.HOMES`), which decides what arguments are not for recipes to set.
    """
    meanings: dict[str, str] = {}
    lineage = described.__mro__ if inspect.isclass(described) else [described]
    for ancestor in reversed(lineage):  # what a class says of an argument goes before what it inherits
        meanings |= _read(ancestor)[1]
    options = [
        Option(name, values(hint), _default(default), meanings.get(name, ""))
        for name, (hint, default) in options_of(described, kind).items()
    ]
    return _read(described)[0], options


def _read(described: Any) -> tuple[str, dict[str, str]]:
    """The words of a class's or function's own docstring, and what it says of each argument."""
    text = docstrings.markdown(inspect.cleandoc(vars(described).get("__doc__") or described.__doc__ or ""))
    parsed = griffe.Docstring(text, lineno=1).parse("google", warnings=False)
    words = [part.value for part in parsed if part.kind is griffe.DocstringSectionKind.text]
    listed = (part.value for part in parsed if part.kind is griffe.DocstringSectionKind.parameters)
    return "\n\n".join(words), {item.name: " ".join(item.description.split()) for items in listed for item in items}


def _default(value: Any) -> str | None:
    return None if value is ... else repr(value)


def values(hint: Any) -> str:
    """What an annotation allows, in words."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Annotated:
        return values(arguments[0]) + _bounds(arguments[1:])
    if origin is typing.Literal:
        return ", ".join(f"`{choice}`" for choice in arguments)
    if origin in (typing.Union, types.UnionType):
        return " or ".join(values(argument) for argument in sorted(arguments, key=lambda one: one is not type(None)))
    if origin is tuple and Ellipsis in arguments:
        return f"several, each: {values(arguments[0])}"
    if origin is tuple and len(set(arguments)) == 1:
        return f"{len(arguments)}, each: {values(arguments[0])}"
    if hint is type(None):
        return "none"
    if hint is bool:
        return "`True`, `False`"
    return NUMBERS.get(hint) or str(getattr(hint, "__name__", hint))


def _bounds(bounds: Iterable[Any]) -> str:
    """For instance `` from 0 to 1`` or `` above 0``."""
    single: list[Any] = [one for bound in bounds for one in (bound if isinstance(bound, GroupedMetadata) else [bound])]
    limits = {type(one): dataclasses.astuple(one)[0] for one in single if type(one) in WORDS}
    if set(limits) == {Ge, Le}:
        return f" from {limits[Ge]:,} to {limits[Le]:,}"
    phrases = [WORDS[kind].format(limit) for kind, limit in limits.items()]
    return " " + " and ".join(phrases) if phrases else ""
