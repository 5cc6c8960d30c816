"""What ``sfa table --run`` does: the missing cells of a table, measured by its study."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from sfa.cli.study import cells_to_do, entries_of, list_cells
from sfa.cli.study_progress import Progress
from sfa.errors import InputError, SfaError, sentence_of
from sfa.ledger import Entry, Ledger
from sfa.registry import resolve
from sfa.run.display import Display
from sfa.run.source import Source
from sfa.studies import Cell, Dataset, Estimator, Plan, Runner, protocols_of
from sfa.tables import Ask, Table, statistics
from sfa.tables.commands import Order
from sfa.tables.paper_tables import READ, maker
from sfa.tables.runs import plans
from sfa.tables.shipped import shipped_entries
from sfa.train import Interrupted


@dataclass
class Measuring:
    """Fills tables in one ledger.

    Args:
        path: The ledger.
        ask: How tables are asked for.
        own: What came with sfa does not count.
        data_root: Where data sets are.
        device: Where methods are trained.
        strict: Raise what makes a cell fail.
        dry_run: List what would be run, and run nothing.
        display: Is told how it goes.
    """

    path: Path
    ask: Ask
    own: bool
    data_root: Path | None
    device: str
    strict: bool
    dry_run: bool
    display: Display
    _counts: dict[str, dict[str, int]] = field(default_factory=dict, init=False)

    def run(self, number: int, *, alone: bool) -> bool:
        """Measure what is missing of a table; whether something could not be had, or failed."""
        if "TORCHELASTIC_RUN_ID" in os.environ:
            raise InputError("A table is measured in one process: start it without torchrun.")
        if number in READ:
            if alone:
                raise InputError(f"Table {number} is read from recipes and methods: there is nothing to run.")
            return False
        if number == statistics.NUMBER:
            return not self.dry_run and self._count()
        known = self._known()
        shipped = () if self.own else shipped_entries()
        orders = maker(number, known, ask=self.ask, shipped=shipped).missing()
        datasets, refused = self._datasets(orders)
        found = plans(orders, datasets, self.ask, device=self.device)
        estimator = Estimator([*known, *shipped_entries()])
        if self.dry_run:
            self._list(number, found, known, estimator)
            return refused
        if not found:
            self.display.say(f"table {number}: nothing to run")
            return refused
        return self._measure(number, found, estimator) or refused

    def counted(self, table: Table) -> Table:
        """The table of statistics with what was counted anew; any other as it is."""
        if table.number != statistics.NUMBER or not self._counts:
            return table
        return statistics.statistics_table({**statistics.shipped_counts(), **self._counts}, self.ask)

    def _known(self) -> list[Entry]:
        if not self.path.exists():
            return []
        with Ledger(self.path) as opened:
            return opened.select()

    def _datasets(self, orders: Iterable[Order]) -> tuple[dict[str, Dataset], bool]:
        """Those that are needed and can be had, by name, and whether some cannot."""
        needed = {name: order for order in orders for name in order.datasets}
        found = {}
        for name, order in needed.items():
            source = Source(name, self.data_root)
            allowed = partial(protocols_of, resolve("study", order.study), asked=order.protocols)
            try:
                found[name] = Dataset.of(source.load, source.as_dict(), allowed)
            except (SfaError, OSError) as error:
                self.display.say(f"{name} cannot be had: {sentence_of(error)}")
        return found, len(found) < len(needed)

    def _list(self, number: int, found: Sequence[Plan], known: Iterable[Entry], estimator: Estimator) -> None:
        entries = {entry.key: entry for entry in known}
        for plan in found:
            list_cells(plan, entries, [*entries.values(), *shipped_entries()], self.path, retry_failed=False)
        cells = [cell for plan in found for cell in cells_to_do(plan, entries, retry_failed=False)]
        self.display.say(f"table {number}: {_how_many(cells, estimator)}")

    def _measure(self, number: int, found: Sequence[Plan], estimator: Estimator) -> bool:
        """Whether a cell failed."""
        failures: dict[str, str] = {}
        with Ledger(self.path, create=True) as opened:
            to_do = [cells_to_do(plan, entries_of(plan, opened), retry_failed=False) for plan in found]
            cells = [cell for those in to_do for cell in those]
            self.display.say(f"table {number}: {_how_many(cells, estimator)}, in {self.path}")
            for plan, those in zip(found, to_do, strict=True):
                with Progress(self.display, plan, those, estimator) as progress:
                    runner = Runner(opened, device=self.device, strict=self.strict, watcher=progress)
                    try:
                        runner.run(plan)
                    except KeyboardInterrupt:
                        raise Interrupted("Stopped; the same command goes on from there.") from None
                failures |= runner.failures
        for title, failure in failures.items():
            Display().say(f"Failed: {title}: {failure}")
        return bool(failures)

    def _count(self) -> bool:
        """Count data sets anew; whether some cannot be had."""
        names = self.ask.datasets or (*statistics.DATASETS, "pubmed")
        for name in names:
            try:
                self._counts[name] = statistics.count(Source(name, self.data_root).load())
            except (SfaError, OSError) as error:
                self.display.say(f"{name} cannot be had: {sentence_of(error)}")
        return len(self._counts) < len(names)


def _how_many(cells: list[Cell], estimator: Estimator) -> str:
    distinct = {cell.key: cell for cell in cells}
    runs = f"{len(distinct)} run{'' if len(distinct) == 1 else 's'} to do"
    expected = estimator.total(distinct.values())
    if not distinct:
        return runs
    return f"{runs}, {expected or 'how long is not known: nothing like them was measured'}"
