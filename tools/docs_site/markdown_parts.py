"""Pieces of Markdown that pages are put together from."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

NO_BREAK = "\N{NO-BREAK SPACE}"


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table in Markdown."""
    return "\n".join(_line(cells) for cells in [heads, ["---"] * len(heads), *rows])


def unbroken(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table whose cells stay on one line each: a page scrolls it where it is too wide."""
    return table(heads, rows).replace(" ", NO_BREAK).replace(f"|{NO_BREAK}", "| ").replace(f"{NO_BREAK}|", " |")


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(" ".join(cell.replace("|", "\\|").split()) for cell in cells) + " |"


def folded(summary: str, body: str) -> str:
    """A block that opens on a click."""
    return f'??? note "{summary}"\n\n' + "\n".join(f"    {line}" if line else "" for line in body.splitlines())


def yaml_value(value: Any) -> str:
    """A value as one writes it after ``--set KEY=``."""
    return value if isinstance(value, str) else json.dumps(value)
