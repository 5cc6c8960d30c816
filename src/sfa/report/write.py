"""A report to a file."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sfa.atomic import ensure_writable, write_text
from sfa.errors import InputError, SfaError
from sfa.report.page import render_page

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
