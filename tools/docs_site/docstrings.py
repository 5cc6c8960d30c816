"""Docstrings -> Markdown: roles, links, formulas and examples of reStructuredText as the site's Markdown has them."""

from __future__ import annotations

import re
from typing import Any

import griffe

ROLE = re.compile(r":(attr|class|data|func|meth|mod):`(~?)([^`]+)`")
INLINE_FORMULA = re.compile(r":math:`([^`]+)`")
FORMULA = re.compile(r"^( *)\.\. math::((?: .*)?(?:\n+\1[ \t]+.*)*)", re.MULTILINE)
TWO_ARGUMENTS = re.compile(r"^( +)(\w+), (\w+): ", re.MULTILINE)
HYPERLINK = re.compile(r"`([^`<]+?)\s+<(https?://[^>\s]+)>`__?")
EXAMPLE = re.compile(r"(?:^ *>>> .*\n?(?:^ *(?!>>>)\S.*\n?)*)+", re.MULTILINE)


class Docstrings(griffe.Extension):
    """Rewrites every docstring of the package before it is parsed."""

    def on_object(self, *, obj: griffe.Object, **kwargs: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = markdown(obj.docstring.value, obj)


def markdown(text: str, owner: griffe.Object | None = None) -> str:
    """A docstring of ``owner`` in Markdown; without an owner, names are set as code and link to nothing."""
    text = TWO_ARGUMENTS.sub(r"\1\2: See ``\3``.\n\1\3: ", text)
    text = EXAMPLE.sub(_fenced, text)
    text = FORMULA.sub(_displayed, text)
    text = HYPERLINK.sub(lambda found: f"[{' '.join(found[1].split())}]({found[2]})", text)
    text = INLINE_FORMULA.sub(lambda found: f"${' '.join(found[1].split())}$", text)
    return ROLE.sub(lambda found: _reference(found, owner), text)


def _fenced(found: re.Match[str]) -> str:
    lines = found[0].rstrip("\n").splitlines()
    indent = lines[0][: len(lines[0]) - len(lines[0].lstrip())]
    return "\n".join([f"{indent}```pycon", *lines, f"{indent}```"]) + "\n"


def _displayed(found: re.Match[str]) -> str:
    """A formula between lines of its own; blank lines about it keep Markdown from taking it into a paragraph."""
    indent, body = found[1], " ".join(found[2].split())
    return f"\n{indent}$$\n{indent}{body}\n{indent}$$\n"


def _reference(found: re.Match[str], owner: griffe.Object | None) -> str:
    role, short, name = found.groups()
    shown = name.rsplit(".", 1)[-1] if short else name
    shown = f"{shown}()" if role in ("func", "meth") else shown
    path = None if owner is None else _path(name, owner)
    return f"`{shown}`" if path is None else f'<autoref identifier="{path}" optional>`{shown}`</autoref>'


def _path(name: str, owner: griffe.Object) -> str | None:
    """Where the thing called ``name`` in the docstring of ``owner`` is defined."""
    if name.startswith("sfa."):
        return name
    try:
        return owner.resolve(name)
    except griffe.NameResolutionError:
        return None
