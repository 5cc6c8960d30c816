"""Tables put together: the paper's values, ours, and the commands that fill what is missing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from importlib.resources import as_file, files

from sfa.data import names
from sfa.errors import InputError
from sfa.evaluate import Clustering, Difference
from sfa.methods import DEFAULTS
from sfa.paper.cells import RUN_TIME, Dataset, Plan
from sfa.paper.entry import Entry
from sfa.paper.plans import make_plan
from sfa.paper.results_files import read_entries
from sfa.paper.summary import Summary
from sfa.paper.tables import facts
from sfa.paper.tables.definition import (
    VALIDATION,
    Definition,
    Header,
    Point,
    column_keys,
    definition_of,
    load,
    method_title,
)
from sfa.paper.tables.matching import Match, Measurements, Target, target_of
from sfa.paper.tables.model import Cell, Interval, Measured, Row, Table
from sfa.paper.tables.selection import Selection, study_calls
from sfa.registry import resolve

ALL = Selection()


@cache
def shipped_entries() -> tuple[Entry, ...]:
    """Return the runs that came with sfa."""
    with as_file(files("sfa.paper").joinpath("measured/ledger.json.gz")) as path:
        return tuple(read_entries(path)) if path.is_file() else ()


def make_table(
    number: int,
    entries: Iterable[Entry] = (),
    *,
    selection: Selection = ALL,
    shipped: Iterable[Entry] | None = None,
    more_words: Sequence[str] = (),
) -> Table:
    """Make a table of the paper: published and measured values side by side. Reads no data.

    Args:
        number: Of the table, 1 to 17.
        entries: Of the user's own ledger; they go before those that came with sfa.
        selection: On which data, of which methods, with which settings.
        shipped: In place of those that came with sfa.
        more_words: Added to every command that fills a cell.
    """
    definition = definition_of(number)
    if definition is not None:
        return TableMaker(definition, selection, entries, shipped, more_words).table()
    selection.check(number, "node", many_methods=number == facts.SETTINGS)
    if number == facts.SETTINGS and selection.datasets:
        raise InputError(f"Table {number} is of methods, not of data sets: leave out --datasets.")
    if number != facts.SETTINGS and selection.methods:
        raise InputError(f"Table {number} is of data sets, not of methods: leave out --method.")
    if number == facts.STATISTICS:
        return facts.statistics_table(facts.shipped_counts(), selection, more_words)
    return facts.settings_table(selection) if number == facts.SETTINGS else facts.hyper_parameters_table(selection)


class TableMaker:
    """Puts a table of measurements together.

    Args:
        definition: Which.
        selection: What is selected of it.
        entries: Of the user's own ledger.
        shipped: In place of those that came with sfa.
        more_words: Added to every command: where the ledger and the data are.
    """

    def __init__(
        self,
        definition: Definition,
        selection: Selection = ALL,
        entries: Iterable[Entry] = (),
        shipped: Iterable[Entry] | None = None,
        more_words: Sequence[str] = (),
    ) -> None:
        selection.check(definition.number, definition.task, many_methods=definition.many_methods)
        self.definition, self.selection, self.more_words = definition, selection, more_words
        self.measurements = Measurements(entries, shipped_entries() if shipped is None else shipped)
        self.target = cache(partial(target_of, definition, selection=selection))
        self.find = cache(lambda point: self.measurements.find(self.target(point)))
        self.calls = partial(study_calls, definition, selection=selection)
        self.columns, self.rows = self._shown()

    def table(self) -> Table:
        """Return the table as it is now."""
        paper, missing = load(self.definition.number), self.missing()
        heads = dict(zip(column_keys(paper.number), paper.columns, strict=True))
        printed = {row.key: row for row in paper.rows}
        rows = [self._row(row, printed.get(row.key)) for row in self.rows]
        for place in range(1, len(rows)):  # a rule between the paper's lines and ours
            if rows[place].ours and not rows[place - 1].ours:
                rows[place] = replace(rows[place], rule_above=True)
        return replace(
            paper,
            columns=tuple(column.label or heads[column.key] for column in self.columns),
            rows=tuple(rows),
            notes=(*self._notes(), *self.definition.our_notes, *paper.notes, *_data_notes(missing)),
            command=self.selection.command(paper.number),
            commands=tuple(call.command(self.selection, self.more_words) for call in self.calls(missing)),
        )

    def plans(self, datasets: Mapping[str, Dataset], device: str = "auto") -> list[Plan]:
        """Return the runs that are missing on data sets, where a study would measure all of its variants."""
        found = []
        for call in self.calls(point for point in self.missing() if point.dataset in datasets):
            plan = make_plan(
                resolve("study", call.study),
                [datasets[name] for name in call.datasets],
                self.selection.seeds or (0,),
                methods=call.methods,
                recipe=call.recipe,
                changes=self.selection.changes,
                protocols=call.protocols,
                device=device,
            )
            wanted = {(datasets[point.dataset].name, point.line.variant) for point in call.points}
            jobs = (job for job in plan.jobs if wanted & {(cell.dataset.name, cell.variant.label) for cell in job})
            found.append(replace(plan, jobs=tuple(jobs)))
        return found

    def missing(self) -> list[Point]:
        """Return the cells shown of which not every run is there."""
        points = (point for row in self.rows for point in row.points if self.refusal(point) is None)
        return [point for point in points if not self.measurements.is_complete(self.target(point))]

    def refusal(self, point: Point) -> str | None:
        """Return why a cell cannot be measured; ``None`` if it can."""
        if point.line.only and point.dataset not in point.line.only:
            return "the paper gives none for this data set"
        tested = replace(point, metric=point.metric.removeprefix(VALIDATION))
        if tested != point and self.find(point) is None and self.find(tested) is not None:
            return "runs of older versions have test values alone"
        return None

    def _shown(self) -> tuple[list[Header], list[Header]]:
        """Return columns and rows, optional lines only where something was measured, data sets where half was."""
        definition, methods = self.definition, self.selection.methods
        lines = definition.lines
        if definition.many_methods and methods:  # baselines come with the task's first method
            first = DEFAULTS[definition.task]
            lines = {key: line for key, line in lines.items() if (line.method or first) in methods}
        sets = self.selection.datasets or (*definition.datasets, *definition.more_datasets)
        columns, every = definition.grid(tuple(dict.fromkeys(sets)), lines)
        rows = [row for row in every if self._is_wanted(row.optional, row.points)]
        kept = [
            place
            for place, column in enumerate(columns)
            if self._is_wanted(column.optional, [row.points[place] for row in rows])
        ]
        shown = [replace(row, points=tuple(row.points[place] for place in kept)) for row in rows]
        return [columns[place] for place in kept], shown

    def _is_wanted(self, optional: bool, points: Sequence[Point]) -> bool:
        datasets, methods = {point.dataset for point in points}, {point.line.method for point in points}
        named = (len(datasets) == 1 and datasets <= set(self.selection.datasets)) or (
            len(methods) == 1 and self.definition.many_methods and methods <= set(self.selection.methods)
        )
        if not optional or named:
            return True
        known = (point for point in points if point.dataset in self.measurements.datasets)
        there = sum(self.refusal(point) is None and self.find(point) is not None for point in known)
        # Some cells of every data set are filled by other tables: they alone do not make a column.
        return 2 * there >= len(points) if len(datasets) == 1 else there > 0

    def _row(self, row: Header, printed: Row | None) -> Row:
        keys = column_keys(self.definition.number)
        values = dict(zip(keys, printed.cells, strict=True)) if printed else {}
        cells = (
            self._cell(point, values.get(column.key, Cell()))
            for point, column in zip(row.points, self.columns, strict=True)
        )
        shown = printed or Row(row.label or row.key, ours=True)
        return replace(shown, label=row.label or shown.label, cells=tuple(cells))

    def _cell(self, point: Point, printed: Cell) -> Cell:
        refusal = self.refusal(point)
        if refusal is not None:
            return replace(printed, missing=refusal)
        target, found = self.target(point), self.find(point)
        failure = None if found is not None else self.measurements.failure(target)
        again = self.selection
        if found is not None and target.protocol != RUN_TIME:  # as it was measured, its budget and seeds included
            changes = {**again.changes, **found.budget.changes(target.own_budget)}
            again = replace(again, changes=changes, seeds=found.seeds)
        more = (*(("--retry-failed",) if failure else ()), *self.more_words)
        return replace(
            printed,
            measured=None if found is None else self._measured(found, target),
            command=self.calls([point])[0].command(again, more),
            failure=failure,
        )

    def _measured(self, found: Match, target: Target) -> Measured:
        summary, timed = found.summary, target.protocol == RUN_TIME
        assert summary.mean is not None
        difference = None if timed else summary.difference
        return Measured(
            mean=summary.mean,
            std=summary.std,
            seeds=found.seeds,
            splits=len(found.scores[found.seeds[0]].of(target.metric)),
            protocol=f"{target.protocol}, {found.budget.machine}" if timed else target.protocol,
            metric=target.metric,
            budget=found.words,
            mine=found.mine,
            text=_time(summary) if timed else None,
            difference=Interval(difference.mean, difference.low, difference.high) if difference else None,
            difference_from=self._title(target.variant.baseline) if difference and target.variant.baseline else None,
        )

    def _title(self, variant: str) -> str:
        """Return what the table calls a variant of the study."""
        printed = {row.key: row.label for row in load(self.definition.number).rows}
        titles = (
            line.label or printed.get(key) or variant
            for key, line in self.definition.lines.items()
            if line.variant == variant and line.recipe is None
        )
        return next(titles, variant)

    def _notes(self) -> Iterator[str]:
        """Tell of the protocol, and of what was selected that makes it another table than the paper's."""
        if self.definition.protocol != RUN_TIME:
            protocol = resolve("protocol", self.definition.protocol)
            repeats = "runs" if isinstance(protocol, Clustering) else "splits"
            yield f"Measured under {protocol.name}: {protocol.description}."
            yield (
                f"± of ours is the deviation over training seeds of the means over {repeats}; with one seed, over its "
                f"{repeats}. Differences are paired over the same, with their 95 % intervals."
            )
        if self.selection.settings:
            changed = ", ".join(f"{path} = {value}" for path, value in self.selection.settings.items())
            yield f"In every recipe: {changed}."
        if not self.definition.many_methods and self.selection.methods:
            own, usual = self.selection.methods[0], DEFAULTS[self.definition.task]
            yield f"Of {method_title(own)}, in place of {method_title(usual)}."


def _time(summary: Summary) -> str:
    """Return seconds, and their ratio to those of the baseline."""
    return f"{summary.mean:.3g} s" + ("" if summary.difference is None else f", {ratio(summary.difference)}")


def ratio(relative: Difference) -> str:
    """Return a relative change in per cent as a factor with its interval."""
    mean, low, high = (1 + change / 100 for change in (relative.mean, relative.low, relative.high))
    return f"× {mean:.3f} [{low:.3f}, {high:.3f}]"


def _data_notes(missing: Iterable[Point]) -> Iterator[str]:
    """Tell where data sets come from on which something is missing, if it is from elsewhere."""
    wanted = {point.dataset for point in missing}
    elsewhere = [one for one in names() if one.name in wanted and not one.bundled and one.loader is None]
    downloaded = [one.name for one in elsewhere if one.downloaded]
    given = [one.name for one in elsewhere if not one.downloaded]
    if downloaded:
        yield f"Downloaded on first use, if not under --data-root: {', '.join(downloaded)}."
    if given:
        yield f"Never downloaded, to be given under --data-root: {', '.join(given)}."
