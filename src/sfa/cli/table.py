"""``sfa table``: a table of the paper with its values and ours, printed or written, and measured where it is empty."""

from __future__ import annotations

import io
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import typer
from rich.console import Console

from sfa.atomic import ensure_writable, write_text
from sfa.cli import listing
from sfa.cli.table_run import Measuring
from sfa.errors import InputError
from sfa.ledger import Entry, Ledger, default_path
from sfa.run.display import PLAIN_WIDTH, Display, results_console
from sfa.run.run import set_threads
from sfa.tables import Ask, Table, make_table
from sfa.tables.paper_tables import check_number
from sfa.tables.published import NUMBERS
from sfa.tables.render import render, to_rich

SUFFIXES = {"term": ".txt", "md": ".md", "csv": ".csv", "latex": ".tex", "html": ".html"}
"""Of the files that a format is written to."""


@dataclass(frozen=True)
class Place:
    """Where tables go, and in which format."""

    format: str
    out: Path | None
    many: bool

    @classmethod
    def of(cls, format: str | None, out: Path | None, *, many: bool) -> Place:
        """As asked for; the format is that of the file's suffix if it is not said."""
        if format is None:
            by_suffix = {suffix: name for name, suffix in SUFFIXES.items()}
            if out is not None and not many and not out.is_dir() and out.suffix not in by_suffix:
                raise InputError(f"A table is written to {', '.join(by_suffix)}, not to {out.name!r}; or say --format.")
            format = "term" if out is None else by_suffix.get(out.suffix, "md")
        return cls(format, out, many)

    def check(self, number: int) -> None:
        """Raise unless a table can be written."""
        if self.out is not None:
            if self.many:
                try:
                    self.out.mkdir(parents=True, exist_ok=True)
                except OSError as error:
                    raise InputError(f"Cannot make the folder {self.out}: {error.strerror or error}.") from error
            ensure_writable(self._file(number))

    def show(self, table: Table, display: Display) -> None:
        """Print a table, or write it and say where it is."""
        if self.out is None:
            console = results_console()
            if self.format == "term":
                console.print(*to_rich(table), sep="\n")
            else:
                typer.echo(render(table, self.format), nl=False)
            return
        write_text(self._file(table.number), _plain(table) if self.format == "term" else render(table, self.format))
        display.say(f"table {table.number} in {self._file(table.number)}")

    def _file(self, number: int) -> Path:
        assert self.out is not None
        is_folder = self.many or self.out.is_dir()
        return self.out / f"table_{number:02d}{SUFFIXES[self.format]}" if is_folder else self.out


def run(
    which: str | None,
    *,
    ask: Ask,
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
    """Show tables as asked on the command line, measured first if that is asked for."""
    if which in (None, "list"):
        listing.run("tables", data_root)
        return
    numbers = _numbers(str(which))
    if len(numbers) > 1 and (ask.datasets or ask.methods):
        raise InputError("Data sets and methods are named for one table: leave out --datasets and --method.")
    if missing and (measure or dry_run):
        raise InputError("--missing prints the commands, --run runs them: choose one.")
    place = Place.of(format, out, many=len(numbers) > 1)
    for number in numbers:
        place.check(number)
    set_threads(threads)
    display, path = Display(quiet), default_path() if ledger is None else ledger
    measuring = Measuring(
        path, ask, own=own, data_root=data_root, device=device, strict=strict, dry_run=dry_run, display=display
    )
    failed = False
    for number in numbers:
        if measure or dry_run:
            failed |= measuring.run(number, alone=len(numbers) == 1)
        if dry_run:
            continue
        table = make_table(
            number,
            own_entries(path, asked=ledger is not None),
            ask=ask,
            shipped=() if own else None,
            more_words=_more_words(ledger, data_root),
        )
        table = measuring.counted(table)
        table = replace(table, command=f"{table.command} --own") if own else table
        if missing:
            typer.echo("".join(f"{command}\n" for command in table.commands), nl=False)
        else:
            place.show(table, display)
    if failed:
        raise typer.Exit(1)


def own_entries(path: Path, *, asked: bool) -> list[Entry]:
    """The user's runs: none where there is no ledger, unless one was asked for, which is then an error."""
    if not asked and not path.exists():
        return []
    with Ledger(path) as opened:
        return opened.select()


def _numbers(which: str) -> list[int]:
    if which == "all":
        return list(NUMBERS)
    if not which.isdecimal():
        raise InputError(f"A table is asked for by its number, 1 to {NUMBERS[-1]}, or `all`, not by {which!r}.")
    check_number(int(which))
    return [int(which)]


def _more_words(ledger: Path | None, data_root: Path | None) -> Sequence[str]:
    """What commands must say for the same ledger and data, where their environment does not say it."""
    words = []
    if ledger is not None and ledger != default_path():
        words += ["--ledger", str(ledger)]
    if data_root is not None and str(data_root) != os.environ.get("SFA_DATA"):
        words += ["--data-root", str(data_root)]
    return words


def _plain(table: Table) -> str:
    console = Console(file=io.StringIO(), width=PLAIN_WIDTH, highlight=False, soft_wrap=True)
    console.print(*to_rich(table), sep="\n")
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()
