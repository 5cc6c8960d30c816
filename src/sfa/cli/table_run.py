"""What ``sfa table --run`` does: the missing cells of a table, measured by its study."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from sfa.cli.study import cells_to_do, list_cells, measure_plan
from sfa.cli.table import own_entries
from sfa.errors import InputError, SfaError, sentence_of
from sfa.paper.cells import Cell, Dataset, Plan
from sfa.paper.estimate import Estimator
from sfa.paper.plans import protocols_of
from sfa.paper.results import Ledger
from sfa.paper.runner import Runner
from sfa.paper.tables import facts
from sfa.paper.tables.definition import definition_of, load
from sfa.paper.tables.make import TableMaker, make_table, shipped_entries
from sfa.paper.tables.model import Table
from sfa.paper.tables.selection import Selection, StudyCall
from sfa.registry import resolve
from sfa.run.display import Display
from sfa.run.source import Source


@dataclass
class TableRun:
    """Makes tables of one ledger, and fills them.

    Args:
        path: The ledger.
        asked: It was named: that it is not there is an error.
        selection: What is selected of tables.
        own: What came with sfa does not count.
        data_root: Where data sets are.
        device: Where methods are trained.
        strict: Raise what makes a cell fail.
        display: Is told how it goes.
        more_words: Added to every command.
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
        """Return a table, that of statistics with what was counted anew."""
        entries, shipped = own_entries(self.path, asked=self.asked), () if self.own else None
        table = make_table(number, entries, selection=self.selection, shipped=shipped, more_words=self.more_words)
        if number == facts.STATISTICS and self._counts:
            table = facts.statistics_table({**facts.shipped_counts(), **self._counts}, self.selection)
        return replace(table, command=f"{table.command} --own") if self.own else table

    def measure(self, number: int, *, alone: bool, dry_run: bool) -> bool:
        """Measure what is missing of a table, or list it; tell whether something could not be had, or failed."""
        if "TORCHELASTIC_RUN_ID" in os.environ:
            raise InputError("A table is measured in one process: start it without torchrun.")
        definition = definition_of(number)
        if number == facts.STATISTICS:
            return not dry_run and self._count()
        if definition is None:
            if alone:
                raise InputError(f"Table {number} is read from recipes and methods: there is nothing to run.")
            return False
        known = {entry.key: entry for entry in own_entries(self.path, asked=False)}
        measured = [*known.values(), *shipped_entries()]
        maker = TableMaker(definition, self.selection, known.values(), () if self.own else None)
        datasets, refused = self._datasets(maker.calls(maker.missing()))
        plans, estimator = maker.plans(datasets, self.device), Estimator(measured)
        to_do = [cells_to_do(plan, known, retry_failed=False) for plan in plans]
        told = f"table {number}: {_how_many([cell for cells in to_do for cell in cells], estimator)}"
        if dry_run:
            for plan in plans:
                list_cells(plan, known, measured, self.path, retry_failed=False)
            self.display.say(told)
            return refused
        if not plans:
            self.display.say(f"table {number}: nothing to run")
            return refused
        self.display.say(f"{told}, in {self.path}")
        return self._measure(plans, to_do, estimator) or refused

    def _measure(self, plans: Sequence[Plan], to_do: Sequence[list[Cell]], estimator: Estimator) -> bool:
        """Tell whether a cell failed."""
        runner = Runner(Ledger(self.path, create=True), device=self.device, strict=self.strict)
        for plan, cells in zip(plans, to_do, strict=True):
            measure_plan(plan, runner, cells, self.display, estimator)
        for title, failure in runner.failures.items():
            Display().say(f"Failed: {title}: {failure}")
        return bool(runner.failures)

    def _datasets(self, calls: Iterable[StudyCall]) -> tuple[dict[str, Dataset], bool]:
        """Return the data sets that are needed and can be had, by name, and whether some cannot."""
        needed = {name: call for call in calls for name in call.datasets}

        def read(name: str, source: Source) -> Dataset:
            allowed = partial(protocols_of, resolve("study", needed[name].study), asked=needed[name].protocols)
            return Dataset.of(source.load, source.as_dict(), allowed)

        found = self._read(needed, read)
        return found, len(found) < len(needed)

    def _count(self) -> bool:
        """Count data sets anew; tell whether some cannot be had."""
        names = self.selection.datasets or (*(row.key for row in load(facts.STATISTICS).rows), "pubmed")
        self._counts = self._read(names, lambda name, source: facts.count(source.load()))
        return len(self._counts) < len(names)

    def _read(self, names: Iterable[str], read: Callable[[str, Source], Any]) -> dict[str, Any]:
        found = {}
        for name in names:
            try:
                found[name] = read(name, Source(name, self.data_root))
            except (SfaError, OSError) as error:
                self.display.say(f"{name} cannot be had: {sentence_of(error)}")
        return found


def _how_many(cells: list[Cell], estimator: Estimator) -> str:
    distinct = {cell.key: cell for cell in cells}
    runs = f"{len(distinct)} run{'' if len(distinct) == 1 else 's'} to do"
    expected = estimator.total(distinct.values())
    return f"{runs}, {expected or 'how long is not known: nothing like them was measured'}" if distinct else runs
