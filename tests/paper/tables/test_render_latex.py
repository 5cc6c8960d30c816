"""Tables as LaTeX: escapes, environments and columns; what it says is read back by undoing the escapes."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings

from sfa.paper.tables.definition import NUMBERS
from sfa.paper.tables.formats import render
from sfa.paper.tables.model import Cell, Interval, Row, Table
from tests.paper.tables.random_tables import HOSTILE, printed_table, remarks_of, small_table, tables, value, values_of

SIGNS = {"pm": "±", "times": "×", "kappa": "κ", "varepsilon": "ε", "checkmark": "✓", "cdot": "·"}
SYMBOLS = {"textbackslash": "\\", "textasciitilde": "~", "textasciicircum": "^", "textless": "<", "textgreater": ">"}
SYMBOLS |= {"textbar": "|", "textquotedbl": '"', "textasciigrave": "`", "textdagger": "†"}
TOKEN = re.compile(
    r"\\ensuremath\{\\(?P<sign>\w+)\}|\\(?P<symbol>text\w+)\{\}|\\(?P<escaped>[&%$#_{}])|(?P<minus>\$-\$)|(?P<dash>--)"
    r"|(?P<layout>\\(?:textbf|texttt|textsuperscript)\{|\\textcolor\{gray\}\{|[{}])"
)


def spoken(latex: str) -> str:
    """What LaTeX prints of a text, but for the layout."""

    def undone(found: re.Match[str]) -> str:
        if found["sign"]:
            return SIGNS[found["sign"]]
        if found["symbol"]:
            return SYMBOLS[found["symbol"]]
        return found["escaped"] or ("-" if found["minus"] else "–" if found["dash"] else "")

    return TOKEN.sub(undone, latex)


def code_of(latex: str) -> str:
    """Without comments."""
    return "\n".join(line for line in latex.splitlines() if not line.startswith("%"))


def lines_of(latex: str) -> list[str]:
    """Of the table, its heading first."""
    inner = latex.split("\\toprule\n")[1].split("\\bottomrule")[0]
    return [line for line in inner.splitlines() if line != "\\midrule"]


def assert_sound(latex: str, columns: int) -> None:
    """Environments and braces are closed in their order, every line has its columns, every special sign is escaped."""
    code = code_of(latex)
    opened: list[str] = []
    for kind, name in re.findall(r"\\(begin|end)\{(\w+)\}", code):
        if kind == "begin":
            opened.append(name)
        else:
            assert opened.pop() == name
    assert not opened
    depth = 0
    for brace in re.findall(r"(?<!\\)[{}]", code):
        depth += 1 if brace == "{" else -1
        assert depth >= 0
    assert depth == 0
    for line in lines_of(latex):
        assert line.endswith(r" \\")
        assert len(re.findall(r"(?<!\\)&", line)) == columns
    assert not re.search(r"(?<!\\)[#_]", code)
    assert not re.search(r"(?<!\\)%(?!$)", code.replace("{!}{%", "")), "the rest of a line would be a comment"
    assert not re.search(r"\\\\\s*[\[*]", code), "a line break would take it for its own"


@settings(max_examples=40)
@given(tables())
def test_nothing_is_lost(table: Table) -> None:
    latex = render(table, "latex")
    assert_sound(latex, len(table.columns))
    heading, *lines = map(spoken, lines_of(latex))
    assert heading == " & ".join([table.row_header, *table.columns]) + r" \\"
    for row, line in zip(table.rows, lines, strict=True):
        assert row.label in line
        assert all(found in line for cell in row.cells for found in values_of(cell))
    below = spoken(latex.split(r"\begin{minipage}")[1])
    assert all(remark in below for remark in remarks_of(table))
    assert all(f"% {command}\n" in latex for command in table.commands)


@pytest.mark.parametrize("number", NUMBERS)
def test_the_papers_tables_are_plain_characters(number: int) -> None:
    table = printed_table(number)
    latex = render(table, "latex")
    assert_sound(latex, len(table.columns))
    assert latex.isascii()


def test_markup_in_labels_is_text() -> None:
    table = small_table(Row(f"[a] {HOSTILE}", cells=(Cell(HOSTILE),)), columns=(HOSTILE,), row_header=HOSTILE)
    latex = render(table, "latex")
    assert_sound(latex, 1)
    heading, line = map(spoken, lines_of(latex))
    assert heading == rf"{HOSTILE} & {HOSTILE} \\"
    assert line.startswith(f"[a] {HOSTILE} & ")


def test_lines_look_as_in_the_paper() -> None:
    rows = (
        Row("GRACE", cells=(Cell("83.5", measured=value(84.0)),)),
        Row("SFA_InfoNCE", False, True, True, (Cell("85.9", best=True, measured=value(83.0, seeds=(0,))),)),
    )
    latex = render(small_table(*rows), "latex")
    assert r"\textcolor{gray}{\textbf{85.9}} \\ 83.00 \ensuremath{\pm} 0.50\textsuperscript{2}" in latex
    assert r"\textcolor{gray}{83.5} \\ \textbf{84.00 \ensuremath{\pm} 0.50\textsuperscript{1}}" in latex
    assert "\\midrule\n\\rowcolor{cyan!10} SFA\\_InfoNCE &" in latex


def test_a_difference_below_zero_has_a_minus_sign() -> None:
    measured = value(difference=Interval(-0.41, -0.92, 0.1))
    latex = render(small_table(Row("SFA", cells=(Cell("83.5", measured=measured),))), "latex")
    assert "$-$0.41 {[}$-$0.92, +0.10]" in latex


def test_code_in_notes_is_code() -> None:
    latex = render(small_table(Row("GRACE", cells=(Cell("1"),)), notes=("By `sfa table _7_` as said.",)), "latex")
    assert r"By \texttt{sfa table \_7\_} as said." in latex
