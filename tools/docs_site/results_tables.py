"""Tables of results as the site shows them: the paper's values and ours in columns of their own, values unbroken."""

from __future__ import annotations

import re

from markdown_parts import NO_BREAK

TABLE = re.compile(r"<table>.*?</table>", re.DOTALL)
ROW = re.compile(r"<tr>(.*?)</tr>", re.DOTALL)
CELL = re.compile(r"<t[hd][^>]*>(.*?)</t[hd]>", re.DOTALL)
LINES = re.compile(r"<br\s*/?>\s*")
SHORT = re.compile(r"<li>\s*([⁰¹²³⁴⁵⁶⁷⁸⁹]+) [^<]*?(\d+) of (\d+) epochs")
OURS = "†"  # behind the label of a row that the paper does not have, whose cells begin with our value
ABOVE, BESIDE = "In each cell: above, the paper's value; below it, ours", "Left, the paper's value; right, ours"
LEGEND = '<p class="short">Grey: fewer than half of the epochs in the recipe, as the note with the number says.</p>'


def unbroken_values(page: str) -> str:
    """HTML whose tables have no line break before or after ±."""
    return re.sub(r"<td.*?</td>", lambda cell: cell[0].replace(" ± ", f"{NO_BREAK}±{NO_BREAK}"), page, flags=re.DOTALL)


def with_two_columns(page: str) -> str:
    """HTML of a page of results whose cells of several lines are two labeled columns; short budgets are in grey."""
    short = {mark for mark, done, planned in SHORT.findall(page) if 2 * int(done) < int(planned)}
    (heads, *rows) = [CELL.findall(row) for row in ROW.findall(TABLE.search(page)[0])]  # type: ignore[index]
    cells = [[_lines(cell, row[0].rstrip().endswith(OURS)) for cell in row[1:]] for row in rows]
    double = [any(row[j][0] and row[j][1] for row in cells) for j in range(len(heads) - 1)]
    if not any(double):
        return page
    top = [f'<th rowspan="2">{heads[0]}</th>']
    for head, two in zip(heads[1:], double, strict=True):
        top.append(f'<th colspan="2">{head}</th>' if two else f'<th rowspan="2">{head}</th>')
    parts = [_line(top), _line(["<th>paper</th><th>ours</th>"] * sum(double)), "</thead>\n<tbody>"]
    for (label, *_), row in zip(rows, cells, strict=True):
        values = [_values(one, two, short) for one, two in zip(row, double, strict=True)]
        parts.append(_line([f"<td>{label.strip().replace(f' {OURS}', f'{NO_BREAK}{OURS}')}</td>", *values]))
    table = "\n".join(["<table>\n<thead>", *parts, "</tbody>\n</table>"])
    used = 'class="short"' in table
    shown = f'<div class="results">{table}</div>{LEGEND if used else ""}'
    return TABLE.sub(lambda _: shown, page, count=1).replace(ABOVE, BESIDE)


def _lines(cell: str, ours: bool) -> tuple[str, str, str]:
    """The paper's value of a cell, ours, and the difference, as far as they are there."""
    found = [*([""] if ours else []), *LINES.split(cell), "", "", ""]
    return found[0], found[1], found[2]


def _values(lines: tuple[str, str, str], two: bool, short: set[str]) -> str:
    paper, ours, difference = lines
    if not two:
        return f"<td>{paper or ours}</td>"
    marks = set(re.findall("[⁰¹²³⁴⁵⁶⁷⁸⁹]+", ours))
    grey = ' class="short"' if marks & short else ""
    return f"<td>{paper}</td><td{grey}>{ours}{f'<br><small>{difference}</small>' if difference else ''}</td>"


def _line(cells: list[str]) -> str:
    return f"<tr>{''.join(cells)}</tr>"
