"""A table of measurements put together: the paper's values, ours, and the commands that fill what is missing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from sfa.data import names
from sfa.evaluate import Clustering, Difference
from sfa.methods import DEFAULTS
from sfa.registry import resolve
from sfa.studies import RUN_TIME
from sfa.studies.summary import Summary
from sfa.tables import published
from sfa.tables.ask import Ask
from sfa.tables.commands import Order, order_of, orders, table_command
from sfa.tables.definition import Band, Definition, Grid, Line, Point, method_title
from sfa.tables.matching import Found, Measurements, Wanted
from sfa.tables.model import Cell, Measured, Row, Table
from sfa.tables.wanting import Wants


@dataclass(frozen=True)
class Maker:
    """Puts a table of measurements together.

    Args:
        definition: Which.
        ask: How it is asked for.
        measurements: What there is.
        more_words: Added to every command: where the ledger and the data are.
    """

    definition: Definition
    ask: Ask
    measurements: Measurements
    more_words: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        self.ask.check(self.definition.number, self.definition.level, many_methods=self.definition.many_methods)

    def table(self) -> Table:
        """The table as it is now."""
        wants = Wants(self.definition, self.ask)
        paper = published.load(self.definition.number)
        grid = self._shown(self._grid(), wants)
        printed = {row.key: row for row in paper.rows}
        heads = dict(zip(paper.column_keys, paper.columns, strict=True))
        rows = [
            self._row(band, printed.get(band.key), [column.key for column in grid.columns], wants) for band in grid.rows
        ]
        missing = self._missing(grid, wants)
        return Table(
            number=paper.number,
            title=paper.title,
            caption=paper.caption,
            columns=tuple(column.label or heads[column.key] for column in grid.columns),
            rows=tuple(_with_rule(rows)),
            row_header=paper.row_header,
            notes=(
                *self._protocol_notes(),
                *self._setting_notes(),
                *self.definition.notes,
                *paper.notes,
                *_data_notes(missing),
            ),
            command=table_command(paper.number, self.ask),
            commands=tuple(
                order.command(self.ask, self.more_words) for order in orders(self.definition, missing, self.ask)
            ),
        )

    def missing(self) -> list[Order]:
        """The calls of studies that measure what is missing of the cells shown."""
        wants = Wants(self.definition, self.ask)
        points = self._missing(self._shown(self._grid(), wants), wants)
        return orders(self.definition, points, self.ask)

    def _grid(self) -> Grid:
        sets = (*self.definition.datasets, *self.definition.more_datasets)
        return self.definition.layout(self.definition, tuple(dict.fromkeys(self.ask.datasets or sets)), self._lines())

    def _lines(self) -> Mapping[str, Line]:
        """All, or of the methods asked for; yardsticks come with the level's first method."""
        lines, asked = self.definition.lines, self.ask.methods
        if not self.definition.many_methods or not asked:
            return lines
        first = DEFAULTS[self.definition.level]
        return {key: line for key, line in lines.items() if (line.method or first) in asked}

    def _shown(self, grid: Grid, wants: Wants) -> Grid:
        """A grid without the optional lines of which nothing was measured, nor data sets of which less than half."""
        rows = [band for band in grid.rows if self._is_wanted(band.optional, band.points, wants)]
        columns = [
            number
            for number, column in enumerate(grid.columns)
            if self._is_wanted(column.optional, [band.points[number] for band in rows], wants)
        ]
        return Grid(
            tuple(grid.columns[number] for number in columns),
            tuple(replace(band, points=tuple(band.points[number] for number in columns)) for band in rows),
        )

    def _is_wanted(self, optional: bool, points: Sequence[Point], wants: Wants) -> bool:
        if not optional or self._is_asked(points):
            return True
        there = sum(self._is_there(point, wants) for point in points)
        of_one_set = len({point.dataset for point in points}) == 1
        # Some cells of every data set are filled by other tables: they alone do not make a column.
        return 2 * there >= len(points) if of_one_set else there > 0

    def _is_asked(self, points: Sequence[Point]) -> bool:
        """Whether a line or data set is named in what is asked for."""
        by_data = {point.dataset for point in points}
        by_method = {point.line.method for point in points}
        return (len(by_data) == 1 and by_data <= set(self.ask.datasets)) or (
            len(by_method) == 1 and self.definition.many_methods and by_method <= set(self.ask.methods)
        )

    def _is_there(self, point: Point, wants: Wants) -> bool:
        return (
            point.dataset in self.measurements.datasets
            and wants.refusal(point) is None
            and self.measurements.find(wants.wanted(point)) is not None
        )

    def _missing(self, grid: Grid, wants: Wants) -> list[Point]:
        return [
            point
            for band in grid.rows
            for point in band.points
            if wants.refusal(point) is None and not self.measurements.is_complete(wants.wanted(point))
        ]

    def _row(self, band: Band, printed: published.PublishedRow | None, columns: Sequence[str], wants: Wants) -> Row:
        paper = published.load(self.definition.number)
        values = dict(zip(paper.column_keys, printed.cells, strict=True)) if printed else {}
        return Row(
            label=band.label or (printed.label if printed else band.key),
            ours=printed is None,
            highlighted=printed is not None and printed.highlighted,
            rule_above=printed is not None and printed.rule_above,
            cells=tuple(
                self._cell(point, values.get(column), wants) for point, column in zip(band.points, columns, strict=True)
            ),
        )

    def _cell(self, point: Point, printed: published.PublishedCell | None, wants: Wants) -> Cell:
        cell = Cell() if printed is None else Cell(printed.text, printed.best, note=printed.note)
        refusal = wants.refusal(point)
        if refusal is not None:
            return replace(cell, missing=refusal)
        wanted = wants.wanted(point)
        found = self.measurements.find(wanted)
        failure = None if found is not None else self.measurements.failure(wanted)
        again = ("--retry-failed",) if failure else ()
        return replace(
            cell,
            measured=None if found is None else self._measured(found, wanted),
            command=order_of(self.definition, point, self.ask).command(
                self._again(found, wanted), (*again, *self.more_words)
            ),
            failure=failure,
        )

    def _again(self, found: Found | None, wanted: Wanted) -> Ask:
        """What measures a cell as it was measured, its budget and seeds included; as asked for, if it was not."""
        if found is None or wanted.protocol == RUN_TIME:
            return self.ask
        changes = {**self.ask.changes, **found.pool.budget.changes(wanted.own_budget)}
        return replace(self.ask, changes=changes, seeds=found.pool.seeds)

    def _measured(self, found: Found, wanted: Wanted) -> Measured:
        pool, summary = found.pool, found.summary
        assert summary.mean is not None
        twin, timed = wanted.variant.baseline, wanted.protocol == RUN_TIME
        return Measured(
            mean=summary.mean,
            std=summary.std,
            seeds=pool.seeds,
            splits=len(pool.scores[pool.seeds[0]].of(wanted.metric)),
            protocol=f"{wanted.protocol}, {pool.budget.machine}" if timed else wanted.protocol,
            metric=wanted.metric,
            budget=found.budget,
            mine=found.mine,
            text=_time(summary) if timed else None,
            difference=None if timed else summary.difference,
            difference_from=None if timed or summary.difference is None or twin is None else self._title(twin),
        )

    def _title(self, variant: str) -> str:
        """What the table calls a variant of the study."""
        printed = {row.key: row.label for row in published.load(self.definition.number).rows}
        titles = (
            line.label or printed.get(key) or variant
            for key, line in self.definition.lines.items()
            if line.variant == variant and line.recipe is None
        )
        return next(titles, variant)

    def _setting_notes(self) -> Iterator[str]:
        """What was asked for that makes it another table than the paper's."""
        if self.ask.settings:
            changed = ", ".join(f"{path} = {value}" for path, value in self.ask.settings.items())
            yield f"In every recipe: {changed}."
        if not self.definition.many_methods and self.ask.methods:
            own, usual = self.ask.methods[0], DEFAULTS[self.definition.level]
            yield f"Of {method_title(own)}, in place of {method_title(usual)}."

    def _protocol_notes(self) -> Iterator[str]:
        if self.definition.protocol != RUN_TIME:
            protocol = resolve("protocol", self.definition.protocol)
            repeats = "runs" if isinstance(protocol, Clustering) else "splits"
            yield f"Measured under {protocol.name}: {protocol.description}."
            yield (
                f"± of ours is the deviation over training seeds of the means over {repeats}; with one seed, over its "
                f"{repeats}. Differences are paired over the same, with their 95 % intervals."
            )


def _with_rule(rows: Iterable[Row]) -> Iterator[Row]:
    """A rule between the paper's lines and ours."""
    before: Row | None = None
    for row in rows:
        first_of_ours = row.ours and before is not None and not before.ours
        yield replace(row, rule_above=True) if first_of_ours else row
        before = row


def _time(summary: Summary) -> str:
    """Seconds, and their ratio to those of the baseline."""
    assert summary.mean is not None
    return f"{summary.mean:.3g} s" + ("" if summary.difference is None else f", {ratio(summary.difference)}")


def ratio(relative: Difference) -> str:
    """A relative change in per cent as a factor with its interval."""
    mean, low, high = (1 + change / 100 for change in (relative.mean, relative.low, relative.high))
    return f"× {mean:.3f} [{low:.3f}, {high:.3f}]"


def _data_notes(missing: Iterable[Point]) -> Iterator[str]:
    """Where data sets come from on which something is missing, if it is from elsewhere."""
    wanted = {point.dataset for point in missing}
    elsewhere = [one for one in names() if one.name in wanted and not one.bundled and one.loader is None]
    downloaded = [one.name for one in elsewhere if one.downloaded]
    given = [one.name for one in elsewhere if not one.downloaded]
    if downloaded:
        yield f"Downloaded on first use, if not under --data-root: {', '.join(downloaded)}."
    if given:
        yield f"Never downloaded, to be given under --data-root: {', '.join(given)}."
