"""Tables in the terminal, as Markdown, CSV, LaTeX in the manner of booktabs, and as a self-contained web page."""

import html
import math
import re
from collections.abc import Callable
from typing import Any

import rich.table
from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from sfa.errors import unknown_name
from sfa.paper.tables.model import Cell, CellText, Table, TableText, text_of

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


def _with_bold(cell: CellText, plain: Callable[[str], str], bold: str) -> tuple[str, str]:
    """Format the values of a cell, the best ones also by ``bold``."""
    published, measured = plain(cell.published), plain(cell.measured)
    return bold.format(published) if cell.best else published, bold.format(measured) if cell.leading else measured


def print_table(table: Table, console: Console) -> None:
    """Print heading, table, explanations and commands; commands are not wrapped, so that they can be copied."""
    text = text_of(table)

    def say(line: str, style: str = "") -> None:
        console.print(Text(line, style=style), soft_wrap=False, no_wrap=False, overflow="fold")

    say(text.title, "bold")
    say(table.caption)
    for part in _parts(table, text, console.width):
        console.print(part, soft_wrap=False)
    for note in text.notes:
        say(note)
    if text.commands:
        say("\nNot measured yet; these commands fill it:")
        for command in text.commands:
            console.print(Text(command), soft_wrap=True)


def _parts(table: Table, text: TableText, width: int) -> list[rich.table.Table]:
    """Return tables of equally many columns, as few as have every value in one line, or one for each column."""
    count, label_room = len(table.columns), width // 4
    room = width - label_room - 7  # without the lines and blanks around two columns
    labels, cells = [Text(label) for label in text.labels], [[_term_cell(cell) for cell in row] for row in text.cells]
    label_width = _width(table.row_header, labels, label_room)
    widths = [_width(head, [row[j] for row in cells], room) for j, head in enumerate(table.columns)]
    parts: list[range] = []
    for number in range(1, 1 + count):
        size = math.ceil(count / number)
        parts = [range(j, min(j + size, count)) for j in range(0, count, size)]
        if all(label_width + 4 + sum(widths[j] + 3 for j in part) <= width for part in parts):
            break
    drawn = []
    for part in parts:
        drawn.append(rich.table.Table(rich.table.Column(Text(table.row_header), width=label_width, overflow="fold")))
        for j in part:
            drawn[-1].add_column(Text(table.columns[j]), width=widths[j], overflow="fold")
        for row, label, texts in zip(table.rows, labels, cells, strict=True):
            if row.rule_above:
                drawn[-1].add_section()
            drawn[-1].add_row(label, *texts[part.start : part.stop])
    return drawn


def _width(heading: str, texts: list[Text], room: int) -> int:
    """Return the width of a column whose texts are not wrapped, if there is room; its heading may be."""
    lines = [line for text in texts for line in text.split()]
    return min(max([line.cell_len for line in lines] + [cell_len(word) for word in heading.split()]), room)


def _term_cell(cell: CellText) -> Text:
    """Return the lines of a cell; the paper's value is dim, the best are bold."""
    published = Text(cell.published, "bold dim" if cell.best else "dim")
    lines = published, Text(cell.measured, "bold" if cell.leading else ""), Text(cell.difference)
    return Text("\n").join(line for line in lines if line)


def to_markdown(table: Table) -> str:
    """Return a page for GitHub: heading, caption, table, explanations and commands."""
    import pandas as pd

    text = text_of(table)
    heads = [_md(head) for head in (table.row_header, *table.columns)]
    rows = [
        [_md(label), *("<br>".join(filter(None, (*_with_bold(one, _md, "**{}**"), one.difference))) for one in row)]
        for label, row in zip(text.labels, text.cells, strict=True)
    ]
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

    return _with_code(text, plain, "`{}`".format)


def to_csv(table: Table) -> str:
    """Return a line for each cell, with all digits; ``source`` is ``ledger`` for the user's runs, else ``sfa``."""
    import pandas as pd

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
    published, measured = _with_bold(cell, _tex, r"\textbf{{{}}}")
    published = rf"\textcolor{{gray}}{{{published}}}" if published else ""
    lines = published, measured, re.sub(r"-(?=\d)", r"$-$", _tex(cell.difference))
    return r"\begin{tabular}[t]{@{}l@{}}" + r" \\ ".join(filter(None, lines)) + r"\end{tabular}"


def to_html(table: Table) -> str:
    """Return a page. Every cell opens to its protocol, seeds, budget and the command that fills it."""
    from jinja2 import Environment, PackageLoader
    from markupsafe import Markup, escape

    environment = Environment(loader=PackageLoader("sfa.paper.tables", ""), autoescape=True)
    environment.filters["prose"] = lambda text: Markup(_with_code(text, escape, Markup("<code>{}</code>").format))
    return environment.get_template("page.html").render(table=table, text=text_of(table), details=_details) + "\n"


def _details(cell: Cell) -> dict[str, str]:
    """Return what is known of a cell, by name."""
    measured, known = cell.measured, dict[str, str | None]()
    if measured is not None:
        known |= {"protocol": measured.how, "metric": measured.metric}
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
