"""Write the files of a graph store, all or none."""

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import torch
from numpy.lib import format as npy
from torch_geometric.data import Data

from sfa.atomic import atomic_folder, temporary_folder, write_text
from sfa.data.arrays import is_sparse, to_scipy
from sfa.data.convert import as_graph
from sfa.data.store import ARRAYS, FORMAT, IDS, MANIFEST, NOTES, StoredGraph, open_store, sha256_of
from sfa.errors import InputError, SfaError, translate_os_errors
from sfa.folders import PathLike, expand_user
from sfa.matrices import row_chunks

ROWS = 1 << 18  # of a record batch


class StoreError(SfaError, OSError):
    """A store could not be written, for instance because the disk is full. Nothing is half-written."""


class NpyWriter:
    """Append rows to a `.npy` file; how many there are is written at the end."""

    def __init__(self, path: Path, dtype: Any, width: int | None = None) -> None:
        self.file, self.dtype, self.width, self.rows = path.open("wb"), np.dtype(dtype), width, 0
        self._write_header()

    def _write_header(self) -> None:
        shape = (self.rows,) if self.width is None else (self.rows, self.width)
        header = {"descr": npy.dtype_to_descr(self.dtype), "fortran_order": False, "shape": shape}
        npy.write_array_header_1_0(self.file, header)  # which leaves room for more rows

    def append(self, rows: Any) -> None:
        with np.errstate(over="ignore"):  # of float16
            content = np.ascontiguousarray(rows, self.dtype)
        if self.dtype == np.float16 and not np.isfinite(content).all():
            raise InputError("Some features are beyond the range of float16, 65504: leave out --float16 (float16=).")
        self.file.write(content.data)
        self.rows += len(content)

    def __enter__(self) -> "NpyWriter":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        with self.file:
            if kind is None:
                self.file.seek(0)
                self._write_header()


def check_out(out: PathLike) -> Path:
    """Return the folder of a store to be made; raise if there is something, or if it cannot be made."""
    path = expand_user(out)
    if path.is_symlink() or (path.exists() and not (path.is_dir() and not any(path.iterdir()))):
        raise InputError(f"{path} exists: remove it, or choose another folder by --out.")
    if not path.absolute().parent.is_dir():
        raise InputError(f"Cannot make the folder {path}: the folder {path.absolute().parent} does not exist.")
    return path


@contextmanager
def new_store(out: PathLike) -> Iterator[tuple[Path, Path]]:
    """Yield a folder to fill and one for temporary files; the first gets its name at the end, if all went well."""
    path = check_out(out).absolute()
    writing = translate_os_errors(f"Cannot write {path}", StoreError)
    with writing, atomic_folder(path) as folder, temporary_folder(folder / "scratch") as scratch:
        yield folder, scratch


def write_manifest(folder: Path, name: str, notes: dict[str, Any]) -> None:
    """Write the manifest of a store: sizes, checksums, and what is no array."""
    files: dict[str, Any] = {}
    for path in sorted(file for file in folder.iterdir() if file.is_file()):
        files[path.name] = {"bytes": path.stat().st_size, "sha256": sha256_of(path)}
        if path.suffix == ".npy":
            array = np.load(path, mmap_mode="r", allow_pickle=False)
            files[path.name] |= {"dtype": str(array.dtype), "shape": list(array.shape)}
    n, d = files["x.npy"]["shape"]
    sizes = {"nodes": n, "entries": files["indices.npy"]["shape"][0], "features": d}
    content = {"format": FORMAT, "sfa": version("sfa"), "name": name, **sizes, "notes": notes, "files": files}
    write_text(folder / MANIFEST, json.dumps(content, indent=1) + "\n")


def write_ids(path: Path, batches: Iterable[Any], kind: Any) -> None:
    """Write ids, which come in Arrow arrays, in their order."""
    schema = pa.schema([("node_id", kind)])
    with path.open("wb") as file, pq.ParquetWriter(file, schema) as writer:
        for ids in batches:
            writer.write_batch(pa.record_batch([ids], schema=schema))


def write_store(data: Any, folder: PathLike, *, float16: bool = False) -> StoredGraph:
    """Write a graph in memory, whatever :func:`sfa.data.as_graph` takes, into a folder that is new; see `open_store`.

    Sparse features become dense. With ``float16`` they take half the room.
    """
    check_out(folder)
    graph = as_graph(data)
    with new_store(folder) as (new, _):
        _write_arrays(graph, new, np.float16 if float16 else np.float32)
        ids = graph.node_ids
        if any(type(one) is str or one != i for i, one in enumerate(ids)):
            is_text = any(isinstance(one, str) for one in ids)
            column = pa.array([str(one) for one in ids] if is_text else list(ids))
            write_ids(new / IDS, [column], column.type)
        notes = {key: graph[key] for key in NOTES if graph.get(key) is not None}
        write_manifest(new, graph.name, notes)
    return open_store(folder)


def _write_arrays(graph: Data, folder: Path, dtype: Any) -> None:
    n, x = graph.num_nodes, graph.x
    if isinstance(graph, StoredGraph):
        rows = {"indptr": graph.indptr, "indices": graph.indices}
    else:  # edges are sorted by row and column
        counts = torch.bincount(graph.edge_index[0], minlength=n)
        rows = {"indptr": torch.cat([counts.new_zeros(1), counts.cumsum(0)]), "indices": graph.edge_index[1]}
    for key, name in ARRAYS.items():
        part = rows.get(key, graph.get(key))
        if part is not None and key != "x":
            with (folder / f"{name}.npy").open("wb") as file:
                npy.write_array(file, part.numpy(), allow_pickle=False)
    table = to_scipy(x, "features are").tocsr() if is_sparse(x) else x.numpy()
    with NpyWriter(folder / "x.npy", dtype, x.shape[1]) as writer:
        for chunk in row_chunks(x.shape):
            writer.append(table[chunk].toarray() if is_sparse(x) else table[chunk])
