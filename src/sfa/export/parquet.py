"""Embeddings as a Parquet table, for pandas, Polars, DuckDB, Spark."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from sfa.export.table import Table


def write_parquet(path: Path, table: Table) -> None:
    """A column of ids, one of 32-bit floats a feature or one of lists of them, and the further columns."""
    import pyarrow
    import pyarrow.parquet

    if table.layout == "columns":
        features = {name: table.z[:, i] for i, name in enumerate(table.feature_names)}
    else:
        count, width = table.z.shape
        starts = pyarrow.array(np.arange(count + 1) * width, pyarrow.int32())
        features = {"embedding": pyarrow.ListArray.from_arrays(starts, pyarrow.array(table.z.reshape(-1)))}
    texts = {name: pyarrow.array(list(values), pyarrow.string()) for name, values in table.columns.items()}
    content = {table.id_name: list(table.of_one_kind), **features, **texts}
    with path.open("wb") as file:  # written by Python, so that a full disk is the OSError that it is
        pyarrow.parquet.write_table(pyarrow.table(content), file)
