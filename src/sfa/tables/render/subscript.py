"""Names of the paper that have a subscript: SFA_InfoNCE, A_F*."""

from __future__ import annotations

import re

_NAME = re.compile(r"\b(SFA|A)_([A-Za-z]+\*?)")


def split_subscripts(text: str) -> list[tuple[str, str]]:
    """Pieces of a text, each with what stands below its end.

    >>> split_subscripts("A_G + A_F*, SFA")
    [('A', 'G'), (' + A', 'F*'), (', SFA', '')]
    """
    pieces, end = [], 0
    for found in _NAME.finditer(text):
        pieces.append((text[end : found.end(1)], found[2]))
        end = found.end()
    return [*pieces, (text[end:], "")] if end < len(text) else pieces
