"""Write embeddings to a file, with the ids of their nodes, graphs or images, in the format of the file's suffix."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray

from sfa.atomic import atomic_path, ensure_writable
from sfa.errors import InputError, SfaError
from sfa.tasks import Task

Embeddings = NDArray[np.float32]
Ids = Sequence[str] | Sequence[int]
Columns = Mapping[str, Sequence[str | None]]
"""Text of each item, by name; ``None`` where there is none."""
Layout = Literal["columns", "list"]
"""Of a table: a column a feature, ``z0``, ``z1`` …, or all in one column of lists, ``embedding``."""
TABLES = (".parquet", ".csv")
"""Formats with columns, and so with a choice of layout."""


class ExportError(SfaError, OSError):
    """Embeddings could not be written, for instance because the disk is full. Nothing is half-written."""


@dataclass(frozen=True)
class Table:
    """Embeddings ``(n, d)`` and what goes with them; ``about`` says where they come from."""

    z: Embeddings
    ids: Ids
    item: Task
    columns: Columns
    layout: Layout
    about: Mapping[str, Any]

    def __post_init__(self) -> None:
        if len(self.ids) != len(self.z):
            raise InputError(f"{len(self.z)} embeddings need as many {self.item} ids, not {len(self.ids)}.")
        taken = {self.id_name, *self.feature_names, "embeddings", f"{self.id_name}s"}  # in tables, and among arrays
        for name, values in self.columns.items():
            if name in taken:
                raise InputError(f"A column cannot be called {name}: the table has one already.")
            if len(values) != len(self.z):
                raise InputError(f"{len(self.z)} embeddings need as many values of {name}, not {len(values)}.")

    @property
    def id_name(self) -> str:
        return f"{self.item}_id"

    @property
    def feature_names(self) -> list[str]:
        return [f"z{i}" for i in range(self.z.shape[1])] if self.layout == "columns" else ["embedding"]

    @property
    def ids_of_one_kind(self) -> list[Any]:
        """The ids, as text if some are text and some are numbers: a column is of one kind."""
        return [str(one) for one in self.ids] if len({type(one) for one in self.ids}) > 1 else list(self.ids)


def _write_npz(path: Path, table: Table) -> None:
    """Write ``embeddings``, ``node_ids``, and an array of text for each further column, empty where there is none."""
    arrays: dict[str, Any] = {"embeddings": table.z, f"{table.item}_ids": np.asarray(table.ids_of_one_kind)}
    arrays |= {name: np.asarray(["" if one is None else one for one in of]) for name, of in table.columns.items()}
    with path.open("wb") as file:
        np.savez_compressed(file, **arrays)


def _write_pt(path: Path, table: Table) -> None:
    """Write a dictionary of the same names, with a tensor and lists."""
    content = io.BytesIO()
    embeddings = {"embeddings": torch.from_numpy(table.z), f"{table.item}_ids": table.ids_of_one_kind}
    torch.save({**embeddings, **{name: list(values) for name, values in table.columns.items()}}, content)
    path.write_bytes(content.getvalue())  # written by Python, so that a full disk is the OSError that it is


def _write_csv(path: Path, table: Table) -> None:
    """Write a header and a row an item; in layout ``list`` with types and delimiter as Neo4j's import reads them."""
    as_list = table.layout == "list"
    names = [f"{table.id_name}:ID", "embedding:float[]"] if as_list else [table.id_name, *table.feature_names]
    others = zip(*table.columns.values(), strict=True) if table.columns else ((),) * len(table.z)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow([*names, *table.columns])
        for one, row, more in zip(table.ids, table.z, others, strict=True):
            numbers = row.tolist()
            writer.writerow([one, *([";".join(map(str, numbers))] if as_list else numbers), *more])


def _write_parquet(path: Path, table: Table) -> None:
    """Write a column of ids, one of 32-bit floats a feature or one of lists of them, and the further columns."""
    import pyarrow
    import pyarrow.parquet

    if table.layout == "columns":
        features = {name: table.z[:, i] for i, name in enumerate(table.feature_names)}
    else:
        count, width = table.z.shape
        starts = pyarrow.array(np.arange(count + 1) * width, pyarrow.int32())
        features = {"embedding": pyarrow.ListArray.from_arrays(starts, pyarrow.array(table.z.reshape(-1)))}
    texts = {name: pyarrow.array(list(values), pyarrow.string()) for name, values in table.columns.items()}
    content = {table.id_name: table.ids_of_one_kind, **features, **texts}
    with path.open("wb") as file:  # written by Python, so that a full disk is the OSError that it is
        pyarrow.parquet.write_table(pyarrow.table(content), file)


def _write_h5ad(path: Path, table: Table) -> None:
    """Write AnnData: embeddings are ``X``, ids the index of ``obs``, further columns categories in it.

    ``uns["sfa"]`` says where they come from.
    """
    import anndata
    import h5py
    import pandas

    def text(words: Sequence[str]) -> Any:
        return pandas.Index(list(words), dtype=object)  # not every AnnData writes the newer kinds of text of pandas

    def categories(values: Sequence[str | None]) -> Any:
        return pandas.Categorical(list(values), categories=text(sorted({one for one in values if one is not None})))

    obs = pandas.DataFrame(
        {name: categories(values) for name, values in table.columns.items()},
        index=text([str(one) for one in table.ids]).rename(table.id_name),
    )
    var = pandas.DataFrame(index=text(table.feature_names))
    content = io.BytesIO()
    with h5py.File(content, "w") as file:
        annotated = anndata.AnnData(X=table.z, obs=obs, var=var, uns={"sfa": dict(table.about)})
        anndata.io.write_elem(file, "/", annotated)
    path.write_bytes(content.getvalue())  # written by Python, so that a full disk is the OSError that it is


WRITERS: dict[str, Callable[[Path, Table], None]] = {
    ".npz": _write_npz,
    ".parquet": _write_parquet,
    ".csv": _write_csv,
    ".pt": _write_pt,
    ".h5ad": _write_h5ad,
}


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
        try:
            import anndata  # noqa: F401
        except ImportError as error:
            raise InputError("Writing .h5ad needs the extra `anndata`: pip install 'sfa[anndata]'.") from error
    ensure_writable(path)


def write_embeddings(
    path: str | Path,
    z: Embeddings,
    ids: Ids,
    *,
    item: Task = "node",
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
