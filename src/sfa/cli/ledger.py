"""``sfa ledger``: what was measured, shown, written to a file, read from one, or forgotten."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import typer
from rich.table import Table

from sfa.errors import InputError
from sfa.ledger import Entry, Ledger, check_export, default_path, read_entries, write_entries
from sfa.ledger.export import COLUMNS, cells_of, table_rows
from sfa.run.display import Display, results_console

WHOLE = {"key": 16, "mean ± std": 12}
"""Columns that are never cut, and how wide they are."""


def run(
    action: str,
    *,
    path: Path | None,
    file: Path | None,
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
    if action == "import" and file is None:
        raise InputError("`sfa ledger import` needs the exported file to read.")
    if action != "import" and file is not None:
        raise InputError(f"`sfa ledger {action}` takes no file: --ledger says which ledger; only import reads one.")
    everything = study is None and dataset is None and method is None and key is None and not failed
    if action == "remove" and everything:
        raise InputError("Say what to remove: --study, --dataset, --method, --key or --failed.")
    display = Display(quiet)
    if file is not None:
        if not everything:
            raise InputError("A file is imported whole: leave out --study, --dataset, --method, --key and --failed.")
        _import(file, default_path() if path is None else path, display)
        return
    with Ledger(default_path() if path is None else path) as ledger:
        entries = [
            entry
            for entry in ledger.select(study=study, dataset=dataset, method=method)
            if entry.key.startswith(key or "") and (entry.failure is not None or not failed)
        ]
        if not entries and not everything:
            raise InputError(f"The ledger {ledger.path} has no such runs.")
        if out is not None:
            write_entries(out, entries)
            display.say(f"{_count(entries)} in {out}")
        elif action == "remove":
            shared = [entry for entry in entries if study is not None and {name for name, _ in entry.labels} != {study}]
            kept = f" ({_count(shared)} of them will stay, for other studies)" if shared else ""
            if not yes:
                typer.confirm(f"Forget {_count(entries)} of {ledger.path}{kept}?", abort=True, err=True)
            ledger.unlabel((entry.key for entry in shared), study or "")
            removed = [entry for entry in entries if entry not in shared]
            ledger.remove(entry.key for entry in removed)
            display.say(f"{_count(removed)} removed from {ledger.path}{kept.replace(' will', '')}")
        else:
            _show(entries)


def _import(file: Path, path: Path, display: Display) -> None:
    """Add the runs of an exported file, all or none; what the ledger has of them already stays."""
    entries = read_entries(file)
    with Ledger(path, create=True) as ledger:
        before = {entry.key for entry in ledger.select()}
        ledger.add_all(entries)
    new = [entry for entry in entries if entry.key not in before]
    display.say(f"{_count(entries)} of {file}, {len(new)} of them new, in {path}")


def _show(entries: Sequence[Entry]) -> None:
    table = Table()
    for name in COLUMNS:  # on a narrow terminal, keys and numbers stay whole
        table.add_column(name, no_wrap=name in WHOLE, min_width=WHOLE.get(name))
    for row in table_rows(entries):
        table.add_row(*cells_of(row))
    results_console().print(table, markup=False)


def _count(entries: Sequence[Entry]) -> str:
    return f"{len(entries)} run{'' if len(entries) == 1 else 's'}"
