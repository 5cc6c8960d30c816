"""The page: data, style and script put into one HTML text that needs nothing else."""

from __future__ import annotations

import html
import json
import math
import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from string import Template
from typing import Any

SCRIPTS = (
    "dom.js",
    "numbers.js",
    "arrays.js",
    "ticks.js",
    "shared_state.js",
    "theme.js",
    "palette.js",
    "tooltip.js",
    "line_plot.js",
    "copy_button.js",
    "scores.js",
    "split_dots.js",
    "summary.js",
    "curves.js",
    "spectrum.js",
    "point_index.js",
    "map_view.js",
    "map_colours.js",
    "map_canvas.js",
    "map_input.js",
    "map.js",
    "confusion.js",
    "table.js",
    "comparison.js",
    "recipe.js",
    "main.js",
)
"""Parts of the script in the order in which they are joined; the last one starts the rest."""


def render_page(data: Mapping[str, Any]) -> str:
    """One HTML text, with everything in it, that shows what :func:`sfa.report.collect.report_data` found.

    It is ASCII throughout, so that no encoding can spoil it, and a browser is told to load nothing from elsewhere.
    """
    return Template(_part("template.html")).substitute(
        title=_as_html(str(data["title"])),
        style=_style(),
        script=_script(),
        data=as_json(data),
    )


def as_json(data: Any) -> str:
    """JSON that can stand inside a ``script`` element: nothing in it opens or ends one, or a comment.

    What is not finite becomes ``null``: JSON has no word for it.
    """
    text = json.dumps(_finite(data), allow_nan=False, separators=(",", ":"))
    for sign in "<>&":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {key: _finite(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(part) for part in value]
    return value


def _as_html(text: str) -> str:
    """Also of a name that is no valid Unicode, as a path on disk can be."""
    return html.escape(text).encode("ascii", "xmlcharrefreplace").decode("ascii")


@cache
def _script() -> str:
    text = "\n".join(_part(name) for name in SCRIPTS)
    return re.sub(r"[^\x00-\x7f]", lambda sign: f"\\u{{{ord(sign[0]):x}}}", f'"use strict";\n(() => {{\n{text}\n}})();')


@cache
def _style() -> str:
    return re.sub(r"[^\x00-\x7f]", lambda sign: f"\\{ord(sign[0]):06x}", _part("style.css"))


def _part(name: str) -> str:
    return (files("sfa.report") / "page" / name).read_text(encoding="utf-8")
