"""LaTeX in pages -> MathML, which browsers draw by themselves: it takes no script, no font and no network."""

from __future__ import annotations

import html
import re

from latex2mathml.converter import convert

MARKED = re.compile(r'<(span|div) class="arithmatex">\\([(\[])(.*?)\\[)\]]</\1>', re.DOTALL)
"""A formula as the Markdown extension arithmatex leaves it."""

REPAIRS = {
    **{f">{left}<": f">{sign}<" for left, sign in ((r"\{", "{"), (r"\}", "}"))},  # it leaves these behind \big
    **{f">{bars}<": ">‖<" for bars in (r"\Vert", r"\lVert", r"\rVert", r"\|", "&#x02016;")},
    "<mo>‖</mo>": '<mo stretchy="false" lspace="0.06em" rspace="0.06em">‖</mo>',  # else the left one is the larger
    "<mo>&#x0002F;</mo>": '<mo lspace="0" rspace="0">/</mo>',
    "<mo>&#x022A4;</mo>": '<mi mathvariant="normal">⊤</mi>',
    "<mi>&#x0007E;</mi>": "<mo>∼</mo>",  # signs with the space that is due to them
    "<mi>;</mi>": '<mo separator="true">;</mo>',
}
"""What the converter gets wrong, in this order."""

FUNCTION = re.compile(r"(</m[ns]\w*>|</mi>)?(<mi>(?:cos|exp|log|max|min)</mi>)(<m[ins])?")
"""The name of a function between what has no space of its own."""
THIN = '<mspace width="0.167em"></mspace>'


def draw_formulas(page: str) -> str:
    """HTML with every marked formula as MathML."""
    return MARKED.sub(lambda found: mathml(html.unescape(found[3]), display=found[2] == "["), page)


def mathml(latex: str, *, display: bool) -> str:
    """A formula in a line of text, or on a line of its own; what cannot be converted is an error."""
    latex = " ".join(latex.split())
    if "&" in latex and r"\begin" not in latex:
        latex = rf"\begin{{align*}} {latex} \end{{align*}}"
    converted = convert(latex, display="block" if display else "inline")
    for wrong, right in REPAIRS.items():
        converted = converted.replace(wrong, right)
    converted = FUNCTION.sub(_spaced, converted)
    if "\\" in converted:
        raise ValueError(f"This formula cannot be converted to MathML: {latex}")
    return f'<div class="formula">{converted}</div>' if display else converted


def _spaced(found: re.Match[str]) -> str:
    before, name, after = found.groups()
    return (before + THIN if before else "") + name + (THIN + after if after else "")
