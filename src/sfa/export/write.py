"""Embeddings to the format of a file's suffix, in one step or not at all."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from sfa.atomic import atomic_path, ensure_writable
from sfa.errors import InputError, SfaError
from sfa.export.anndata_file import require_anndata, write_h5ad
from sfa.export.arrays import write_npz, write_pt
from sfa.export.csv_file import write_csv
from sfa.export.parquet import write_parquet
from sfa.export.table import Columns, Embeddings, Ids, Layout, Table
from sfa.levels import Level

WRITERS: dict[str, Callable[[Path, Table], None]] = {
    ".npz": write_npz,
    ".parquet": write_parquet,
    ".csv": write_csv,
    ".pt": write_pt,
    ".h5ad": write_h5ad,
}
TABLES = (".parquet", ".csv")
"""Formats with columns, and so with a choice of layout."""


class ExportError(SfaError, OSError):
    """Embeddings could not be written, for instance because the disk is full. Nothing is half-written."""


def check_export(path: Path, layout: Layout = "columns") -> None:
    """Raise unless embeddings can be written to ``path``."""
    suffix = path.suffix.lower()
    if suffix not in WRITERS:
        raise InputError(f"Cannot tell the format of {path}: its name must end in {', '.join(WRITERS)}.")
    if layout not in ("columns", "list"):
        raise InputError(f"The layout is columns or list, not {layout!r}.")
    if layout == "list" and suffix not in TABLES:
        raise InputError(
            f"The layout list is for tables, {' and '.join(TABLES)}; {path} has its embeddings as a matrix."
        )
    if suffix == ".h5ad":
        require_anndata()
    ensure_writable(path)


def write_embeddings(
    path: str | Path,
    z: Embeddings,
    ids: Ids,
    *,
    item: Level = "node",
    layout: Layout = "columns",
    columns: Columns | None = None,
    about: Mapping[str, Any] | None = None,
) -> None:
    """Write ``(n, d)`` embeddings in the format of the path's suffix; an existing file is replaced in one step.

    The ids are in a column ``node_id`` of a table, in the index of AnnData's observations, and in ``node_ids`` of other
    files; those of graphs, which ``item`` says they are, in ``graph_id`` and ``graph_ids``.

    Args:
        path: It ends in ``.npz``, ``.parquet``, ``.csv``, ``.pt`` or ``.h5ad``.
        z: Embeddings.
        ids: One of each row.
        item: What the rows are of.
        layout: Of a table: ``columns`` for one a feature, ``z0``, ``z1`` …; ``list`` for one column ``embedding`` of
            lists of floats. A ``.csv`` then has the header and the array delimiter that Neo4j's import reads.
        columns: More columns, of text: labels, for instance.
        about: What ``.h5ad`` notes under ``uns["sfa"]``: names to text or numbers.
    """
    path = Path(path)
    check_export(path, layout)
    table = Table(z, ids, item, columns or {}, layout, about or {})
    try:
        with atomic_path(path) as temporary:
            WRITERS[path.suffix.lower()](temporary, table)
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else str(error)
        raise ExportError(f"Cannot write {path}: {reason}.") from error
