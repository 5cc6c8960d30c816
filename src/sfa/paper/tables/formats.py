"""Tables as Markdown, CSV, LaTeX in the manner of booktabs, and as a self-contained web page."""

import html
import re
from collections.abc import Callable
from typing import Any

import pandas as pd
from jinja2 import Environment, PackageLoader
from markupsafe import Markup, escape

from sfa.errors import unknown_name
from sfa.paper.tables.model import Cell, Table
from sfa.paper.tables.text import CellText, measured_how, text_of

CSV_COLUMNS = "table row column published measured_mean measured_std seeds splits protocol metric budget difference low"
CSV_COLUMNS += " high source command note best measured_text difference_from missing failure"
PACKAGES = r"[T1]{fontenc}", r"{textcomp, amsmath, amssymb, booktabs, graphicx}", r"[table]{xcolor}"  # of the LaTeX
_SIGNS = "± pm × times · cdot ✓ checkmark ≤ le ≥ ge κ kappa ε varepsilon τ tau σ sigma λ lambda Δ Delta η eta β beta"
_SIGNS += " γ gamma φ phi ∈ in → to"
_LATEX = {sign: rf"\ensuremath{{\{name}}}" for sign, name in zip(*[iter(_SIGNS.split())] * 2, strict=True)}
_LATEX |= {sign: rf"\textsuperscript{{{plain}}}" for sign, plain in zip("⁻⁰¹²³⁴⁵⁶⁷⁸⁹ᵀ", "-0123456789T", strict=True)}
_LATEX |= {sign: rf"\{sign}" for sign in "&%$#_{}"} | {sign: f"{{{sign}}}" for sign in "[*"}  # \\[ and \\* are commands
_LATEX |= {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}"}
_LATEX |= {">": r"\textgreater{}", "|": r"\textbar{}", '"': r"\textquotedbl{}", "–": "--", "—": "---", "−": "$-$"}
_LATEX |= {"…": r"\dots{}", "†": r"\textdagger{}", "’": "'", "\u00a0": "~"}


def _with_code(text: str, plain: Callable[[str], str], code: Callable[[str], str]) -> str:
    """Format prose by one function, and what stands between backticks in it by another."""
    pieces = re.split("`([^`]+)`", text)
    return "".join(code(piece) if place % 2 else plain(piece) for place, piece in enumerate(pieces))


def to_markdown(table: Table) -> str:
    """Return a page for GitHub: heading, caption, table, explanations and commands."""
    text = text_of(table)
    rows = [[label, *map(_md_cell, row)] for label, row in zip(map(_md, text.labels), text.cells, strict=True)]
    heads = [_md(head) for head in (table.row_header, *table.columns)]
    grid = pd.DataFrame(rows, columns=range(len(heads))).to_markdown(
        index=False, headers=heads, tablefmt="github", disable_numparse=True
    )
    blocks = [f"# {_md(text.title)}", _md(table.caption), grid, "\n".join(f"- {_md(note)}" for note in text.notes)]
    if text.commands:
        blocks += ["Not measured yet; these commands fill it:", "\n".join(("```sh", *text.commands, "```"))]
    if table.command:
        blocks += ["Made by:", f"```sh\n{table.command}\n```"]
    return "\n\n".join(blocks) + "\n"


def _md(text: str) -> str:
    def plain(piece: str) -> str:
        return re.sub(r"([\\*_{}\[\]#|])", r"\\\1", html.escape(piece, quote=False)).replace("~", "&#126;")

    return _with_code(text, plain, lambda code: f"`{code}`")


def _md_cell(cell: CellText) -> str:
    published, measured = (
        f"**{_md(text)}**" if bold and text else _md(text)
        for text, bold in ((cell.published, cell.best), (cell.measured, cell.leading))
    )
    return "<br>".join(filter(None, (published, measured, cell.difference)))


def to_csv(table: Table) -> str:
    """Return a line for each cell, with all digits; ``source`` is ``ledger`` for the user's runs, else ``sfa``."""
    lines: list[dict[str, Any]] = []
    for row in table.rows:
        for column, cell in zip(table.columns, row.cells, strict=True):
            line = {**vars(cell), "table": table.number, "row": row.label, "column": column}
            line["best"] = "yes" if cell.best else ""
            if (measured := cell.measured) is not None:
                line |= {f"measured_{name}": getattr(measured, name) for name in ("mean", "std", "text")}
                line |= vars(measured) | {"seeds": " ".join(map(str, measured.seeds))}
                line |= {"source": "ledger" if measured.mine else "sfa"}
                line |= dict(zip(("difference", "low", "high"), measured.difference or (None,), strict=False))
            lines.append(line)
    return str(pd.DataFrame(lines, columns=CSV_COLUMNS.split(), dtype=object).to_csv(index=False))


def to_latex(table: Table) -> str:
    """Return a ``table`` environment; comments above it name the packages, comments below it the commands."""
    text = text_of(table)
    lines = [" & ".join(map(_tex, (table.row_header, *table.columns))) + r" \\", r"\midrule"]
    for row, label, cells in zip(table.rows, text.labels, text.cells, strict=True):
        lines += [r"\midrule"] if row.rule_above else []
        lines.append(r"\rowcolor{cyan!10} " * row.highlighted + " & ".join((_tex(label), *map(_tex_cell, cells))))
        lines[-1] += r" \\"
    lines = [
        *(rf"% \usepackage{package}" for package in PACKAGES),
        r"\begin{table}",
        r"\centering",
        rf"\caption{{{_tex(table.caption)}}}",
        rf"\label{{tab:sfa-{table.number}}}",
        r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%",
        rf"\begin{{tabular}}{{{'l' * (1 + len(table.columns))}}}",
        r"\toprule",
        *lines,
        r"\bottomrule",
        r"\end{tabular}}",
        r"\par\smallskip",
        r"\begin{minipage}{\linewidth}\footnotesize",
        "\\\\\n".join(map(_tex, text.notes)),
        r"\end{minipage}",
        r"\end{table}",
        *(f"% {command}" for command in ("Not measured yet:", *text.commands) if text.commands),
        *([f"% Made by {table.command}"] if table.command else []),
    ]
    return "\n".join(lines) + "\n"


def _tex(text: str) -> str:
    plain = str.maketrans(_LATEX)
    return _with_code(text, lambda one: one.translate(plain), lambda code: rf"\texttt{{{code.translate(plain)}}}")


def _tex_cell(cell: CellText) -> str:
    """Return the lines of a cell over one another, the paper's in grey."""
    published, measured = (
        rf"\textbf{{{_tex(text)}}}" if bold else _tex(text)
        for text, bold in ((cell.published, cell.best), (cell.measured, cell.leading))
    )
    difference = re.sub(r"-(?=\d)", r"$-$", _tex(cell.difference))
    lines = rf"\textcolor{{gray}}{{{published}}}" if published else "", measured, difference
    return r"\begin{tabular}[t]{@{}l@{}}" + r" \\ ".join(filter(None, lines)) + r"\end{tabular}"


def to_html(table: Table) -> str:
    """Return a page. Every cell opens to its protocol, seeds, budget and the command that fills it."""
    environment = Environment(loader=PackageLoader("sfa.paper.tables", ""), autoescape=True)
    code = Markup("<code>{}</code>")
    environment.filters["prose"] = lambda text: Markup(_with_code(text, escape, code.format))
    return environment.get_template("page.html").render(table=table, text=text_of(table), details=_details) + "\n"


def _details(cell: Cell) -> dict[str, str]:
    """Return what is known of a cell, by name."""
    measured, known = cell.measured, dict[str, str | None]()
    if measured is not None:
        known |= {"protocol": measured_how(measured), "metric": measured.metric}
        known |= {"budget": measured.budget or "as the recipe has it"}
        known |= {"source": "your ledger" if measured.mine else "shipped with sfa"}
        known |= {"difference from": measured.difference_from if measured.difference else None}
    known |= {"failed": cell.failure, "cannot be measured": cell.missing, "note": cell.note, "command": cell.command}
    return {name: text for name, text in known.items() if text}


FORMATS = {"md": to_markdown, "csv": to_csv, "latex": to_latex, "html": to_html}


def render(table: Table, format: str) -> str:
    """Return the table as text in one of :data:`FORMATS`, ending in a line break."""
    if format not in FORMATS:
        raise unknown_name("format", format, FORMATS)
    return FORMATS[format](table)
