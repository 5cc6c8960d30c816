"""Tables as CSV, read back."""

from __future__ import annotations

import csv
import io

import pytest
from hypothesis import given, settings

from sfa.paper.tables.formats import CSV_COLUMNS, render
from sfa.paper.tables.model import Cell, Interval, Measured, Row, Table
from tests.paper.tables.random_tables import HOSTILE, small_table, tables, value


def read(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def number(text: str) -> float | None:
    return float(text) if text else None


def cell_of(line: dict[str, str]) -> Cell:
    """The cell that a line tells of."""
    told = {name: line[name] or None for name in ("published", "command", "note", "missing", "failure")}
    measured = None
    if line["source"]:
        mean, low, high = (number(line[name]) for name in ("difference", "low", "high"))
        difference = None if mean is None or low is None or high is None else Interval(mean, low, high)
        measured = Measured(
            mean=float(line["measured_mean"]),
            std=number(line["measured_std"]),
            seeds=tuple(map(int, line["seeds"].split())),
            splits=int(line["splits"]),
            protocol=line["protocol"],
            metric=line["metric"],
            budget=line["budget"] or None,
            mine={"ledger": True, "sfa": False}[line["source"]],
            text=line["measured_text"] or None,
            difference=difference,
            difference_from=line["difference_from"] or None,
        )
    return Cell(best=line["best"] == "yes", measured=measured, **told)


@pytest.mark.slow
@settings(max_examples=40)
@given(tables())
def test_every_cell_comes_back(table: Table) -> None:
    lines = read(render(table, "csv"))
    cells = [cell for row in table.rows for cell in row.cells]
    places = [(str(table.number), row.label, column) for row in table.rows for column in table.columns]
    assert [(line["table"], line["row"], line["column"]) for line in lines] == places
    assert [cell_of(line) for line in lines] == cells


def test_columns_are_these() -> None:
    header = render(small_table(), "csv").splitlines()[0]
    assert header.startswith(
        "table,row,column,published,measured_mean,measured_std,seeds,splits,protocol,metric,budget,difference,low,high,"
        "source,command,note,"
    )
    assert header.split(",") == CSV_COLUMNS.split()


def test_a_word_has_no_mean() -> None:
    measured = value(float("nan"), std=None, text="ReLU")
    (line,) = read(render(small_table(Row(HOSTILE, cells=(Cell(measured=measured),))), "csv"))
    assert (line["row"], line["measured_mean"], line["measured_text"]) == (HOSTILE, "", "ReLU")
