"""The paper's 17 tables, one YAML file each: what it prints, and which variants of which study are measured for it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import yaml

from sfa.errors import InputError
from sfa.paper.tables.model import Cell, Row, Table
from sfa.registry import resolve

if TYPE_CHECKING:
    from sfa.tasks import Task

NUMBERS = range(1, 18)
"""Of the paper's tables, in the order of their captions."""
VALIDATION = "validation "
"""How metrics begin that are of the validation parts."""


@cache
def _read(name: str) -> dict[str, Any]:
    """Return the file of ours whose name begins so."""
    file = next(file for file in files("sfa.paper").joinpath("published").iterdir() if file.name.startswith(name))
    content: dict[str, Any] = yaml.load(file.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)
    return content


def read(number: int) -> dict[str, Any]:
    """Return the file of a table."""
    if number not in NUMBERS:
        raise InputError(f"The paper has no table {number}: they are numbered {NUMBERS[0]} to {NUMBERS[-1]}.")
    return _read(f"{number:02d}_")


def dataset_title(name: str) -> str:
    """Return a data set as tables call it."""
    return str(_read("titles")["datasets"].get(name, name))


def method_title(name: str) -> str:
    """Return a method as tables call it."""
    return str(_read("titles")["methods"].get(name) or resolve("method", name).__name__)


def titles() -> dict[int, str]:
    """Return what each table of the paper is about, by its number."""
    return {number: read(number)["title"] for number in NUMBERS}


def filled_by(number: int) -> str:
    """Return what fills a table, in a few words."""
    content = read(number)
    return f"sfa study {content['study']}" if "study" in content else str(content["filled_by"])


def column_keys(number: int) -> list[str]:
    """Return the keys of the paper's columns; the name of the data set, where a column is of one."""
    return [column["key"] for column in read(number)["columns"]]


@cache
def load(number: int) -> Table:
    """Return a table as the paper prints it, but for slips of typing, which are among its notes.

    Shades of lines and bold type are kept. The blue of some values is not: what it marks differs from table to table.
    """
    content, keys = read(number), column_keys(number)
    spelt = [
        f"{entry['label']} as {entry['printed']!r}"
        for entry in (*content["columns"], *content["rows"])
        if any(letter.isalpha() for letter in entry.get("printed", ""))  # ticks are no slip
    ]
    rows = []
    for row in content["rows"]:
        best, notes = row.get("best", ()), row.get("notes", {})
        cells = (
            Cell() if text is None else Cell(text, best=column in best, note=notes.get(column))
            for column, text in zip(keys, row["cells"], strict=True)
        )
        flags = {flag: row.get(flag, False) for flag in ("highlighted", "rule_above")}
        rows.append(Row(row["label"], cells=tuple(cells), key=row["key"], **flags))
    return Table(
        number,
        content["title"],
        content["caption"],
        tuple(column["label"] for column in content["columns"]),
        tuple(rows),
        content["row_header"],
        (*content.get("notes", ()), *([f"The paper spells {', '.join(spelt)}."] if spelt else ())),
    )


@dataclass(frozen=True)
class Line:
    """A variant of a study as a line, or column, of a table."""

    variant: str
    """What the study calls it."""
    label: str | None = None
    """What the table calls it; ``None``: as the paper does."""
    method: str | None = None
    """The one that the study is asked for; the first of the task if ``None``."""
    recipe: str | None = None
    """A recipe that it starts from in place of the method's own."""
    only: tuple[str, ...] = ()
    """The data sets that it is for; all, if there are none here."""
    optional: bool = False
    """Shown only where something was measured of it, or where it is asked for."""


@dataclass(frozen=True)
class Point:
    """What one cell of a table shows: a line on a data set, by a metric."""

    line: Line
    dataset: str
    metric: str


@dataclass(frozen=True)
class Header:
    """A row or column of a table: the key of the paper's values of it, and what its cells show."""

    key: str
    label: str | None
    """``None``: as the paper has it."""
    optional: bool = False
    points: tuple[Point, ...] = ()


Grid = tuple[list[Header], list[Header]]
"""Columns and rows of a table before anything is known of their values; the points are those of the rows."""


@dataclass(frozen=True)
class Definition:
    """A table whose cells are measured by a study."""

    number: int
    study: str
    protocol: str
    layout: str
    """What rows and columns are: ``variants by data sets``, ``data sets by variants`` or ``data sets by noise``."""
    datasets: Sequence[str]
    """The paper's, in its order."""
    lines: Mapping[str, Line]
    """By the paper's keys, then ours."""
    more_datasets: Sequence[str] = ()
    """Ours, shown where something was measured on them."""
    metrics: Mapping[str, str] = field(default_factory=lambda: {"": "accuracy"})
    """What the columns of a data set are called, if it has several, and what a protocol calls it."""
    our_notes: Sequence[str] = ()

    @property
    def task(self) -> Task:
        """What its data sets are of."""
        task: Task = resolve("dataset", self.datasets[0]).task
        return task

    @property
    def many_methods(self) -> bool:
        """Whether its lines are methods."""
        return any(line.method for line in self.lines.values())

    def grid(self, datasets: Sequence[str], lines: Mapping[str, Line]) -> Grid:
        """Return columns and rows for data sets and lines."""
        if self.layout == "variants by data sets":
            places = [(dataset, metric) for dataset in datasets for metric in self.metrics]
            return [self._column(*place) for place in places], [
                Header(key, line.label, line.optional, self._points((line, *place) for place in places))
                for key, line in lines.items()
            ]
        by_noise = self.layout == "data sets by noise"  # the keys of lines with SFA end in -sfa
        kinds = (("", " w/o SFA"), ("-sfa", " with SFA")) if by_noise else (("", ""),)
        columns = [key for key in lines if not by_noise or not key.endswith("-sfa")]
        return [Header(key, lines[key].label, lines[key].optional) for key in columns], [
            Header(
                f"{dataset}{suffix}",
                None if dataset in self.datasets else f"{dataset_title(dataset)}{words}",
                dataset not in self.datasets,
                self._points((lines[f"{key}{suffix}"], dataset, next(iter(self.metrics))) for key in columns),
            )
            for dataset in datasets
            for suffix, words in kinds
        ]

    def _points(self, places: Iterable[tuple[Line, str, str]]) -> tuple[Point, ...]:
        return tuple(Point(line, dataset, self.metrics[metric]) for line, dataset, metric in places)

    def _column(self, dataset: str, metric: str) -> Header:
        own = dataset in self.datasets
        if own and len(self.datasets) == 1 and metric:
            return Header(metric, None)
        label = f"{dataset_title(dataset)} {metric.upper() if len(metric) == 3 else metric}".strip()
        return Header(f"{dataset}/{metric}" if metric else dataset, None if own else label, optional=not own)


@cache
def definition_of(number: int) -> Definition | None:
    """Return what is measured for a table; ``None`` if nothing is."""
    content = read(number)
    if "study" not in content:
        return None
    task = resolve("dataset", content["datasets"][0]).task
    lines = dict(_lines(content["lines"], task))
    return Definition(
        **{one.name: content[one.name] for one in fields(Definition) if one.name in content} | {"lines": lines}
    )


def _lines(given: Mapping[str, Mapping[str, Any]], task: Task) -> Iterator[tuple[str, Line]]:
    """Return lines by key. One with no variant is of a method; ``other methods`` are those not named before it."""
    from sfa.methods import available_methods

    there = set()
    for key, options in given.items():
        if key == "other methods":
            for name in available_methods(task):
                for variant, label in ((name, method_title(name)), (f"{name} + SFA", f"{method_title(name)} + SFA")):
                    if variant not in there:
                        yield variant, Line(variant, label, name, **options)
            continue
        line = {**({} if "variant" in options else {"method": key}), **options, "only": tuple(options.get("only", ()))}
        suffix = " + SFA" if line.pop("sfa", False) else ""
        line.setdefault("variant", f"{line.get('method')}{suffix}")
        there.add(line["variant"])
        yield key, Line(**line)
