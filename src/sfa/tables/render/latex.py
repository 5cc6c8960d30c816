"""A table as LaTeX, in the manner of booktabs."""

from __future__ import annotations

import re
from collections.abc import Iterator

from sfa.tables.model import Row, Table
from sfa.tables.render.inline_code import with_code
from sfa.tables.render.parts import Shown, one_line, parts_of
from sfa.tables.render.subscript import split_subscripts

PACKAGES = (
    r"\usepackage[T1]{fontenc}",
    r"\usepackage{textcomp, amsmath, amssymb, booktabs, graphicx}",
    r"\usepackage[table]{xcolor}",
)
"""What the preamble of the document needs."""

_ASCII = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}"}
_ASCII |= {">": r"\textgreater{}", "|": r"\textbar{}", '"': r"\textquotedbl{}", "`": r"\textasciigrave{}"}
_ASCII |= {character: rf"\{character}" for character in "&%$#_{}"}
_ASCII |= {character: f"{{{character}}}" for character in "[*"}  # which a line break would take for its own
_SIGNS = {"±": r"\pm", "×": r"\times", "·": r"\cdot", "✓": r"\checkmark", "−": "-", "≤": r"\le", "≥": r"\ge"}
_SIGNS |= {"κ": r"\kappa", "ε": r"\varepsilon", "τ": r"\tau", "σ": r"\sigma", "λ": r"\lambda", "Δ": r"\Delta"}
_SIGNS |= {"η": r"\eta", "β": r"\beta", "γ": r"\gamma", "φ": r"\phi", "∈": r"\in", "→": r"\to", "ᵀ": r"{}^{\top}"}
_SIGNS |= {raised: f"{{}}^{{{digit}}}" for raised, digit in zip("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789", strict=True)}
_CHARACTERS = _ASCII | {sign: rf"\ensuremath{{{command}}}" for sign, command in _SIGNS.items()}
_CHARACTERS |= {"–": "--", "—": "---", "…": r"\dots{}", "†": r"\textdagger{}", "’": "'", "\u00a0": "~"}


def to_latex(table: Table) -> str:
    """A ``table`` environment; comments above it name the packages, comments in it the commands."""
    return "\n".join(_lines(table)) + "\n"


def escaped(text: str) -> str:
    """Text that LaTeX prints as it is."""
    return _kept(one_line(text))


def _kept(text: str) -> str:
    return "".join(_CHARACTERS.get(character, character) for character in text)


def _lines(table: Table) -> Iterator[str]:
    parts = parts_of(table, commands_below=False)
    yield from (f"% {package}" for package in PACKAGES)
    yield from (r"\begin{table}", r"\centering", rf"\caption{{{_prose(table.caption)}}}")
    yield rf"\label{{tab:sfa-{table.number}}}"
    yield r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%"
    yield rf"\begin{{tabular}}{{l{'l' * len(table.columns)}}}"
    yield r"\toprule"
    yield _line([_named(table.row_header), *map(_named, table.columns)])
    yield r"\midrule"
    for row, label, cells in zip(table.rows, parts.labels, parts.cells, strict=True):
        yield from _row(row, label, cells)
    yield from (r"\bottomrule", r"\end{tabular}}", r"\par\smallskip", r"\begin{minipage}{\linewidth}\footnotesize")
    marks = (rf"\textsuperscript{{{mark}}} {_prose(text)}" for mark, text in parts.marks.items())
    yield "\\\\\n".join((*map(_prose, parts.legend), *marks, *map(_prose, table.notes)))
    yield from (r"\end{minipage}", r"\end{table}")
    yield from (f"% {one_line(command)}" for command in ("Not measured yet:", *parts.commands) if parts.commands)
    yield from (f"% Made by {one_line(command)}" for command in (table.command,) if command)


def _row(row: Row, label: str, cells: tuple[Shown, ...]) -> Iterator[str]:
    if row.rule_above:
        yield r"\midrule"
    shade = r"\rowcolor{cyan!10} " if row.highlighted else ""
    yield shade + _line([_named(label), *map(_cell, cells)])


def _line(cells: list[str]) -> str:
    return " & ".join(cells) + r" \\"


def _cell(shown: Shown) -> str:
    """Its lines over one another, the paper's in grey."""
    published = _marked(shown.published, shown.best, shown.published_marks)
    grey = rf"\textcolor{{gray}}{{{published}}}" if published else ""
    measured = _marked(shown.measured, shown.leading, shown.measured_marks)
    difference = re.sub(r"-(?=\d)", r"$-$", escaped(shown.difference))
    lines = [line for line in (grey, measured, difference) if line]
    stacked = r" \\ ".join(lines)
    return rf"\begin{{tabular}}[t]{{@{{}}l@{{}}}}{stacked}\end{{tabular}}" if len(lines) > 1 else stacked


def _marked(text: str, bold: bool, marks: tuple[str, ...]) -> str:
    inner = rf"\textbf{{{escaped(text)}}}" if bold else escaped(text)
    return inner + (rf"\textsuperscript{{{','.join(marks)}}}" if marks else "")


def _named(text: str) -> str:
    """Escaped, with the subscripts of the paper's names."""
    return _subscripted(one_line(text))


def _subscripted(text: str) -> str:
    pieces = split_subscripts(text)
    return "".join(_kept(piece) + (rf"\textsubscript{{{_kept(below)}}}" if below else "") for piece, below in pieces)


def _prose(text: str) -> str:
    return with_code(one_line(text), _subscripted, lambda code: rf"\texttt{{{escaped(code)}}}")
