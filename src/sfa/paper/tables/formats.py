"""Tables as Markdown, CSV, LaTeX in the manner of booktabs, and as a self-contained web page."""

from __future__ import annotations

import html
import math
import re
from collections.abc import Iterator
from functools import cache, partial
from typing import Any

import pandas as pd
from jinja2 import Environment, PackageLoader, Template
from markupsafe import Markup

from sfa.errors import unknown_name
from sfa.paper.tables.model import Cell, Table
from sfa.paper.tables.text import CellText, measured_how, one_line, raised, subscripted, text_of, with_code

CSV_COLUMNS = "table row column published measured_mean measured_std seeds splits protocol metric budget difference low"
CSV_COLUMNS += " high source command note best measured_text difference_from missing failure"
PACKAGES = r"[T1]{fontenc}", r"{textcomp, amsmath, amssymb, booktabs, graphicx}", r"[table]{xcolor}"  # of the LaTeX
_SIGNS = {"±": r"\pm", "×": r"\times", "·": r"\cdot", "✓": r"\checkmark", "−": "-", "≤": r"\le", "≥": r"\ge"}
_SIGNS |= {"κ": r"\kappa", "ε": r"\varepsilon", "τ": r"\tau", "σ": r"\sigma", "λ": r"\lambda", "Δ": r"\Delta"}
_SIGNS |= {"η": r"\eta", "β": r"\beta", "γ": r"\gamma", "φ": r"\phi", "∈": r"\in", "→": r"\to", "ᵀ": r"{}^{\top}"}
_SIGNS |= {raised: f"{{}}^{{{digit}}}" for raised, digit in zip("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789", strict=True)}
_LATEX: dict[str, Any] = {character: rf"\{character}" for character in "&%$#_{}"}
_LATEX |= {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}"}
_LATEX |= {">": r"\textgreater{}", "|": r"\textbar{}", '"': r"\textquotedbl{}", "`": r"\textasciigrave{}"}
_LATEX |= {character: f"{{{character}}}" for character in "[*"}  # which a line break would take for its own
_LATEX |= {sign: rf"\ensuremath{{{command}}}" for sign, command in _SIGNS.items()}
_LATEX |= {"–": "--", "—": "---", "…": r"\dots{}", "†": r"\textdagger{}", "’": "'", "\u00a0": "~"}
_MARKDOWN: dict[str, Any] = {character: f"\\{character}" for character in r"\`*_{}[]#|"}
_MARKDOWN |= {"&": "&amp;", "<": "&lt;", ">": "&gt;", "~": "&#126;"}


def _frame(table: Table, labels: list[str], cells: list[list[str]]) -> pd.DataFrame:
    rows = [[label, *row] for label, row in zip(labels, cells, strict=True)]
    return pd.DataFrame(rows, columns=range(1 + len(table.columns)))


def to_markdown(table: Table) -> str:
    """Return a page for GitHub: heading, caption, table, explanations, notes and commands."""
    text = text_of(table)
    frame = _frame(table, [_md(label) for label in text.labels], [[_md_cell(one) for one in row] for row in text.cells])
    heads = [_md(one_line(head)) for head in (table.row_header, *table.columns)]
    blocks = [f"# Table {table.number}: {_md(one_line(table.title))}", _md_prose(table.caption)]
    blocks.append(str(frame.to_markdown(index=False, headers=heads, tablefmt="github", disable_numparse=True)))
    blocks.append("  \n".join(map(_md_prose, text.legend)))
    if text.marks:
        blocks.append("\n".join(f"- {raised((mark,))} {_md_prose(meaning)}" for mark, meaning in text.marks.items()))
    if table.notes:
        blocks += ["Notes:", "\n".join(f"- {_md_prose(note)}" for note in table.notes)]
    if text.commands:
        blocks += ["Not measured yet; these commands fill it:", "\n".join(("```sh", *text.commands, "```"))]
    if table.command:
        blocks.append(f"Made by {_md_code(table.command)}.")
    return "\n\n".join(blocks) + "\n"


def _md(text: str) -> str:
    return text.translate(str.maketrans(_MARKDOWN))


def _md_cell(cell: CellText) -> str:
    published = _md(cell.published) + raised(cell.published_marks)
    measured = _md(cell.measured) + raised(cell.measured_marks)
    published = f"**{published}**" if cell.best and published else published
    measured = f"**{measured}**" if cell.leading and measured else measured
    return "<br>".join(filter(None, (published, measured, cell.difference)))


def _md_code(text: str) -> str:
    """Quote code by more backticks than it has in a row."""
    ticks = "`" * (1 + max(map(len, re.findall("`+", text)), default=0))
    return f"{ticks}{text}{ticks}" if len(ticks) == 1 else f"{ticks} {text} {ticks}"


_md_prose = partial(with_code, plain=_md, code=_md_code)


def to_csv(table: Table) -> str:
    """Return a line for each cell, with all digits; ``source`` is ``ledger`` for the user's runs, else ``sfa``."""
    frame = pd.DataFrame(list(_csv_rows(table)), columns=CSV_COLUMNS.split(), dtype=object)
    return str(frame.to_csv(index=False))


def _csv_rows(table: Table) -> Iterator[dict[str, Any]]:
    for row in table.rows:
        for column, cell in zip(table.columns, row.cells, strict=True):
            line = {**vars(cell), "table": table.number, "row": row.label, "column": column}
            line["best"] = "yes" if cell.best else ""
            if (measured := cell.measured) is not None:
                line |= vars(measured) | {"difference": None, "source": "ledger" if measured.mine else "sfa"}
                line |= {"measured_mean": measured.mean if math.isfinite(measured.mean) else None}
                line |= {"measured_std": measured.std, "measured_text": measured.text}
                line |= {"seeds": " ".join(map(str, measured.seeds))}
                line |= dict(zip(("difference", "low", "high"), measured.difference or (), strict=False))
            yield line


def to_latex(table: Table) -> str:
    """Return a ``table`` environment; comments above it name the packages, comments below it the commands."""
    text = text_of(table, commands_below=False)
    before = (("\\midrule\n" * row.rule_above) + r"\rowcolor{cyan!10} " * row.highlighted for row in table.rows)
    labels = [start + _tex_named(label) for start, label in zip(before, text.labels, strict=True)]
    heads = [_tex_named(one_line(head)) for head in (table.row_header, *table.columns)]
    frame = _frame(table, labels, [[_tex_cell(one) for one in row] for row in text.cells])
    styler = frame.style.hide(axis="index").format_index(heads.__getitem__, axis="columns")
    marks = (rf"\textsuperscript{{{mark}}} {_tex_prose(meaning)}" for mark, meaning in text.marks.items())
    lines = [
        *(rf"% \usepackage{package}" for package in PACKAGES),
        r"\begin{table}",
        r"\centering",
        rf"\caption{{{_tex_prose(table.caption)}}}",
        rf"\label{{tab:sfa-{table.number}}}",
        r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%",
        styler.to_latex(hrules=True, column_format="l" * len(heads)).rstrip() + "}",
        r"\par\smallskip",
        r"\begin{minipage}{\linewidth}\footnotesize",
        "\\\\\n".join((*map(_tex_prose, text.legend), *marks, *map(_tex_prose, table.notes))),
        r"\end{minipage}",
        r"\end{table}",
        *(f"% {command}" for command in ("Not measured yet:", *text.commands) if text.commands),
        *(f"% Made by {one_line(command)}" for command in (table.command,) if command),
    ]
    return "\n".join(lines) + "\n"


def _tex(text: str) -> str:
    return text.translate(str.maketrans(_LATEX))


def _tex_cell(cell: CellText) -> str:
    """Return the lines of a cell over one another, the paper's in grey."""

    def marked(text: str, bold: bool, marks: tuple[str, ...]) -> str:
        inner = rf"\textbf{{{_tex(text)}}}" if bold else _tex(text)
        return inner + (rf"\textsuperscript{{{','.join(marks)}}}" if marks else "")

    published = marked(cell.published, cell.best, cell.published_marks)
    grey = rf"\textcolor{{gray}}{{{published}}}" if published else ""
    difference = re.sub(r"-(?=\d)", r"$-$", _tex(cell.difference))
    measured = marked(cell.measured, cell.leading, cell.measured_marks)
    lines = [line for line in (grey, measured, difference) if line]
    stacked = r" \\ ".join(lines)
    return rf"\begin{{tabular}}[t]{{@{{}}l@{{}}}}{stacked}\end{{tabular}}" if len(lines) > 1 else stacked


_tex_named = partial(subscripted, plain=_tex, subscript=lambda below: rf"\textsubscript{{{_tex(below)}}}")
_tex_prose = partial(with_code, plain=_tex_named, code=lambda code: rf"\texttt{{{_tex(code)}}}")


def to_html(table: Table) -> str:
    """Return a page. Every cell opens to its protocol, seeds, budget and the command that fills it."""
    title = f"Table {table.number}: {one_line(table.title)}"
    return _template().render(table=table, title=title, text=text_of(table), details=_details) + "\n"


@cache
def _template() -> Template:
    environment = Environment(loader=PackageLoader("sfa.paper.tables", ""), autoescape=True)
    named = partial(subscripted, plain=html.escape, subscript=lambda below: f"<sub>{html.escape(below)}</sub>")
    prose = partial(with_code, plain=named, code=lambda code: f"<code>{html.escape(code)}</code>")
    environment.filters["named"] = lambda text: Markup(named(one_line(text)))
    environment.filters["prose"] = lambda text: Markup(prose(text))
    return environment.get_template("page.html")


def _details(cell: Cell) -> list[tuple[str, str]]:
    """Return what is known of a cell, by name."""
    measured, known = cell.measured, dict[str, str | None]()
    if measured is not None:
        known |= {"protocol": measured_how(measured), "metric": measured.metric}
        known |= {"budget": measured.budget or "as the recipe has it"}
        known |= {"source": "your ledger" if measured.mine else "shipped with sfa"}
        known |= {"difference from": measured.difference_from if measured.difference else None}
    known |= {"failed": cell.failure, "cannot be measured": cell.missing, "note": cell.note, "command": cell.command}
    return [(name, one_line(text)) for name, text in known.items() if text]


FORMATS = {"md": to_markdown, "csv": to_csv, "latex": to_latex, "html": to_html}


def render(table: Table, format: str) -> str:
    """Return the table as text in one of :data:`FORMATS`, ending in a line break."""
    if format not in FORMATS:
        raise unknown_name("format", format, FORMATS)
    return FORMATS[format](table)
