"""What ``sfa table`` does beyond showing the shipped tables: make a table of a ledger, and measure its gaps."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar

from sfa.cli.study_display import list_cells, report_failures, run_plans
from sfa.errors import InputError, SfaError, sentence_of
from sfa.paper import own_entries
from sfa.paper.estimate import Estimator
from sfa.paper.plans import load_datasets
from sfa.paper.results import Ledger
from sfa.paper.runner import Runner, cells_to_do
from sfa.paper.tables.definition import definition_of, load
from sfa.paper.tables.facts import STATISTICS, count, facts_table
from sfa.paper.tables.make import TableMaker, make_table, shipped_entries
from sfa.paper.tables.model import Table
from sfa.paper.tables.selection import Selection
from sfa.registry import resolve
from sfa.run.display import Display, counted
from sfa.run.source import Source

Found = TypeVar("Found")


@dataclass
class TableRun:
    """Make tables of one ledger, and measure what they lack.

    Args:
        path: The ledger.
        asked: Whether it was named: then it must exist.
        selection: What is selected of the tables.
        own: Leave out the runs that are shipped with sfa.
        data_root: Folder of data sets.
        device: Where methods are trained.
        strict: Raise errors of a cell.
        display: Shows messages and progress.
        more_words: Words added to every command.
    """

    path: Path
    asked: bool
    selection: Selection
    own: bool
    data_root: Path | None
    device: str
    strict: bool
    display: Display
    more_words: Sequence[str] = ()
    _counts: dict[str, dict[str, int]] = field(default_factory=dict, init=False)

    def table(self, number: int) -> Table:
        """Return a table as it is now."""
        entries, shipped = own_entries(self.path, asked=self.asked), () if self.own else None
        table = make_table(number, entries, selection=self.selection, shipped=shipped, more_words=self.more_words)
        if number == STATISTICS and self._counts:
            table = facts_table(number, self.selection, counted=self._counts)
        return replace(table, command=f"{table.command} --own") if self.own else table

    def measure(self, number: int, *, alone: bool, dry_run: bool) -> bool:
        """Measure the gaps of a table, or list them; return whether data were missing or a cell failed."""
        if "TORCHELASTIC_RUN_ID" in os.environ:
            raise InputError("A table is measured in one process: start it without torchrun.")
        definition = definition_of(number)
        if number == STATISTICS:
            return not dry_run and self._count()
        if definition is None:
            if alone:
                raise InputError(f"Table {number} is read from recipes and methods: there is nothing to run.")
            return False
        entries = own_entries(self.path, asked=False)
        measured, known = [*entries, *shipped_entries()], {entry.key: entry for entry in entries}
        maker = TableMaker(definition, self.selection, entries, () if self.own else None)
        calls = {name: call for call in maker.calls(maker.missing()) for name in call.datasets}
        datasets = self._try(
            calls,
            lambda name: load_datasets(
                resolve("study", definition.study), [name], calls[name].protocols, self.data_root
            )[0],
        )
        plans = maker.plans(datasets, self.device)
        to_do = [cells_to_do(plan, known) for plan in plans]
        distinct = {cell.key: cell for cells in to_do for cell in cells}
        message = f"table {number}: {counted(len(distinct), 'run')} to do"
        if distinct:
            expected = Estimator(measured).total(distinct.values())
            message += f", {expected or 'how long is not known: nothing like them was measured'}"
        failed = False
        if dry_run:
            for plan in plans:
                list_cells(plan, entries, measured, self.path)
            self.display.say(message)
        elif plans:
            self.display.say(f"{message}, in {self.path}")
            runner = Runner(Ledger(self.path, create=True), device=self.device, strict=self.strict)
            run_plans(plans, runner, to_do, measured, self.display)
            failed = report_failures(runner)
        else:
            self.display.say(f"table {number}: nothing to run")
        return failed or len(datasets) < len(calls)

    def _count(self) -> bool:
        """Count data sets anew; return whether some could not be loaded."""
        names = self.selection.datasets or (*(row.key for row in load(STATISTICS).rows), "pubmed")
        self._counts = self._try(names, lambda name: count(Source(name, self.data_root).load()))
        return len(self._counts) < len(names)

    def _try(self, names: Iterable[str], read: Callable[[str], Found]) -> dict[str, Found]:
        """Return what is read of data sets; say why, of those that cannot be loaded."""
        found = {}
        for name in names:
            try:
                found[name] = read(name)
            except (SfaError, OSError) as error:
                self.display.say(f"{name} cannot be had: {sentence_of(error)}")
        return found
