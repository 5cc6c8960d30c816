"""What ``sfa table`` does beyond showing the shipped tables: make tables of a ledger, and measure their gaps."""

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from sfa.cli.study_display import list_cells, report_failures, run_plans
from sfa.errors import InputError, SfaError, sentence_of
from sfa.paper import own_entries
from sfa.paper.plans import load_datasets
from sfa.paper.results import Ledger
from sfa.paper.runner import Runner, cells_to_do
from sfa.paper.summary import Estimator
from sfa.paper.tables.definition import definition_of, load
from sfa.paper.tables.facts import STATISTICS, count, facts_table
from sfa.paper.tables.make import TableMaker, make_table, shipped_entries
from sfa.paper.tables.model import Table
from sfa.paper.tables.selection import Selection
from sfa.registry import resolve
from sfa.run.display import Display, counted
from sfa.run.source import Source


def run_tables(
    numbers: Sequence[int],
    selection: Selection,
    show: Callable[[Table], None],
    *,
    run: bool,
    dry_run: bool,
    own: bool,
    asked: bool,
    ledger: Path,
    data_root: Path | None,
    display: Display,
    **options: Any,
) -> bool:
    """Measure the gaps of tables (``run``) or list them (``dry_run``), and show the tables.

    ``asked`` says whether the ledger was named and must exist; ``own`` leaves out the runs that are shipped with sfa;
    ``options`` are those of :class:`~sfa.paper.runner.Runner`. Returns whether data were missing or a cell failed.
    """
    if (run or dry_run) and "TORCHELASTIC_RUN_ID" in os.environ:
        raise InputError("A table is measured in one process: start it without torchrun.")
    shipped, could_not = () if own else None, False
    for number in numbers:
        counts: dict[str, dict[str, int]] = {}
        definition = definition_of(number)
        if definition is not None and (run or dry_run):
            maker = TableMaker(definition, selection, own_entries(ledger, asked=False), shipped)
            could_not |= _measure(maker, ledger, data_root, display, dry_run=dry_run, **options)
        elif number == STATISTICS and run and not dry_run:
            names = selection.datasets or (*(row.key for row in load(STATISTICS).rows), "pubmed")
            counts = _read(names, lambda name: count(Source(name, data_root).load()), display)
            could_not |= len(counts) < len(names)
        elif number != STATISTICS and len(numbers) == 1 and (run or dry_run):
            raise InputError(f"Table {number} is read from recipes and methods: there is nothing to run.")
        if not dry_run:
            table = make_table(number, own_entries(ledger, asked=asked), selection=selection, shipped=shipped)
            table = facts_table(number, selection, counts) if counts else table
            show(replace(table, command=f"{table.command} --own") if own else table)
    return could_not


def _measure(
    maker: TableMaker, ledger: Path, data_root: Path | None, display: Display, *, dry_run: bool, **options: Any
) -> bool:
    """Measure or list the missing runs of a table; return whether data were missing or a run failed."""
    entries, study = own_entries(ledger, asked=False), resolve("study", maker.definition.study)
    measured, known = [*entries, *shipped_entries()], {entry.key: entry for entry in entries}
    wanted = dict.fromkeys(point.dataset for point in maker.missing())
    datasets = _read(wanted, lambda name: load_datasets(study, [name], maker.protocols, data_root)[0], display)
    plans, title, failed = maker.plans(datasets, options["device"]), f"table {maker.definition.number}", False
    to_do = {cell.key: cell for plan in plans for cell in cells_to_do(plan, known)}
    expected = Estimator(measured).total(to_do.values()) or "how long is not known: nothing like them was measured"
    message = f"{title}: {counted(len(to_do), 'run')} to do" + (f", {expected}" if to_do else "")
    if dry_run:
        for plan in plans:
            list_cells(plan, entries, measured, ledger)
        display.say(message)
    elif plans:
        display.say(f"{message}, in {ledger}")
        runner = Runner(Ledger(ledger, create=True), **options)
        run_plans(plans, runner, measured, display)
        failed = report_failures(runner)
    else:
        display.say(f"{title}: nothing to run")
    return failed or len(datasets) < len(wanted)


def _read(names: Iterable[str], read: Callable[[str], Any], display: Display) -> dict[str, Any]:
    """Return what is read of data sets, and say why of those that cannot be loaded."""
    found = {}
    for name in names:
        try:
            found[name] = read(name)
        except (SfaError, OSError) as error:
            display.say(f"{name} cannot be had: {sentence_of(error)}")
    return found
