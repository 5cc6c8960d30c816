"""``sfa ledger``: what was measured, shown, written to a file, read from one, or forgotten."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import typer
from rich.table import Table

from sfa.errors import InputError
from sfa.paper.entry import Entry
from sfa.paper.results import Ledger
from sfa.paper.results_files import check_export, read_entries, to_frame, to_text, write_entries
from sfa.run.display import Display, results_console

WHOLE = {"key": 16, "mean ± std": 12}
"""Columns that are never cut, and how wide they are."""


def select(path: Path, *, key: str | None, failed: bool, **conditions: str | None) -> list[Entry]:
    """Return the runs of a ledger that fit all conditions; raise if there are none, and some were asked for."""
    found = Ledger(path).select(**conditions)
    entries = [one for one in found if one.key.startswith(key or "") and (one.failure is not None or not failed)]
    if not entries and (key or failed or any(conditions.values())):
        raise InputError(f"The ledger {path} has no such runs.")
    return entries


def show(entries: Sequence[Entry]) -> None:
    """Print runs as a table."""
    shown, table = to_text(to_frame(entries)), Table()
    for name in shown.columns:  # on a narrow terminal, keys and numbers stay whole
        table.add_column(name, no_wrap=name in WHOLE, min_width=WHOLE.get(name))
    for row in shown.itertuples(index=False):
        table.add_row(*row)
    results_console().print(table, markup=False)


def export(select: Callable[[], list[Entry]], out: Path, display: Display) -> None:
    """Write runs to a file, which is checked before they are read."""
    check_export(out)
    entries = select()
    write_entries(out, entries)
    display.say(f"{_count(entries)} in {out}")


def add_runs(file: Path, path: Path, display: Display) -> None:
    """Add the runs of an exported file, all or none; what the ledger has of them already stays."""
    entries, ledger = read_entries(file), Ledger(path, create=True)
    new = {entry.key for entry in entries} - {entry.key for entry in ledger.select()}
    ledger.add_all(entries)
    display.say(f"{_count(entries)} of {file}, {len(new)} of them new, in {ledger.path}")


def remove(select: Callable[[], list[Entry]], path: Path, study: str | None, display: Display, *, ask: bool) -> None:
    """Forget runs; those of a study that others have too stay, and are no longer of it."""
    entries, ledger = select(), Ledger(path)
    shared = [entry for entry in entries if study is not None and {name for name, _ in entry.labels} != {study}]
    kept = f" ({_count(shared)} of them will stay, for other studies)" if shared else ""
    if ask:
        typer.confirm(f"Forget {_count(entries)} of {path}{kept}?", abort=True, err=True)
    ledger.unlabel((entry.key for entry in shared), study or "")
    removed = [entry for entry in entries if entry not in shared]
    ledger.remove(entry.key for entry in removed)
    display.say(f"{_count(removed)} removed from {ledger.path}{kept.replace(' will', '')}")


def _count(entries: Sequence[Entry]) -> str:
    return f"{len(entries)} run{'' if len(entries) == 1 else 's'}"
