"""``sfa table``: show a table of the paper with its values and the measured ones."""

from __future__ import annotations

import io
import os
from collections.abc import Sequence
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sfa.cli import options as shared
from sfa.cli.app import app
from sfa.cli.options import DATA, METHOD, OUTPUT, PAIR, TRAINING, ManyValues, flag, option
from sfa.errors import InputError, translate_os_errors
from sfa.paper import default_path

if TYPE_CHECKING:
    from sfa.paper.tables.model import Table
    from sfa.run.display import Display

SUFFIXES = {"term": ".txt", "md": ".md", "csv": ".csv", "latex": ".tex", "html": ".html"}
TableFormat = Enum("TableFormat", {name: name for name in SUFFIXES}, type=str)  # type: ignore[misc]
Words = list[str] | None
RecipeKeys = Annotated[Words, option(METHOD, "Any other key of the recipes.", "--set", metavar=PAIR)]


@app.command(cls=ManyValues)
def table(
    context: typer.Context,
    number: Annotated[str | None, typer.Argument(help="1 to 17, or `all`. Without one: which there are.")] = None,
    datasets: Annotated[Words, option(DATA, "Data sets. Default: the paper's and others measured.")] = None,
    data_root: shared.DataRoot = None,
    method: Annotated[Words, option(METHOD, "Methods to show, or the one in place of GRACE.")] = None,
    set_: RecipeKeys = None,
    seeds: Annotated[list[int] | None, option(TRAINING, "Seeds that count. Default: any.", metavar="N", min=0)] = None,
    epochs: Annotated[int | None, option(TRAINING, "Epochs that count. Default: the most.", metavar="N")] = None,
    device: shared.Device = "auto",
    threads: shared.Threads = None,
    run: Annotated[bool, flag(OUTPUT, "Measure what is missing first.", "--run")] = False,
    dry_run: Annotated[bool, flag(OUTPUT, "List what --run would measure.", "--dry-run")] = False,
    missing: Annotated[bool, flag(OUTPUT, "Print only the commands that fill it.", "--missing")] = False,
    own: Annotated[bool, flag(OUTPUT, "Leave out the runs that came with sfa.", "--own")] = False,
    format: Annotated[TableFormat | None, option(OUTPUT, "Default: by --out, else term.", metavar="FORMAT")] = None,
    out: Annotated[Path | None, option(OUTPUT, "Write .txt, .md, .csv, .tex or .html.", metavar="FILE")] = None,
    ledger: shared.LedgerPath = None,
    quiet: shared.Quiet = False,
) -> None:
    """Show a table of the paper: its values beside ours, and the commands that measure what is missing.

    Ours are of your ledger, or of the runs that came with sfa where these are longer.

    **Examples**

    * `sfa table 1 --datasets cora citeseer`
    * `sfa table 7 --datasets cora --run --epochs 100`: measure what is missing
    * `sfa table 8 --seeds 0 1 2 --dry-run`: what is missing of three seeds
    * `sfa table all --format md --out tables`
    """
    from sfa.paper.tables.definition import NUMBERS, read
    from sfa.run.display import Display

    if number in (None, "list"):
        from sfa.cli import listing

        listing.list_("tables", data_root)
        return
    if number != "all" and not str(number).isdecimal():
        raise InputError(f"A table is asked for by its number, 1 to {NUMBERS[-1]}, or `all`, not by {number!r}.")
    numbers, display = list(NUMBERS) if number == "all" else [int(str(number))], Display(quiet)
    read(numbers[0])  # raises if there is none of this number
    if len(numbers) > 1 and (datasets or method):
        raise InputError("Data sets and methods are named for one table: leave out --datasets and --method.")
    if missing and (run or dry_run):
        raise InputError("--missing prints the commands, --run runs them: choose one.")
    format_, files = output_files(numbers, out, None if format is None else format.value)

    def show(table: Table) -> None:
        if missing:
            typer.echo("".join(f"{command}\n" for command in table.commands), nl=False)
        else:
            show_table(table, format_, files.get(table.number), display)

    changes, path = recipe_changes(set_, epochs), ledger or default_path()
    more = ["--ledger", str(ledger)] if ledger is not None and ledger != default_path() else []  # words of commands
    more += ["--data-root", str(data_root)] if data_root and str(data_root) != os.environ.get("SFA_DATA") else []
    selected = datasets or method or seeds or changes or run or dry_run or own or more or threads
    if not selected and not path.exists():  # no library is imported that only measuring takes
        from sfa.paper.tables.definition import shipped_tables

        for one in numbers:
            show(shipped_tables()[one])
        return
    from sfa.cli.table_run import run_tables
    from sfa.paper.tables.selection import Selection
    from sfa.run.run import set_threads

    set_threads(threads)
    names, distinct = tuple(name.lower() for name in datasets or ()), tuple(dict.fromkeys(seeds or ()))
    selection = Selection(names, tuple(method or ()), distinct, changes, tuple(more))
    what: dict[str, Any] = {"run": run, "dry_run": dry_run, "own": own, "asked": ledger is not None, "ledger": path}
    what |= {"data_root": data_root, "device": device, "strict": bool((context.obj or {}).get("debug"))}
    if run_tables(numbers, selection, show, display=display, **what):
        raise typer.Exit(1)


def output_files(numbers: Sequence[int], out: Path | None, format: str | None) -> tuple[str, dict[int, Path]]:
    """Return the format and the files to write, none where tables are printed; raise unless they can be written."""
    from sfa.atomic import ensure_writable

    formats = {suffix: name for name, suffix in SUFFIXES.items()}
    if out is None:
        return format or "term", {}
    if format is None and len(numbers) == 1 and not out.is_dir() and out.suffix not in formats:
        raise InputError(f"A table is written to {', '.join(formats)}, not to {out.name!r}; or say --format.")
    format = format or formats.get(out.suffix, "md")
    if len(numbers) > 1:
        with translate_os_errors(f"Cannot make the folder {out}"):
            out.mkdir(parents=True, exist_ok=True)
    files = {number: out / f"table_{number:02d}{SUFFIXES[format]}" if out.is_dir() else out for number in numbers}
    for file in files.values():
        ensure_writable(file)
    return format, files


def show_table(table: Table, format: str, file: Path | None, display: Display) -> None:
    """Print a table, or write it to a file."""
    if format == "term":
        from rich.console import Console

        from sfa.paper.tables.formats import print_table
        from sfa.run.display import PLAIN_WIDTH, results_console

        plain = io.StringIO()
        print_table(table, Console(file=plain, width=PLAIN_WIDTH, highlight=False) if file else results_console())
        text = plain.getvalue()
    else:
        from sfa.paper.tables.formats import render

        text = render(table, format)
    if file is None:
        typer.echo(text, nl=False)
        return
    from sfa.atomic import write_text

    write_text(file, text)
    display.say(f"table {table.number} in {file}")


def recipe_changes(assignments: list[str] | None, epochs: int | None) -> dict[str, Any]:
    """Return the recipe keys that --set and --epochs change."""
    changes: dict[str, Any] = {} if epochs is None else {"training.epochs": epochs}
    if assignments:
        from sfa.run.shipped import parse_assignments

        changes = {**parse_assignments(assignments), **changes}
    return changes
