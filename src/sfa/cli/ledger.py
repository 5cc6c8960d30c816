"""``sfa ledger``: what was measured, shown, written to a file, read from one, or forgotten."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import typer
from rich.table import Table

from sfa.cli.console import Display, results_console
from sfa.errors import InputError
from sfa.experiments import default_path
from sfa.experiments.entry import Entry
from sfa.experiments.results import Ledger
from sfa.experiments.results_files import check_export, read_entries, to_frame, to_text, write_entries

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
    everything = not (study or dataset or method or key or failed)
    display, path = Display(quiet), default_path() if path is None else path
    if (action == "export") != (out is not None):
        raise InputError("`sfa ledger export` needs --out, the file to write; nothing else takes it.")
    if out is not None:
        check_export(out)
    if action == "import" and file is None:
        raise InputError("`sfa ledger import` needs the exported file to read.")
    if action != "import" and file is not None:
        raise InputError(f"`sfa ledger {action}` takes no file: --ledger says which ledger; only import reads one.")
    if action == "remove" and everything:
        raise InputError("Say what to remove: --study, --dataset, --method, --key or --failed.")
    if file is not None:
        if not everything:
            raise InputError("A file is imported whole: leave out --study, --dataset, --method, --key and --failed.")
        entries, ledger = read_entries(file), Ledger(path, create=True)
        new = {entry.key for entry in entries} - {entry.key for entry in ledger.select()}
        ledger.add_all(entries)
        display.say(f"{_count(entries)} of {file}, {len(new)} of them new, in {ledger.path}")
        return
    ledger = Ledger(path)
    found = ledger.select(study=study, dataset=dataset, method=method)
    entries = [one for one in found if one.key.startswith(key or "") and (one.failure is not None or not failed)]
    if not entries and not everything:
        raise InputError(f"The ledger {path} has no such runs.")
    if out is not None:
        write_entries(out, entries)
        display.say(f"{_count(entries)} in {out}")
    elif action == "remove":
        shared = [entry for entry in entries if study is not None and {name for name, _ in entry.labels} != {study}]
        kept = f" ({_count(shared)} of them will stay, for other studies)" if shared else ""
        if not yes:
            typer.confirm(f"Forget {_count(entries)} of {path}{kept}?", abort=True, err=True)
        ledger.unlabel((entry.key for entry in shared), study or "")
        removed = [entry for entry in entries if entry not in shared]
        ledger.remove(entry.key for entry in removed)
        display.say(f"{_count(removed)} removed from {ledger.path}{kept.replace(' will', '')}")
    else:
        shown, table = to_text(to_frame(entries)), Table()
        for name in shown.columns:  # on a narrow terminal, keys and numbers stay whole
            table.add_column(name, no_wrap=name in WHOLE, min_width=WHOLE.get(name))
        for row in shown.itertuples(index=False):
            table.add_row(*row)
        results_console().print(table, markup=False)


def _count(entries: Sequence[Entry]) -> str:
    return f"{len(entries)} run{'' if len(entries) == 1 else 's'}"
