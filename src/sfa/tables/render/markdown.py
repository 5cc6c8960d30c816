"""A table as Markdown, for GitHub and for the documentation."""

from __future__ import annotations

import re
from collections.abc import Iterator

from sfa.tables.model import Table
from sfa.tables.render.inline_code import with_code
from sfa.tables.render.parts import Shown, one_line, parts_of
from sfa.tables.render.superscript import raised

_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "~": "&#126;"}


def to_markdown(table: Table) -> str:
    """A page: heading, caption, table, what its marks stand for, notes and commands."""
    return "\n\n".join("\n".join(block) for block in _blocks(table)) + "\n"


def escaped(text: str) -> str:
    """Text that Markdown shows as it is, also within a table."""
    return _kept(one_line(text))


def _kept(text: str) -> str:
    text = re.sub(r"([\\`*_{}\[\]#|])", r"\\\1", text)
    return re.sub("[&<>~]", lambda found: _ENTITIES[found[0]], text)


def _prose(text: str) -> str:
    return with_code(one_line(text), _kept, _code)


def _blocks(table: Table) -> Iterator[list[str]]:
    parts = parts_of(table)
    yield [f"# Table {table.number}: {escaped(table.title)}"]
    yield [_prose(table.caption)]
    rows = zip(parts.labels, parts.cells, strict=True)
    yield [
        _line([table.row_header, *table.columns]),
        _line(["---"] * (1 + len(table.columns)), escape=False),
        *(_line([escaped(label), *map(_cell, cells)], escape=False) for label, cells in rows),
    ]
    yield [_prose(sentence) + ("  " if sentence is not parts.legend[-1] else "") for sentence in parts.legend]
    if parts.marks:
        yield [f"- {raised((mark,))} {_prose(text)}" for mark, text in parts.marks.items()]
    if table.notes:
        yield ["Notes:"]
        yield [f"- {_prose(note)}" for note in table.notes]
    if parts.commands:
        yield ["Not measured yet; these commands fill it:"]
        yield ["```sh", *parts.commands, "```"]
    if table.command:
        yield [f"Made by {_code(table.command)}."]


def _line(cells: list[str], escape: bool = True) -> str:
    return "| " + " | ".join(escaped(cell) if escape else cell for cell in cells) + " |"


def _cell(shown: Shown) -> str:
    published = _bold(escaped(shown.published) + raised(shown.published_marks), shown.best)
    measured = _bold(escaped(shown.measured) + raised(shown.measured_marks), shown.leading)
    lines = (published, measured, shown.difference)
    return "<br>".join(line for line in lines if line)


def _bold(text: str, really: bool) -> str:
    return f"**{text}**" if really and text else text


def _code(text: str) -> str:
    """Between more backticks than it has in a row."""
    ticks = "`" * (1 + max(map(len, re.findall("`+", text)), default=0))
    return f"{ticks}{text}{ticks}" if len(ticks) == 1 else f"{ticks} {text} {ticks}"
