"""The paper's 17 tables, one YAML file each: the published values, and the variants of a study that are measured."""

from __future__ import annotations

import gzip
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cache
from importlib.resources import files
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

import yaml
from pydantic import TypeAdapter

from sfa.errors import InputError
from sfa.paper.tables.model import Cell, Row, Table
from sfa.registry import entry_points, resolve

if TYPE_CHECKING:
    from sfa.tasks import Task

NUMBERS = range(1, 18)
VALIDATION = "validation "  # prefix of metrics on the validation parts
SHIPPED = files("sfa.paper").joinpath("measured/tables.json.gz")  # `python -m sfa.paper.tables.make` makes it
TABLES = TypeAdapter(dict[int, Table])


@cache
def shipped_tables() -> dict[int, Table]:
    """Return the tables of the shipped runs, for which no heavy library is imported.

    They are made now if installed packages have methods or data for them.
    """
    if entry_points(group="sfa.method") or entry_points(group="sfa.dataset"):
        from sfa.paper.tables.make import make_tables

        return make_tables()
    return TABLES.validate_json(gzip.decompress(SHIPPED.read_bytes()))


@cache
def _read(prefix: str) -> dict[str, Any]:
    file = next(file for file in files("sfa.paper").joinpath("published").iterdir() if file.name.startswith(prefix))
    content: dict[str, Any] = yaml.load(file.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)
    return content


def read(number: int) -> dict[str, Any]:
    """Return the file of a table."""
    if number not in NUMBERS:
        raise InputError(f"The paper has no table {number}: they are numbered {NUMBERS[0]} to {NUMBERS[-1]}.")
    return _read(f"{number:02d}_")


def dataset_title(name: str) -> str:
    """Return the name of a data set in tables."""
    return str(_read("titles")["datasets"].get(name, name))


def method_title(name: str) -> str:
    """Return the name of a method in tables."""
    return str(_read("titles")["methods"].get(name) or resolve("method", name).__name__)


def column_keys(number: int) -> list[str]:
    """Return the keys of the paper's columns; the name of the data set, where a column is of one."""
    return [column["key"] for column in read(number)["columns"]]


@cache
def load(number: int) -> Table:
    """Return a table as the paper prints it; corrected misspellings are among its notes."""
    content, keys, rows = read(number), column_keys(number), []
    misspelled = ", ".join(
        f"{entry['label']} as {entry['printed']!r}"
        for entry in (*content["columns"], *content["rows"])
        if any(letter.isalpha() for letter in entry.get("printed", ""))
    )
    for row in content["rows"]:
        best, notes = row.get("best", ()), row.get("notes", {})
        places = zip(keys, row["cells"], strict=True)
        cells = tuple(Cell(text, best=column in best, note=notes.get(column)) for column, text in places)
        flags = {flag: row.get(flag, False) for flag in ("highlighted", "rule_above")}
        rows.append(Row(row["label"], cells=cells, key=row["key"], **flags))
    columns = tuple(column["label"] for column in content["columns"])
    notes = (*content.get("notes", ()), *([f"The paper spells {misspelled}."] if misspelled else ()))
    return Table(number, content["title"], content["caption"], columns, tuple(rows), content["row_header"], notes)


class Line(NamedTuple):
    """A variant of a study as a row or column of a table; the paper's label if it has none of its own."""

    variant: str
    label: str | None = None
    method: str | None = None
    recipe: str | None = None
    only: tuple[str, ...] = ()  # its data sets, if not all
    optional: bool = False  # shown only where it was measured or is asked for


class Point(NamedTuple):
    """The value of a cell: a line on a data set, by a metric."""

    line: Line
    dataset: str
    metric: str


class Header(NamedTuple):
    """A row or column: the key of the paper's values, and a label if it is not the paper's."""

    key: str
    label: str | None
    optional: bool = False


@dataclass(frozen=True)
class Definition:
    """A table whose cells are measured by a study."""

    number: int
    study: str
    protocol: str
    layout: str  # ``variants by data sets``, ``data sets by variants`` or ``data sets by noise``
    datasets: Sequence[str]
    lines: Mapping[str, Line]
    more_datasets: Sequence[str] = ()  # shown where something was measured on them
    metrics: Mapping[str, str] = field(default_factory=lambda: {"": "accuracy"})
    our_notes: Sequence[str] = ()

    @property
    def task(self) -> Task:
        task: Task = resolve("dataset", self.datasets[0]).task
        return task

    @property
    def many_methods(self) -> bool:
        return any(line.method for line in self.lines.values())

    def grid(self, datasets: Sequence[str], lines: Mapping[str, Line]) -> dict[Header, dict[Header, Point]]:
        """Return the points of data sets and lines, by row and column."""
        rows: dict[Header, dict[Header, Point]] = {}
        for dataset, (key, line), (name, metric) in product(datasets, lines.items(), self.metrics.items()):
            row, column = self._place(dataset, key, line, name)
            rows.setdefault(row, {})[column] = Point(line, dataset, metric)
        return rows

    def _place(self, dataset: str, key: str, line: Line, metric: str) -> tuple[Header, Header]:
        own = dataset in self.datasets
        if self.layout == "variants by data sets":
            label = f"{dataset_title(dataset)} {metric.upper() if len(metric) == 3 else metric}".strip()
            column = Header(f"{dataset}/{metric}" if metric else dataset, None if own else label, not own)
            if own and metric and len(self.datasets) == 1:
                column = Header(metric, None)
            return Header(key, line.label, line.optional), column
        suffix = words = ""
        if self.layout == "data sets by noise":  # the keys of lines with SFA end in -sfa
            suffix, words = ("-sfa", " with SFA") if key.endswith("-sfa") else ("", " w/o SFA")
        row = Header(f"{dataset}{suffix}", None if own else f"{dataset_title(dataset)}{words}", not own)
        return row, Header(key.removesuffix(suffix), line.label, line.optional)


@cache
def definition_of(number: int) -> Definition | None:
    """Return the definition of a measured table; ``None`` for one that is counted or read."""
    content = read(number)
    if "study" not in content:
        return None
    lines = dict(_lines(content["lines"], resolve("dataset", content["datasets"][0]).task))
    return Definition(
        **{one.name: content[one.name] for one in fields(Definition) if one.name in content} | {"lines": lines}
    )


def _lines(given: Mapping[str, Mapping[str, Any]], task: Task) -> Iterator[tuple[str, Line]]:
    """Yield lines by key. One without a variant is a method; ``other methods`` are those not named before it."""
    from sfa.methods import available_methods

    known = set()
    for key, options in given.items():
        if key == "other methods":
            for (name, method), suffix in product(available_methods(task).items(), ("", " + SFA")):
                if f"{name}{suffix}" not in known and (method.learns or not suffix):
                    more = options if method.published else {**options, "optional": True}
                    yield f"{name}{suffix}", Line(f"{name}{suffix}", method_title(name) + suffix, name, **more)
            continue
        line = {**({} if "variant" in options else {"method": key}), **options, "only": tuple(options.get("only", ()))}
        suffix = " + SFA" if line.pop("sfa", False) else ""
        line.setdefault("variant", f"{line.get('method')}{suffix}")
        known.add(line["variant"])
        yield key, Line(**line)
