"""The page: data, style and script put into one HTML text that needs nothing else."""

from __future__ import annotations

import base64
import html
import json
import math
import os
import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from sfa.atomic import ensure_writable, write_text
from sfa.errors import InputError, SfaError

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


SUFFIXES = (".html", ".htm")


class ReportError(SfaError, OSError):
    """A report could not be written, for instance because the disk is full. Nothing is half-written."""


def check_report(path: Path) -> None:
    """Raise unless a report can be written to ``path``."""
    if not path.is_dir() and path.suffix.lower() not in SUFFIXES:
        raise InputError(f"A report is a page, which {path} does not look like: its name must end in .html.")
    ensure_writable(path)


def write_report(path: str | Path, data: Mapping[str, Any]) -> None:
    """Write what :func:`~sfa.report.report_data` found as one page; an existing file is replaced in one step."""
    path = Path(path)
    check_report(path)
    page = render_page(data)
    try:
        write_text(path, page)
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else str(error)
        raise ReportError(f"Cannot write {path}: {reason}.") from error


Dtype = Literal["float32", "int32", "uint8"]


def encode_array(values: ArrayLike, dtype: Dtype) -> dict[str, Any]:
    """Values of any shape as ``{"dtype", "shape", "base64"}``: the bytes in little-endian order, row by row."""
    array = np.ascontiguousarray(values, dtype=np.dtype(dtype).newbyteorder("<"))
    shape = list(np.shape(values))  # contiguous arrays have at least one axis
    return {"dtype": dtype, "shape": shape, "base64": base64.b64encode(array.tobytes()).decode("ascii")}
