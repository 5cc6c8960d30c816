"""A table as LaTeX, in the manner of booktabs."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pandas as pd

from sfa.paper.tables.model import Table
from sfa.paper.tables.text import CellText, one_line, split_subscripts, text_of, with_code

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
    """Return a ``table`` environment; comments above it name the packages, comments in it the commands."""
    return "\n".join(_lines(table)) + "\n"


def _lines(table: Table) -> Iterator[str]:
    text = text_of(table, commands_below=False)
    yield from (f"% {package}" for package in PACKAGES)
    yield from (r"\begin{table}", r"\centering", rf"\caption{{{_prose(table.caption)}}}")
    yield rf"\label{{tab:sfa-{table.number}}}"
    yield r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%"
    before = (("\\midrule\n" * row.rule_above) + r"\rowcolor{cyan!10} " * row.highlighted for row in table.rows)
    frame = pd.DataFrame(
        [
            [start + _named(label), *map(_cell, cells)]
            for start, label, cells in zip(before, text.labels, text.cells, strict=True)
        ],
        columns=range(1 + len(table.columns)),
    )
    heads = [_named(one_line(head)) for head in (table.row_header, *table.columns)]
    styler = frame.style.hide(axis="index").format_index(heads.__getitem__, axis="columns")
    yield styler.to_latex(hrules=True, column_format="l" * len(heads)).rstrip() + "}"
    yield from (r"\par\smallskip", r"\begin{minipage}{\linewidth}\footnotesize")
    marks = (rf"\textsuperscript{{{mark}}} {_prose(meaning)}" for mark, meaning in text.marks.items())
    yield "\\\\\n".join((*map(_prose, text.legend), *marks, *map(_prose, table.notes)))
    yield from (r"\end{minipage}", r"\end{table}")
    yield from (f"% {command}" for command in ("Not measured yet:", *text.commands) if text.commands)
    yield from (f"% Made by {one_line(command)}" for command in (table.command,) if command)


def _escaped(text: str) -> str:
    """Return a text that LaTeX prints as it is."""
    return "".join(_CHARACTERS.get(character, character) for character in text)


def _cell(cell: CellText) -> str:
    """Return its lines over one another, the paper's in grey."""
    published = _marked(cell.published, cell.best, cell.published_marks)
    grey = rf"\textcolor{{gray}}{{{published}}}" if published else ""
    measured = _marked(cell.measured, cell.leading, cell.measured_marks)
    difference = re.sub(r"-(?=\d)", r"$-$", _escaped(cell.difference))
    lines = [line for line in (grey, measured, difference) if line]
    stacked = r" \\ ".join(lines)
    return rf"\begin{{tabular}}[t]{{@{{}}l@{{}}}}{stacked}\end{{tabular}}" if len(lines) > 1 else stacked


def _marked(text: str, bold: bool, marks: tuple[str, ...]) -> str:
    inner = rf"\textbf{{{_escaped(text)}}}" if bold else _escaped(text)
    return inner + (rf"\textsuperscript{{{','.join(marks)}}}" if marks else "")


def _named(text: str) -> str:
    """Return a text with the subscripts of the paper's names."""
    pieces = split_subscripts(text)
    return "".join(_escaped(one) + (rf"\textsubscript{{{_escaped(below)}}}" if below else "") for one, below in pieces)


def _prose(text: str) -> str:
    return with_code(text, _named, lambda code: rf"\texttt{{{_escaped(code)}}}")
