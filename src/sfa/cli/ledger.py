"""``sfa ledger``: what was measured, shown, written to a file, or forgotten."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import typer
from rich.table import Table

from sfa.cli.console import Display, results_console
from sfa.errors import InputError
from sfa.ledger import Entry, Ledger, check_export, default_path, write_entries
from sfa.ledger.export import COLUMNS, cells_of, table_rows


def run(
    action: str,
    *,
    path: Path | None,
    study: str | None,
    dataset: str | None,
    method: str | None,
    key: str | None,
    failed: bool,
    out: Path | None,
    yes: bool,
    quiet: bool,
) -> None:
    """Do one thing with the runs that fit all conditions."""
    if (action == "export") != (out is not None):
        raise InputError("`sfa ledger export` needs --out, the file to write; nothing else takes it.")
    if out is not None:
        check_export(out)
    everything = study is None and dataset is None and method is None and key is None and not failed
    if action == "remove" and everything:
        raise InputError("Say what to remove: --study, --dataset, --method, --key or --failed.")
    display = Display(quiet)
    with Ledger(default_path() if path is None else path) as ledger:
        entries = [
            entry
            for entry in ledger.select(study=study, dataset=dataset, method=method)
            if entry.key.startswith(key or "") and (entry.failure is not None or not failed)
        ]
        if out is not None:
            write_entries(out, entries)
            display.say(f"{_count(entries)} in {out}")
        elif not entries:
            display.say(f"The ledger {ledger.path} has no such runs.")
        elif action == "remove":
            if not yes:
                typer.confirm(f"Forget {_count(entries)} of {ledger.path}?", abort=True, err=True)
            ledger.remove(entry.key for entry in entries)
            display.say(f"{_count(entries)} removed from {ledger.path}")
        else:
            _show(entries)


def _show(entries: Sequence[Entry]) -> None:
    table = Table(*COLUMNS)
    for row in table_rows(entries):
        table.add_row(*cells_of(row))
    results_console().print(table, markup=False)


def _count(entries: Sequence[Entry]) -> str:
    return f"{len(entries)} run{'' if len(entries) == 1 else 's'}"
