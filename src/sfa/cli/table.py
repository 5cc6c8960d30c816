"""``sfa table``: a table of the paper with its values and ours, printed or written, and measured where it is empty."""

from __future__ import annotations

import io
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from rich.console import Console

from sfa.atomic import ensure_writable, write_text
from sfa.cli.console import PLAIN_WIDTH, Display, results_console
from sfa.errors import InputError
from sfa.experiments import default_path
from sfa.paper.tables.definition import NUMBERS, read
from sfa.paper.tables.model import Table
from sfa.paper.tables.shipped import shipped_table
from sfa.paper.tables.terminal import to_rich

if TYPE_CHECKING:
    from sfa.experiments.entry import Entry

SUFFIXES = {"term": ".txt", "md": ".md", "csv": ".csv", "latex": ".tex", "html": ".html"}
"""Of the files that a format is written to."""


def run(
    which: str,
    *,
    selected: Mapping[str, Any],
    format: str | None,
    out: Path | None,
    measure: bool,
    dry_run: bool,
    missing: bool,
    own: bool,
    ledger: Path | None,
    data_root: Path | None,
    device: str,
    threads: int | None,
    strict: bool,
    quiet: bool,
) -> None:
    """Show tables as asked on the command line, measured first if that is asked for.

    ``selected`` are the arguments of :class:`~sfa.paper.tables.selection.Selection`. What came with sfa is shown
    without the libraries by which it was measured, whose import takes seconds.
    """
    numbers = _numbers(which)
    if len(numbers) > 1 and (selected["datasets"] or selected["methods"]):
        raise InputError("Data sets and methods are named for one table: leave out --datasets and --method.")
    if missing and (measure or dry_run):
        raise InputError("--missing prints the commands, --run runs them: choose one.")
    if format is None:
        format = _format(out, many=len(numbers) > 1)
    paths = {number: _file(out, number, format, many=len(numbers) > 1) for number in numbers}
    display, more = Display(quiet), _more_words(ledger, data_root)
    path = ledger or default_path()
    plain = not (any(selected.values()) or measure or dry_run or own or more or threads or ledger or path.exists())
    measuring = None
    if not plain:
        from sfa.cli.run import set_threads
        from sfa.cli.table_run import TableRun
        from sfa.paper.tables.selection import Selection

        set_threads(threads)
        measuring = TableRun(
            path, Selection(**selected), own=own, data_root=data_root, device=device, strict=strict, display=display
        )
    failed = False
    for number in numbers:
        if measuring is not None and (measure or dry_run):
            failed |= measuring.measure(number, alone=len(numbers) == 1, dry_run=dry_run)
        if dry_run:
            continue
        if measuring is None:
            table = shipped_table(number)
        else:
            table = measuring.table(number, own_entries(path, asked=ledger is not None), more)
        if missing:
            typer.echo("".join(f"{command}\n" for command in table.commands), nl=False)
        else:
            _show(table, format, paths[number], display)
    if failed:
        raise typer.Exit(1)


def _numbers(which: str) -> list[int]:
    if which == "all":
        return list(NUMBERS)
    if not which.isdecimal():
        raise InputError(f"A table is asked for by its number, 1 to {NUMBERS[-1]}, or `all`, not by {which!r}.")
    read(int(which))
    return [int(which)]


def _format(out: Path | None, *, many: bool) -> str:
    """Return the format of a file's suffix."""
    by_suffix = {suffix: name for name, suffix in SUFFIXES.items()}
    if out is not None and not many and not out.is_dir() and out.suffix not in by_suffix:
        raise InputError(f"A table is written to {', '.join(by_suffix)}, not to {out.name!r}; or say --format.")
    return "term" if out is None else by_suffix.get(out.suffix, "md")


def _file(out: Path | None, number: int, format: str, *, many: bool) -> Path | None:
    """Return where a table goes, nowhere if it is printed; raise unless it can be written."""
    if out is None:
        return None
    if many:
        try:
            out.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"Cannot make the folder {out}: {error.strerror or error}.") from error
    file = out / f"table_{number:02d}{SUFFIXES[format]}" if many or out.is_dir() else out
    ensure_writable(file)
    return file


def _more_words(ledger: Path | None, data_root: Path | None) -> list[str]:
    """Return what commands must say for the same ledger and data, where their environment does not say it."""
    words = ["--ledger", str(ledger)] if ledger is not None and ledger != default_path() else []
    other_data = data_root is not None and str(data_root) != os.environ.get("SFA_DATA")
    return [*words, "--data-root", str(data_root)] if other_data else words


def own_entries(path: Path, *, asked: bool) -> list[Entry]:
    """Return the user's runs: none where there is no ledger, unless one was asked for, which is then an error."""
    from sfa.experiments.results import Ledger

    return Ledger(path).select() if asked or path.exists() else []


def _show(table: Table, format: str, file: Path | None, display: Display) -> None:
    """Print a table, or write it and say where it is."""
    if format == "term":
        plain = Console(file=io.StringIO(), width=PLAIN_WIDTH, highlight=False, soft_wrap=True)
        console = results_console() if file is None else plain
        console.print(*to_rich(table), sep="\n")
        text = "" if file is None else console.file.getvalue()  # type: ignore[attr-defined]
    else:
        from sfa.paper.tables.formats import render

        text = render(table, format)
    if file is None:
        typer.echo(text, nl=False)
    else:
        write_text(file, text)
        display.say(f"table {table.number} in {file}")
