"""Embeddings as comma-separated values, for spreadsheets and for Neo4j's import."""

from __future__ import annotations

import csv
from pathlib import Path

from sfa.export.table import Table

DELIMITER = ";"
"""Between the numbers of a list: the array delimiter that `neo4j-admin database import` expects."""


def write_csv(path: Path, table: Table) -> None:
    """A header and a row an item; in layout ``list`` the header names types as Neo4j reads them."""
    as_list = table.layout == "list"
    names = [f"{table.id_name}:ID", "embedding:float[]"] if as_list else [table.id_name, *table.feature_names]
    others = zip(*table.columns.values(), strict=True) if table.columns else ((),) * len(table.z)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow([*names, *table.columns])
        for one, row, more in zip(table.ids, table.z, others, strict=True):
            numbers = row.tolist()
            writer.writerow([one, *([DELIMITER.join(map(str, numbers))] if as_list else numbers), *more])
