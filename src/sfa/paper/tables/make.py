"""Put tables together: the paper's values, the measured ones, and the commands that fill the gaps."""

import gzip
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from importlib.resources import as_file, files
from pathlib import Path

from sfa.data import names
from sfa.methods import available_methods
from sfa.paper import METHODS
from sfa.paper.plans import RUN_TIME, Dataset, Plan, make_plan, protocols_of
from sfa.paper.results_files import Entry, read_entries
from sfa.paper.tables import definition as tables
from sfa.paper.tables.definition import VALIDATION, Definition, Header, Point, definition_of, load, method_title
from sfa.paper.tables.facts import facts_table
from sfa.paper.tables.matching import Measurements
from sfa.paper.tables.model import Cell, Row, Table
from sfa.paper.tables.selection import Budget, Selection
from sfa.registry import resolve

ALL = Selection()


@cache
def shipped_entries() -> tuple[Entry, ...]:
    """Return the runs that are shipped with sfa."""
    with as_file(files("sfa.paper").joinpath("measured/ledger.json.gz")) as path:
        return tuple(read_entries(path)) if path.is_file() else ()


def make_tables() -> dict[int, Table]:
    """Make the tables of the shipped runs."""
    return {number: make_table(number) for number in tables.NUMBERS}


def make_table(
    number: int, entries: Iterable[Entry] = (), *, selection: Selection = ALL, shipped: Iterable[Entry] | None = None
) -> Table:
    """Make a table of the paper, with published and measured values side by side. No data are read.

    Runs of the user's own ledger, ``entries``, are preferred to those shipped with sfa, which ``shipped`` replaces.
    """
    definition = definition_of(number)
    if definition is None:
        return facts_table(number, selection)
    return TableMaker(definition, selection, entries, shipped).table()


class TableMaker:
    """Make a table of measurements; the arguments are those of :func:`make_table`."""

    def __init__(
        self,
        definition: Definition,
        selection: Selection = ALL,
        entries: Iterable[Entry] = (),
        shipped: Iterable[Entry] | None = None,
    ) -> None:
        selection.check(definition.number, definition.task, many_methods=definition.many_methods)
        self.definition, self.selection = definition, selection
        shipped = shipped_entries() if shipped is None else shipped
        self.measurements = Measurements(definition, selection, entries, shipped)
        self.find = self.measurements.find
        own = protocols_of(resolve("study", definition.study), definition.task)
        self.protocols = () if own == (definition.protocol,) else (definition.protocol,)  # given if not the study's own
        printed = {row.key: row.label for row in load(definition.number).rows}
        lines = reversed([(key, line) for key, line in definition.lines.items() if not line.recipe])
        self.labels = {line.variant: line.label or printed.get(key) or line.variant for key, line in lines}
        self.rows = self._shown()

    def _shown(self) -> dict[Header, dict[Header, Point]]:
        """Return the points by row and column, optional ones only where enough was measured."""
        definition, methods = self.definition, self.selection.methods
        lines = definition.lines
        if definition.many_methods and methods:  # baselines come with the task's first method
            first = METHODS[definition.task]
            lines = {key: line for key, line in lines.items() if (line.method or first) in methods}
        datasets = self.selection.datasets or (*definition.datasets, *definition.more_datasets)
        grid = definition.grid(tuple(dict.fromkeys(datasets)), lines)
        rows = {row: points for row, points in grid.items() if self._is_wanted(row, list(points.values()))}
        every = dict.fromkeys(column for points in rows.values() for column in points)
        columns = [one for one in every if self._is_wanted(one, [points[one] for points in rows.values()])]
        return {row: {column: points[column] for column in columns} for row, points in rows.items()}

    def _is_wanted(self, header: Header, points: Sequence[Point]) -> bool:
        datasets, methods = {point.dataset for point in points}, {point.line.method for point in points}
        named = (len(datasets) == 1 and datasets <= set(self.selection.datasets)) or (
            len(methods) == 1 and self.definition.many_methods and methods <= set(self.selection.methods)
        )
        if not header.optional or named:
            return True
        known = (point for point in points if point.dataset in self.measurements.datasets)
        there = sum(self.refusal(point) is None and self.find(point) is not None for point in known)
        # Some cells of every data set are filled by other tables: half of them must be there to show it.
        return 2 * there >= len(points) if len(datasets) == 1 else there > 0

    def refusal(self, point: Point) -> str | None:
        """Return why a point cannot be measured; ``None`` if it can."""
        if point.line.only and point.dataset not in point.line.only:
            return "the paper gives none for this data set"
        tested = point._replace(metric=point.metric.removeprefix(VALIDATION))
        if tested != point and self.find(point) is None and self.find(tested) is not None:
            return "runs of older versions have test values alone"
        return None

    def missing(self) -> list[Point]:
        """Return the points shown of which not every run is there."""
        points = (point for row in self.rows.values() for point in row.values() if self.refusal(point) is None)
        return [point for point in points if not self.measurements.is_complete(point)]

    def calls(self, points: Iterable[Point]) -> dict[tuple[str | None, tuple[str, ...]], list[Point]]:
        """Return the points that each call of the study measures, by its recipe and methods, on all their data sets."""
        by_dataset: dict[tuple[str | None, str], list[Point]] = {}
        for point in points:
            by_dataset.setdefault((point.line.recipe, point.dataset), []).append(point)
        calls: dict[tuple[str | None, tuple[str, ...]], list[Point]] = {}
        for (recipe, _), those in by_dataset.items():
            methods = self.selection.methods
            if self.definition.many_methods:  # baselines come with the task's first method
                wanted = {point.line.method or METHODS[self.definition.task] for point in those}
                methods = tuple(name for name in available_methods() if name in wanted)
            calls.setdefault((recipe, methods), []).extend(those)
        return calls

    def commands(self, points: Iterable[Point], selection: Selection, *more: str) -> tuple[str, ...]:
        """Return the commands that measure points, with ``more`` words."""
        found = []
        for (recipe, methods), those in self.calls(points).items():
            datasets, study = list(dict.fromkeys(point.dataset for point in those)), self.definition.study
            command = selection.study_command(
                study, *more, datasets=datasets, method=methods, recipe=recipe, protocol=self.protocols
            )
            found.append(command)
        return tuple(found)

    def plans(self, datasets: Mapping[str, Dataset], device: str = "auto") -> list[Plan]:
        """Return the missing runs on data sets, without other variants of their studies."""
        found = []
        missing = (point for point in self.missing() if point.dataset in datasets)
        for (recipe, methods), points in self.calls(missing).items():
            plan = make_plan(
                resolve("study", self.definition.study),
                [datasets[name] for name in dict.fromkeys(point.dataset for point in points)],
                self.selection.seeds or (0,),
                methods=methods,
                recipe=recipe,
                changes=self.selection.changes,
                protocols=self.protocols,
                device=device,
            )
            wanted = {(datasets[point.dataset].name, point.line.variant) for point in points}
            jobs = (job for job in plan.jobs if wanted & {(cell.dataset.name, cell.variant.label) for cell in job})
            found.append(replace(plan, jobs=tuple(jobs)))
        return found

    def table(self) -> Table:
        """Return the table with its measured values and the commands that fill its gaps."""
        paper, missing, keys = load(self.definition.number), self.missing(), tables.column_keys(self.definition.number)
        heads, printed = dict(zip(keys, paper.columns, strict=True)), {row.key: row for row in paper.rows}
        rows: list[Row] = []
        for header, points in self.rows.items():
            row = printed.get(header.key) or Row(header.label or header.key, ours=True)
            values = dict(zip(keys, row.cells, strict=False))
            cells = tuple(self._cell(point, values.get(column.key, Cell())) for column, point in points.items())
            rule = row.rule_above or (row.ours and bool(rows) and not rows[-1].ours)  # between the paper's and ours
            rows.append(replace(row, label=header.label or row.label, cells=cells, rule_above=rule))
        columns = dict.fromkeys(column for points in self.rows.values() for column in points)
        return replace(
            paper,
            columns=tuple(column.label or heads[column.key] for column in columns),
            rows=tuple(rows),
            notes=(*self._notes(), *self.definition.our_notes, *paper.notes, *_data_notes(missing)),
            command=self.selection.table_command(paper.number),
            commands=self.commands(missing, self.selection),
        )

    def _cell(self, point: Point, printed: Cell) -> Cell:
        refusal = self.refusal(point)
        if refusal is not None:
            return replace(printed, missing=refusal)
        found, again = self.find(point), self.selection
        failure = None if found is not None else self.measurements.failure(point)
        measured, (variant, _) = found and found.measured, self.measurements.variants(point)
        if found is not None and self.definition.protocol != RUN_TIME:  # as it was measured, with its budget and seeds
            changes = {**again.changes, **found.budget.changes(Budget.of(variant.decisive))}
            again = replace(again, changes=changes, seeds=found.measured.seeds)
        if measured is not None and measured.difference:
            baseline = variant.baseline or ""
            measured = replace(measured, difference_from=self.labels.get(baseline, baseline))
        (command,) = self.commands([point], again, *(["--retry-failed"] if failure else []))
        return replace(printed, measured=measured, command=command, failure=failure)

    def _notes(self) -> Iterator[str]:
        """Describe the protocol and the selected settings."""
        if self.definition.protocol != RUN_TIME:
            protocol = resolve("protocol", self.definition.protocol)
            yield f"Measured under {protocol.name}: {protocol.description}."
            yield "± of ours is over training seeds, with one seed over its splits or runs. Differences are paired."
        if self.selection.settings:
            changed = ", ".join(f"{path} = {value}" for path, value in self.selection.settings.items())
            yield f"In every recipe: {changed}."
        if not self.definition.many_methods and self.selection.methods:
            shown, usual = map(method_title, (self.selection.methods[0], METHODS[self.definition.task]))
            yield f"Of {shown}, in place of {usual}."


def _data_notes(missing: Iterable[Point]) -> Iterator[str]:
    """Tell where the data sets come from that are not bundled, and on which something is missing."""
    wanted, found = {point.dataset for point in missing}, dict[str, list[str]]()
    for one in names():
        if one.name in wanted and not one.bundled and one.loader is None:
            how = "Downloaded on first use, if not" if one.downloaded else "Never downloaded, to be given"
            found.setdefault(how, []).append(one.name)
    yield from (f"{how} under --data-root: {', '.join(datasets)}." for how, datasets in found.items())


if __name__ == "__main__":
    text = json.dumps(tables.TABLES.dump_python(make_tables(), exclude_defaults=True))  # some means are NaN
    Path(str(tables.SHIPPED)).write_bytes(gzip.compress(text.encode(), mtime=0))
