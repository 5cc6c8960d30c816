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

PARTS = files("sfa.report") / "page"
_NAMES = sorted(part.name for part in PARTS.iterdir() if part.name.endswith(".js"))
SCRIPTS = [*(name for name in _NAMES if name != "main.js"), "main.js"]
"""Parts of the script; the last one starts the rest."""


def render_page(data: Mapping[str, Any]) -> str:
    """Return one HTML text, with everything in it, that shows what :func:`sfa.report.collect.report_data` found.

    It is ASCII throughout, so that no encoding can spoil it, and a browser is told to load nothing from elsewhere.
    """
    # A title may have a path in it that is no valid Unicode.
    title = html.escape(str(data["title"])).encode("ascii", "xmlcharrefreplace").decode("ascii")
    template = Template((PARTS / "template.html").read_text("utf-8"))
    return template.substitute(title=title, style=_style(), script=_script(), data=as_json(data))


def as_json(data: Any) -> str:
    """Return JSON that can stand inside a ``script`` element: nothing in it opens or ends one, or a comment.

    What is not finite becomes ``null``: JSON has no word for it.
    """
    text = json.dumps(_finite(data), allow_nan=False, separators=(",", ":"))
    for sign in "<>&":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text


def encode_array(values: ArrayLike, dtype: Literal["float32", "int32", "uint8"]) -> dict[str, Any]:
    """Return values of any shape as ``{"dtype", "shape", "base64"}``: bytes in little-endian order, row by row."""
    array = np.ascontiguousarray(values, dtype=np.dtype(dtype).newbyteorder("<"))
    shape = list(np.shape(values))  # contiguous arrays have at least one axis
    return {"dtype": dtype, "shape": shape, "base64": base64.b64encode(array.tobytes()).decode("ascii")}


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {key: _finite(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(part) for part in value]
    return value


@cache
def _script() -> str:
    text = "\n".join((PARTS / name).read_text("utf-8") for name in SCRIPTS)
    return re.sub(r"[^\x00-\x7f]", lambda sign: f"\\u{{{ord(sign[0]):x}}}", f'"use strict";\n(() => {{\n{text}\n}})();')


@cache
def _style() -> str:
    return re.sub(r"[^\x00-\x7f]", lambda sign: f"\\{ord(sign[0]):06x}", (PARTS / "style.css").read_text("utf-8"))


class ReportError(SfaError, OSError):
    """A report could not be written, for instance because the disk is full. Nothing is half-written."""


def check_report(path: Path) -> None:
    """Raise unless a report can be written to ``path``."""
    if not path.is_dir() and path.suffix.lower() not in (".html", ".htm"):
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
