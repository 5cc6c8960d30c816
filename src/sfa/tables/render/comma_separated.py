"""A table as CSV, a line for each cell."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator
from typing import Any

from sfa.tables.model import Cell, Measured, Table

COLUMNS = (
    "table",
    "row",
    "column",
    "published",
    "measured_mean",
    "measured_std",
    "seeds",
    "splits",
    "protocol",
    "metric",
    "budget",
    "difference",
    "low",
    "high",
    "source",
    "command",
    "note",
    "best",
    "measured_text",
    "difference_from",
    "missing",
    "failure",
)


def to_csv(table: Table) -> str:
    """In long form, with all digits; what a cell does not have is empty.

    ``source`` is ``ledger`` for what the user measured and ``sfa`` for what came with it; ``seeds`` are separated by
    spaces; ``measured_text`` is given where a value is not a mean.
    """
    file = io.StringIO()
    writer = csv.DictWriter(file, COLUMNS, lineterminator="\n", restval="")
    writer.writeheader()
    writer.writerows(_lines(table))
    return file.getvalue()


def _lines(table: Table) -> Iterator[dict[str, Any]]:
    for row in table.rows:
        for column, cell in zip(table.columns, row.cells, strict=True):
            place = {"table": table.number, "row": row.label, "column": column}
            yield {**place, **_of_cell(cell), **(_of_measured(cell.measured) if cell.measured else {})}


def _of_cell(cell: Cell) -> dict[str, Any]:
    return {
        "published": cell.published,
        "command": cell.command,
        "note": cell.note,
        "best": "yes" if cell.best else "",
        "missing": cell.missing,
        "failure": cell.failure,
    }


def _of_measured(measured: Measured) -> dict[str, Any]:
    difference = measured.difference
    return {
        "measured_mean": repr(measured.mean) if math.isfinite(measured.mean) else "",
        "measured_std": "" if measured.std is None else repr(measured.std),
        "seeds": " ".join(map(str, measured.seeds)),
        "splits": measured.splits,
        "protocol": measured.protocol,
        "metric": measured.metric,
        "budget": measured.budget,
        "difference": repr(difference.mean) if difference else "",
        "low": repr(difference.low) if difference else "",
        "high": repr(difference.high) if difference else "",
        "source": "ledger" if measured.mine else "sfa",
        "measured_text": measured.text,
        "difference_from": measured.difference_from,
    }
