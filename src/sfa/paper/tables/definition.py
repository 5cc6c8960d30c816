"""The paper's 17 tables, one YAML file each: what it prints, and which variants of which study are measured for it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import yaml

from sfa.errors import InputError
from sfa.paper.tables.model import Cell, Row, Table
from sfa.registry import resolve

if TYPE_CHECKING:
    from sfa.levels import Level

NUMBERS = range(1, 18)
"""Of the paper's tables, in the order of their captions."""
VALIDATION = "validation "
"""How metrics begin that are of the validation parts."""

DATASET_TITLES = {
    "wikics": "WikiCS",
    "computers": "Am-Comput.",
    "photo": "Am-Photo",
    "cora": "Cora",
    "citeseer": "CiteSeer",
    "pubmed": "PubMed",
    "nci1": "NCI1",
    "proteins": "PROTEINS",
    "dd": "DD",
    "mutag": "MUTAG",
    "digits": "Digits",
    "cifar10": "CIFAR10",
    "cifar100": "CIFAR100",
    "cifar10-subset": "CIFAR10, subset",
    "cifar100-subset": "CIFAR100, subset",
}
"""Data sets as tables call them; others are called as on the command line."""
METHOD_TITLES = {
    "g-bt": "G-BT",
    "cca-ssg": "CCA-SSG",
    "node2vec": "node2vec",
    "joao-v2": "JOAOv2",
    "lp-info": "LP-Info",
    "graph-bt": "Graph-BT",
    "graph-bgrl": "Graph-BGRL",
    "barlow-twins": "Barlow Twins",
}
"""Methods as tables call them, where that is not the name of the class."""


def dataset_title(name: str) -> str:
    """Return a data set as tables call it."""
    return DATASET_TITLES.get(name, name)


def method_title(name: str) -> str:
    """Return a method as tables call it."""
    return METHOD_TITLES.get(name) or str(resolve("method", name).__name__)


@cache
def read(number: int) -> dict[str, Any]:
    """Return the file of a table."""
    if number not in NUMBERS:
        raise InputError(f"The paper has no table {number}: they are numbered {NUMBERS[0]} to {NUMBERS[-1]}.")
    folder = files("sfa.paper").joinpath("published")
    file = next(entry for entry in folder.iterdir() if entry.name.startswith(f"{number:02d}_"))
    content: dict[str, Any] = yaml.load(file.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)
    return content


@cache
def load(number: int) -> Table:
    """Return a table as the paper prints it, but for slips of typing, which are among its notes.

    Shades of lines and bold type are kept. The blue of some values is not: what it marks differs from table to table.
    """
    content = read(number)
    columns, rows = content["columns"], content["rows"]
    spelt = [
        f"{entry['label']} as {entry['printed']!r}"
        for entry in (*columns, *rows)
        if any(letter.isalpha() for letter in entry.get("printed", ""))  # ticks are no slip
    ]
    return Table(
        number,
        content["title"],
        content["caption"],
        tuple(column["label"] for column in columns),
        tuple(_published_row(row, [column["key"] for column in columns]) for row in rows),
        content["row_header"],
        (*content.get("notes", ()), *([f"The paper spells {', '.join(spelt)}."] if spelt else ())),
    )


def _published_row(row: Mapping[str, Any], columns: Sequence[str]) -> Row:
    best, notes = row.get("best", ()), row.get("notes", {})
    cells = (
        Cell() if text is None else Cell(text, best=column in best, note=notes.get(column))
        for column, text in zip(columns, row["cells"], strict=True)
    )
    flags = {flag: row.get(flag, False) for flag in ("highlighted", "rule_above")}
    return Row(row["label"], cells=tuple(cells), key=row["key"], **flags)


def column_keys(number: int) -> list[str]:
    """Return the keys of the paper's columns; the name of the data set, where a column is of one."""
    return [column["key"] for column in read(number)["columns"]]


def titles() -> dict[int, str]:
    """Return what each table of the paper is about, by its number."""
    return {number: load(number).title for number in NUMBERS}


def filled_by(number: int) -> str:
    """Return what fills a table, in a few words."""
    content = read(number)
    return f"sfa study {content['study']}" if "study" in content else str(content["filled_by"])


@dataclass(frozen=True)
class Line:
    """A variant of a study as a line, or column, of a table."""

    variant: str
    """What the study calls it."""
    label: str | None = None
    """What the table calls it; ``None``: as the paper does."""
    method: str | None = None
    """The one that the study is asked for; the first of the level if ``None``."""
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
    datasets: tuple[str, ...]
    """The paper's, in its order."""
    more_datasets: tuple[str, ...]
    """Ours, shown where something was measured on them."""
    metrics: Mapping[str, str]
    """What the columns of a data set are called, if it has several, and what a protocol calls it."""
    lines: Mapping[str, Line]
    """By the paper's keys, then ours."""
    notes: tuple[str, ...]

    @property
    def level(self) -> Level:
        """What its data sets are of."""
        level: Level = resolve("dataset", self.datasets[0]).level
        return level

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
    bare = Definition(
        number,
        content["study"],
        content["protocol"],
        content["layout"],
        tuple(content["datasets"]),
        tuple(content.get("more_datasets", ())),
        content.get("metrics", {"": "accuracy"}),
        {},
        tuple(content.get("our_notes", ())),
    )
    return replace(bare, lines=dict(_lines(content["lines"], bare)))


def _lines(given: Mapping[str, Mapping[str, Any]], definition: Definition) -> Iterator[tuple[str, Line]]:
    """Return lines by key. One with no variant is of a method; ``other methods`` are those not named before it."""
    from sfa.methods import available_methods

    there = set()
    for key, options in given.items():
        if key == "other methods":
            for name in available_methods(definition.level):
                for suffix in ("", " + SFA"):
                    if f"{name}{suffix}" not in there:
                        label = f"{method_title(name)}{suffix}"
                        yield f"{name}{suffix}", Line(f"{name}{suffix}", label, name, **options)
            continue
        options = {**options, "only": tuple(options.get("only", ()))}
        with_sfa = options.pop("sfa", False)
        if "variant" not in options:
            options = {"method": key, **options}
            options["variant"] = options["method"] + (" + SFA" if with_sfa else "")
        there.add(options["variant"])
        yield key, Line(**options)
