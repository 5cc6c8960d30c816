"""Write embeddings to a file, with the ids of their nodes, graphs or images, in the format of the file's suffix."""

import io
import os
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Any, Literal, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from sfa.atomic import atomic_folder, atomic_path, ensure_writable
from sfa.errors import InputError, SfaError, translate_os_errors
from sfa.matrices import row_chunks
from sfa.tasks import Task

Embeddings = NDArray[np.float32]
Ids = Sequence[str] | Sequence[int]
Columns = Mapping[str, Sequence[str | None]]  # text of each item, by name; ``None`` where there is none
Layout = Literal["columns", "list"]
TABLES = (".parquet", ".csv", ".tsv")  # formats with columns, and so with a choice of layout
PARTS, PART_BYTES = "part-*.parquet", 1 << 28  # the files of a folder of embeddings, and what each of them holds


class ExportError(SfaError, OSError):
    """Embeddings could not be written, for instance because the disk is full. Nothing is half-written."""


class Table(NamedTuple):
    """Embeddings ``(n, d)`` with their ids, the names of the feature columns, and further columns of text."""

    z: Embeddings
    ids: list[Any]
    id_name: str
    features: list[str]
    columns: dict[str, list[str | None]]
    about: Mapping[str, Any]


# Files are written by Python, and not by a library, so that a full disk is the OSError that it is.
def _write_npz(file: IO[bytes], table: Table) -> None:
    """Write ``embeddings``, ``node_ids``, and an array of text for each further column, empty where there is none."""
    texts = {name: np.asarray(["" if one is None else one for one in of]) for name, of in table.columns.items()}
    arrays: dict[str, Any] = {"embeddings": table.z, f"{table.id_name}s": np.asarray(table.ids), **texts}
    np.savez_compressed(file, **arrays)


def _write_pt(file: IO[bytes], table: Table) -> None:
    """Write a dictionary of the same names, with a tensor and lists."""
    content = io.BytesIO()
    torch.save({"embeddings": torch.from_numpy(table.z), f"{table.id_name}s": table.ids, **table.columns}, content)
    file.write(content.getvalue())


def _write_npy(file: IO[bytes], table: Table) -> None:
    """Write the embeddings alone; :func:`ids_file` holds the ids of the rows."""
    np.save(file, table.z)


def _write_csv(file: IO[bytes], table: Table, separator: str = ",") -> None:
    """Write a header and a row an item; a column of lists with types and delimiter as Neo4j's import reads them."""
    import pandas

    z, id_name, features = table.z.astype(np.float64), table.id_name, table.features
    content: dict[str, Any] = dict(zip(features, z.T, strict=False))
    if features == ["embedding"]:
        id_name, content = f"{id_name}:ID", {"embedding:float[]": [";".join(map(str, row)) for row in z.tolist()]}
    frame = pandas.DataFrame({id_name: table.ids, **content, **table.columns})
    frame.to_csv(file, index=False, sep=separator, lineterminator="\r\n", na_rep="")


def _write_parquet(file: IO[bytes], table: Table) -> None:
    """Write a column of ids, one of 32-bit floats a feature or one of lists of them, and the further columns."""
    import pyarrow
    import pyarrow.parquet

    content: dict[str, Any] = dict(zip(table.features, table.z.T, strict=False))
    if table.features == ["embedding"]:
        content = {"embedding": pyarrow.array(list(table.z), pyarrow.list_(pyarrow.float32()))}
    texts = {name: pyarrow.array(values, pyarrow.string()) for name, values in table.columns.items()}
    pyarrow.parquet.write_table(pyarrow.table({table.id_name: table.ids, **content, **texts}), file)


def _write_h5ad(file: IO[bytes], table: Table) -> None:
    """Write AnnData with embeddings as ``X``, ids as index of ``obs``, columns as its categories, ``uns["sfa"]``."""
    import anndata
    import h5py
    import pandas

    def text(words: Sequence[str]) -> Any:
        return pandas.Index(list(words), dtype=object)  # not every AnnData writes the newer kinds of text of pandas

    def categories(values: list[str | None]) -> Any:
        return pandas.Categorical(values, categories=text(sorted({one for one in values if one is not None})))

    index = text([str(one) for one in table.ids]).rename(table.id_name)
    obs = pandas.DataFrame({name: categories(values) for name, values in table.columns.items()}, index=index)
    var = pandas.DataFrame(index=text(table.features))
    content = io.BytesIO()
    with h5py.File(content, "w") as hdf5:
        annotated = anndata.AnnData(X=table.z, obs=obs, var=var, uns={"sfa": dict(table.about)})
        anndata.io.write_elem(hdf5, "/", annotated)
    file.write(content.getvalue())


WRITERS: dict[str, Callable[[IO[bytes], Table], None]] = {
    ".npz": _write_npz,
    ".parquet": _write_parquet,
    ".csv": _write_csv,
    ".tsv": partial(_write_csv, separator="\t"),
    ".npy": _write_npy,
    ".pt": _write_pt,
    ".h5ad": _write_h5ad,
}


def ids_file(path: Path) -> Path:
    """Return the table beside a ``.npy`` file that holds the ids of its rows, and further columns, in their order."""
    return path.with_suffix(".ids.csv")


def check_export(path: Path, layout: Layout = "columns") -> None:
    """Raise unless embeddings can be written to ``path``."""
    suffix = path.suffix.lower()
    if suffix not in ("", *WRITERS):
        endings = f"its name must end in {', '.join(WRITERS)}, or is without ending that of a folder of .parquet files"
        raise InputError(f"Cannot tell the format of {path}: {endings}.")
    if layout not in ("columns", "list"):
        raise InputError(f"The layout is columns or list, not {layout!r}.")
    if layout == "list" and suffix not in ("", *TABLES):
        raise InputError(f"The layout list is for tables, {', '.join(TABLES)}, and not for {path}.")
    if suffix == ".h5ad" and find_spec("anndata") is None:
        raise InputError("Writing .h5ad needs the extra `anndata`: pip install 'sfa[anndata]'.")
    if suffix == "" and path.is_dir():
        if any(not file.match(PARTS) for file in path.iterdir()):
            raise InputError(f"The folder {path} holds other files than embeddings: choose another.")
        return
    for file in (path, ids_file(path)) if suffix == ".npy" else (path,):
        ensure_writable(file)


def check_table(path: Path) -> None:
    """Raise unless a table can be written to ``path``."""
    if path.suffix.lower() not in TABLES:
        raise InputError(f"Cannot tell the format of the table {path}: its name must end in {', '.join(TABLES)}.")
    ensure_writable(path)


def write_table(path: Path, frame: Any) -> None:
    """Write a data frame without its index; an existing file is replaced in one step."""
    check_table(path)
    suffix = path.suffix.lower()
    with translate_os_errors(f"Cannot write {path}", ExportError), atomic_path(path) as temporary:
        if suffix == ".parquet":
            frame.to_parquet(temporary, index=False)
        else:
            frame.to_csv(temporary, index=False, sep="\t" if suffix == ".tsv" else ",")


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

    A path without one is a folder, of ``part-00000.parquet``, ``part-00001.parquet`` …, some rows each.
    The ids of nodes are in a column ``node_id`` of a table, in the index of AnnData's observations, and in ``node_ids``
    of other files; those of a ``.npy`` are in :func:`ids_file`. ``columns`` are more columns, of text, and ``about`` is
    noted in ``.h5ad``, under ``uns["sfa"]``.

    Args:
        layout: Of a table: ``columns`` for one a feature, ``z0``, ``z1`` …; ``list`` for one column ``embedding`` of
            lists of floats. A ``.csv`` then has the header and the array delimiter that Neo4j's import reads.
    """
    path, texts = Path(path), {name: list(values) for name, values in (columns or {}).items()}
    check_export(path, layout)
    features = [f"z{i}" for i in range(z.shape[1])] if layout == "columns" else ["embedding"]
    for name, values in {f"{item} ids": ids, **texts}.items():
        if name in (f"{item}_id", f"{item}_ids", "embeddings", *features):
            raise InputError(f"A column cannot be called {name}: the table has one already.")
        if len(values) != len(z):
            what = name if name == f"{item} ids" else f"values of {name}"
            raise InputError(f"{len(z)} embeddings need as many {what}, not {len(values)}.")
    is_mixed = len({type(one) for one in ids}) > 1  # a column is of one kind: text if some ids are text

    def table(rows: slice) -> Table:
        own, those = list(ids[rows]), {name: values[rows] for name, values in texts.items()}
        return Table(z[rows], [*map(str, own)] if is_mixed else own, f"{item}_id", features, those, about or {})

    if path.suffix == "":
        _write_parts(path, (table(rows) for rows in row_chunks(z.shape, PART_BYTES)))
        return
    whole = table(slice(None))
    writers = {path: (WRITERS[path.suffix.lower()], whole)}
    if path.suffix.lower() == ".npy":
        writers = {ids_file(path): (_write_csv, whole._replace(z=z[:, :0], features=[])), **writers}
    try:
        for target, (write, content) in writers.items():
            with atomic_path(target) as temporary, temporary.open("wb") as file:
                write(file, content)
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else str(error)
        raise ExportError(f"Cannot write {path}: {reason}.") from error


def _write_parts(path: Path, tables: Iterable[Table]) -> None:
    """Write a folder of Parquet files in one step, in place of one of the same kind."""
    with translate_os_errors(f"Cannot write {path}", ExportError), atomic_folder(path) as folder:
        for number, table in enumerate(tables):
            with (folder / PARTS.replace("*", f"{number:05d}")).open("wb") as file:
                _write_parquet(file, table)
        if path.is_dir():
            shutil.rmtree(path)
