"""``sfa study``: the cells that the ledger lacks, measured one after another, and the table of all."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import typer
from rich.table import Table

from sfa.cli.study_progress import Progress
from sfa.cli.study_table import print_table
from sfa.errors import InputError
from sfa.ledger import Entry, Ledger, default_path
from sfa.registry import resolve
from sfa.run.display import Display, results_console
from sfa.run.run import set_threads
from sfa.run.source import Source
from sfa.studies import (
    Cell,
    Dataset,
    Estimator,
    Plan,
    Runner,
    cells_folder,
    duration,
    make_plan,
    missing_protocols,
    protocols_of,
)
from sfa.train import Interrupted


def run(
    name: str,
    *,
    datasets: Sequence[str],
    seeds: Sequence[int],
    methods: Sequence[str],
    recipe: str | None,
    changes: Mapping[str, Any],
    protocols: Sequence[str],
    ledger: Path | None,
    data_root: Path | None,
    device: str,
    threads: int | None,
    dry_run: bool,
    retry_failed: bool,
    keep_runs: bool,
    strict: bool,
    quiet: bool,
) -> None:
    """Run a study as asked on the command line."""
    if "TORCHELASTIC_RUN_ID" in os.environ:
        raise InputError("A study runs in one process: start it without torchrun, more than once if you like.")
    set_threads(threads)
    study = resolve("study", name)
    sources = [Source(data, data_root) for data in dict.fromkeys(datasets)]
    allowed = partial(protocols_of, study, asked=protocols)
    graphs = [Dataset.of(source.load, source.as_dict(), allowed) for source in sources]
    plan = make_plan(
        study, graphs, seeds, methods=methods, recipe=recipe, changes=changes, protocols=protocols, device=device
    )
    path = default_path() if ledger is None else ledger
    if dry_run and not path.exists():
        list_cells(plan, {}, [], path, retry_failed)
        return
    with Ledger(path, create=not dry_run) as opened:
        if dry_run:
            list_cells(plan, entries_of(plan, opened), opened.select(), path, retry_failed)
            return
        display = Display(quiet)
        to_do = cells_to_do(plan, entries_of(plan, opened), retry_failed)
        display.say(f"{study.name}: {len(plan.cells)} cells, {len(to_do)} to do, in {path}")
        with Progress(display, plan, to_do, Estimator(opened.select())) as progress:
            runner = Runner(
                opened,
                device=device,
                keep_runs=keep_runs,
                retry_failed=retry_failed,
                strict=strict,
                watcher=progress,
            )
            try:
                runner.run(plan)
            except KeyboardInterrupt:
                raise Interrupted("Stopped; the same command goes on from there.") from None
        entries = entries_of(plan, opened)
    print_table(plan, entries)
    _tell_of_failures(runner.failures)


def entries_of(plan: Plan, ledger: Ledger) -> dict[str, Entry]:
    """What a ledger has of a plan, by key."""
    return {entry.key: entry for entry in ledger.select(keys=[cell.key for cell in plan.cells])}


def cells_to_do(plan: Plan, entries: Mapping[str, Entry], retry_failed: bool) -> list[Cell]:
    """The cells that will be measured, each run once."""
    missing = {
        cell.key: cell
        for cell in plan.cells
        if missing_protocols(cell, entries.get(cell.key), plan.protocols, retry_failed=retry_failed)
    }
    return list(missing.values())


def list_cells(
    plan: Plan, entries: Mapping[str, Entry], measured: Sequence[Entry], path: Path, retry_failed: bool
) -> None:
    """What there is and what there is to do, with how long that will take where it can be told."""
    estimator, to_do = Estimator(measured), {cell.key for cell in cells_to_do(plan, entries, retry_failed)}
    table = Table("data set", "variant", "seed", "state", "about", "key")
    for cell in plan.cells:
        seconds = estimator.seconds(cell) if cell.key in to_do else None
        table.add_row(
            cell.dataset.name,
            cell.variant.label,
            str(cell.variant.seed),
            _state(cell, entries.get(cell.key), cell.key in to_do, path),
            "" if seconds is None else duration(seconds),
            cell.key,
        )
    console = results_console()
    console.print(table, markup=False)
    cells = {cell.key: cell for cell in plan.cells if cell.key in to_do}
    left = estimator.total(cells.values())
    console.print(f"{len(plan.cells)} cells, {len(to_do)} to do{'' if left is None else f', {left}'}.", markup=False)


def _state(cell: Cell, entry: Entry | None, to_do: bool, path: Path) -> str:
    if entry is not None and entry.failure is not None:
        return f"failed: {entry.failure}"
    if not to_do:
        return "done"
    return "begun" if (cells_folder(path) / cell.key).exists() else "to do"


def _tell_of_failures(failures: Mapping[str, str]) -> None:
    for title, failure in failures.items():
        Display().say(f"Failed: {title}: {failure}")
    if failures:
        Display().say("--retry-failed tries again.")
        raise typer.Exit(1)
