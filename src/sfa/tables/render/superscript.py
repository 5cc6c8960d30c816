"""Marks as raised characters, for formats that have no markup for them."""

from __future__ import annotations

_RAISED = str.maketrans("0123456789abcdefghijklmnoprstuvwxyz", "⁰¹²³⁴⁵⁶⁷⁸⁹ᵃᵇᶜᵈᵉᶠᵍʰⁱʲᵏˡᵐⁿᵒᵖʳˢᵗᵘᵛʷˣʸᶻ")


def raised(marks: tuple[str, ...]) -> str:
    """The marks on a value.

    >>> raised(("a", "12"))
    'ᵃ,¹²'
    """
    return ",".join(marks).translate(_RAISED)
