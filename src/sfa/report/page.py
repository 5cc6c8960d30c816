"""Put data, style and script into one HTML page that needs nothing else."""

import base64
import html
import json
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
from sfa.errors import InputError, SfaError, translate_os_errors

PARTS = files("sfa.report") / "page"
SCRIPTS = sorted(  # parts of the script; the last one starts the others
    (part.name for part in PARTS.iterdir() if part.name.endswith(".js")), key=lambda n: (n == "main.js", n)
)


class ReportError(SfaError, OSError):
    """A report could not be written, for instance because the disk is full. Nothing is half-written."""


def render_page(data: Mapping[str, Any]) -> str:
    """Return one HTML text with everything in it that shows the data of :func:`sfa.report.report_data`.

    It is ASCII throughout, so that no encoding can spoil it, and the browser is told to load nothing from elsewhere.
    """
    # A title may have a path in it that is no valid Unicode.
    title = html.escape(str(data["title"])).encode("ascii", "xmlcharrefreplace").decode("ascii")
    style, script = _style_and_script()
    template = Template((PARTS / "template.html").read_text("utf-8"))
    return template.substitute(title=title, style=style, script=script, data=as_json(data))


@cache
def _style_and_script() -> tuple[str, str]:
    style = (PARTS / "style.css").read_text("utf-8")
    text = "\n".join((PARTS / name).read_text("utf-8") for name in SCRIPTS)
    script = f'"use strict";\n(() => {{\n{text}\n}})();'
    not_ascii = re.compile(r"[^\x00-\x7f]")
    return (
        not_ascii.sub(lambda sign: f"\\{ord(sign[0]):06x}", style),
        not_ascii.sub(lambda sign: f"\\u{{{ord(sign[0]):x}}}", script),
    )


def as_json(data: Any) -> str:
    """Return JSON that can stand inside a ``script`` element; numbers that are not finite become ``null``."""
    text = json.dumps(finite(data), allow_nan=False, separators=(",", ":"))
    return re.sub("[<>&]", lambda sign: f"\\u{ord(sign[0]):04x}", text)


def finite(data: Any) -> Any:
    """Return plain values with ``None`` for numbers that are not finite, which JSON does not have."""
    return json.loads(json.dumps(data), parse_constant=lambda _: None)


def encode_array(values: ArrayLike, dtype: Literal["float32", "int32", "uint8"]) -> dict[str, Any]:
    """Return values of any shape as ``{"dtype", "shape", "base64"}``: bytes in little-endian order, row by row."""
    array = np.ascontiguousarray(values, dtype=np.dtype(dtype).newbyteorder("<"))
    shape = list(np.shape(values))  # contiguous arrays have at least one axis
    return {"dtype": dtype, "shape": shape, "base64": base64.b64encode(array.tobytes()).decode("ascii")}


def check_report(path: Path) -> None:
    """Raise unless a report can be written to ``path``."""
    if not path.is_dir() and path.suffix.lower() not in (".html", ".htm"):
        raise InputError(f"A report is a page, which {path} does not look like: its name must end in .html.")
    ensure_writable(path)


def write_report(path: str | Path, data: Mapping[str, Any]) -> None:
    """Write the data of :func:`~sfa.report.report_data` as one page; an existing file is replaced in one step."""
    path = Path(path)
    check_report(path)
    page = render_page(data)
    with translate_os_errors(f"Cannot write {path}", ReportError):
        write_text(path, page)
