"""``sfa table``: a table of the paper with its values and ours, printed or written."""

from __future__ import annotations

import io
import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import typer
from rich.console import Console

from sfa.atomic import ensure_writable, write_text
from sfa.errors import InputError
from sfa.paper import default_path
from sfa.paper.tables.definition import NUMBERS, read
from sfa.paper.tables.model import Table
from sfa.paper.tables.shipped import shipped_table as shipped_table
from sfa.paper.tables.terminal import to_rich
from sfa.run.display import PLAIN_WIDTH, Display, results_console

if TYPE_CHECKING:
    from sfa.paper.entry import Entry

SUFFIXES = {"term": ".txt", "md": ".md", "csv": ".csv", "latex": ".tex", "html": ".html"}
"""Of the files that a format is written to."""


def parse_number(which: str) -> list[int]:
    """Return the numbers of the tables asked for."""
    if which == "all":
        return list(NUMBERS)
    if not which.isdecimal():
        raise InputError(f"A table is asked for by its number, 1 to {NUMBERS[-1]}, or `all`, not by {which!r}.")
    read(int(which))
    return [int(which)]


def output_files(numbers: Iterable[int], out: Path | None, format: str | None) -> dict[int, tuple[str, Path | None]]:
    """Return format and file of each table, no file where it is printed; raise unless it can be written."""
    formats = {suffix: name for name, suffix in SUFFIXES.items()}
    if out is None:
        return dict.fromkeys(numbers, (format or "term", None))
    many = len(list(numbers)) > 1
    if format is None and not many and not out.is_dir() and out.suffix not in formats:
        raise InputError(f"A table is written to {', '.join(formats)}, not to {out.name!r}; or say --format.")
    format = format or formats.get(out.suffix, "md")
    if many:
        try:
            out.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"Cannot make the folder {out}: {error.strerror or error}.") from error
    names = {number: out / f"table_{number:02d}{SUFFIXES[format]}" if out.is_dir() else out for number in numbers}
    for file in names.values():
        ensure_writable(file)
    return {number: (format, file) for number, file in names.items()}


def more_words(ledger: Path | None, data_root: Path | None) -> list[str]:
    """Return what commands must say for the same ledger and data, where their environment does not say it."""
    words = ["--ledger", str(ledger)] if ledger is not None and ledger != default_path() else []
    other_data = data_root is not None and str(data_root) != os.environ.get("SFA_DATA")
    return [*words, "--data-root", str(data_root)] if other_data else words


def own_entries(path: Path, *, asked: bool) -> list[Entry]:
    """Return the user's runs: none where there is no ledger, unless one was asked for, which is then an error."""
    from sfa.paper.results import Ledger

    return Ledger(path).select() if asked or path.exists() else []


def show(table: Table, format: str, file: Path | None, display: Display, *, only_commands: bool = False) -> None:
    """Print a table, or write it and say where it is; or print nothing but the commands that fill it."""
    if only_commands:
        typer.echo("".join(f"{command}\n" for command in table.commands), nl=False)
        return
    text = ""
    if format == "term":
        plain = io.StringIO()
        console = Console(file=plain, width=PLAIN_WIDTH, highlight=False, soft_wrap=True) if file else results_console()
        console.print(*to_rich(table), sep="\n")
        text = plain.getvalue()
    else:
        from sfa.paper.tables.formats import render

        text = render(table, format)
    if file is None:
        typer.echo(text, nl=False)
    else:
        write_text(file, text)
        display.say(f"table {table.number} in {file}")
