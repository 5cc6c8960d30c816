"""Prose in which commands and names stand between backticks."""

from __future__ import annotations

import re
from collections.abc import Callable


def with_code(text: str, plain: Callable[[str], str], code: Callable[[str], str]) -> str:
    """The text, each piece of it written in its way.

    >>> with_code("by `sfa table 1`.", str.upper, lambda name: f"<{name}>")
    'BY <sfa table 1>.'
    """
    pieces = re.split("`([^`]+)`", text)
    return "".join(code(piece) if place % 2 else plain(piece) for place, piece in enumerate(pieces))
