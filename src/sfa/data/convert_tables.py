"""Convert tables of edges and features to a graph store in bounded memory: DuckDB joins and sorts on disk."""

import glob
import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, nullcontext
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from sfa.data.convert import as_graph, check_task
from sfa.data.convert_edges import write_edges
from sfa.data.convert_labels import write_labels
from sfa.data.downloads import explain_damage
from sfa.data.engine import Counting, Engine, batches
from sfa.data.load import load
from sfa.data.readers.edge_list import EdgeColumns
from sfa.data.readers.tables import TextTable, label_column, parse_frame, read_frames
from sfa.data.store import IDS, StoredGraph, open_store
from sfa.data.write_store import NpyWriter, check_out, new_store, write_ids, write_manifest, write_store
from sfa.errors import InputError
from sfa.folders import PathLike, existing, expand_user

PART = 1 << 22  # cells of a table of features that are read at once
EDGES, FEATURES = (".csv", ".tsv", ".txt", ".parquet"), (".csv", ".tsv", ".txt", ".parquet", ".npy")
Files = PathLike | Sequence[PathLike]


def convert_to_store(
    data: Any,
    out: PathLike,
    *,
    features: Files | None = None,
    labels: PathLike | None = None,
    node_features: str | None = None,
    source: str | None = None,
    target: str | None = None,
    weight: str | None = None,
    bipartite: bool = False,
    data_root: PathLike | None = None,
    name: str | None = None,
    float16: bool = False,
    memory: str = "2GB",
    counting: Counting = lambda title: nullcontext(lambda done, total: None),
) -> StoredGraph:
    """Convert a graph to a store, the folder ``out``, and open it; see :func:`sfa.data.open_store`.

    With ``features``, ``data`` and they are tables, `.csv`, `.tsv`, `.txt` or `.parquet`, features also `.npy`: a file,
    several, or patterns such as ``"edges-*.parquet"``. They become the same graph as :func:`sfa.data.load` makes of
    them, with features that are numbers, and nodes in the order of the features, but in bounded memory. Otherwise
    ``data`` is whatever :func:`sfa.data.load` reads or :func:`sfa.data.as_graph` takes, and converted in memory.

    Args:
        labels: A table (id, label), if the features have no column ``label``.
        node_features: Features to make in memory of a graph that has none.
        source: Column of sources; so ``target``, ``weight`` and ``bipartite``, as for :class:`sfa.data.EdgeColumns`.
        float16: Store features in half the room.
        memory: What DuckDB may use; Python needs some hundred megabytes more.
        counting: Makes a function (done, total) of the title of a long step.
    """
    columns = EdgeColumns(source, target, weight, bipartite)
    check_out(out)
    paths, tables = _expand(data), [] if features is None else _expand(features)
    if not (tables and _are_tables(paths, EDGES) and _are_tables(tables, FEATURES)):
        given = {"labels": labels, "node_features": node_features, "root": data_root, **columns.given}
        return _convert_in_memory(paths, tables, out, name, float16, **given)
    if node_features is not None:
        raise InputError("There are features already: leave out node_features= (--node-features).")
    if find_spec("duckdb") is None:
        raise InputError("Converting tables needs the extra `store`: pip install 'sfa[store]'.")
    paths, tables = ([existing(path, kind) for path in many] for kind, many in (("edge", paths), ("feature", tables)))
    label_path = None if labels is None else existing(labels, "label")
    with new_store(out) as (folder, scratch), Engine(scratch, memory, counting) as engine, engine.explained(out):
        has_labels = _write_nodes(engine, tables, folder, np.float16 if float16 else np.float32)
        engine.number_nodes(scratch / "nodes.parquet")
        notes = {"edges_read": write_edges(engine, paths, columns, folder)}
        if has_labels and label_path is not None:
            raise InputError("Labels are given twice: the features have a column label, so leave out --labels.")
        if has_labels or label_path is not None:
            notes |= write_labels(engine, label_path, folder)
        if not engine.is_counted:
            kind = pa.int64() if engine.are_integers else pa.string()
            write_ids(folder / IDS, (one["id"].cast(kind) for one in batches(scratch / "nodes.parquet")), kind)
        write_manifest(folder, name or paths[0].stem, notes)
    return open_store(out)


def _convert_in_memory(
    data: list[Any], features: list[Any], out: PathLike, name: str | None, float16: bool, **options: Any
) -> StoredGraph:
    """Convert what is no table, or has no table of features."""
    if len(data) > 1 or len(features) > 1:
        endings = f"edges end in {', '.join(EDGES)}, features in {', '.join(FEATURES)}"
        raise InputError(f"Several files can be tables of edges with tables of features only: {endings}.")
    options["features"] = features[0] if features else None
    given = {key: value for key, value in options.items() if value is not None}
    if isinstance(data[0], str | os.PathLike):
        graph = load(data[0], **given)
        check_task(graph, "node", os.fspath(data[0]))
    else:
        graph = as_graph(data[0], **given)
    graph.name = name or graph.name
    return write_store(graph, out, float16=float16)


def _expand(given: Any) -> list[Any]:
    """Return what is given as a list, with the files that patterns stand for in their place, in the order of names."""
    are_many = isinstance(given, list | tuple) and all(isinstance(one, str | os.PathLike) for one in given)
    found: list[Any] = []
    for one in given if are_many and given else [given]:
        is_pattern = isinstance(one, str | os.PathLike) and glob.has_magic(os.fspath(one)) and not os.path.exists(one)
        found += sorted(glob.glob(str(expand_user(one)))) if is_pattern else [one]
        if is_pattern and not glob.glob(str(expand_user(one))):
            raise InputError(f"There is no file {one}.")
    return found


def _are_tables(given: list[Any], suffixes: tuple[str, ...]) -> bool:
    return all(isinstance(one, str | os.PathLike) and Path(one).suffix.lower() in suffixes for one in given)


def _write_nodes(engine: Engine, tables: Sequence[Path], folder: Path, dtype: Any) -> bool:
    """Write features in the order of their files, and ids and labels into a temporary table; tell if there are labels.

    Ids are texts, row numbers where there are none; labels are texts or floats.
    """
    shapes = [_shape_of(path) for path in tables]
    total, first, label, rows = sum(rows for rows, _ in shapes), None, None, 0
    with ExitStack() as stack:
        count = stack.enter_context(engine.counting("reading features"))
        writer = ids = None
        for path, (_, width) in zip(tables, shapes, strict=True):
            for frame in _feature_frames(path, max(1, PART // width)):
                names = [str(name) for name in frame.columns]
                first = first or names
                if names != first:
                    raise InputError(f"{path} has other columns than {tables[0]}: {', '.join(names[:20])}.")
                label = label_column(names)
                kept = [i for i in range(len(names)) if i != label]
                table = parse_frame(frame.iloc[:, kept], path, "none")
                columns = {"id": pa.array([str(one) for one in table.node_ids], pa.string())}
                if label is not None:
                    columns["label"] = _label_array(frame.iloc[:, label])
                part = pa.table(columns)
                if writer is None or ids is None:
                    writer = stack.enter_context(NpyWriter(folder / "x.npy", dtype, table.x.shape[1]))
                    file = stack.enter_context((engine.scratch / "nodes.parquet").open("wb"))
                    ids = stack.enter_context(pq.ParquetWriter(file, part.schema))
                if part.schema != ids.schema:
                    raise InputError(f"{path} has labels that are texts and labels that are numbers.")
                writer.append(table.x)
                ids.write_table(part)
                rows += len(frame)
                count(min(rows, total), total)
        count(total, total)
    return label is not None


def _shape_of(path: Path) -> tuple[int, int]:
    """Return about how many rows a table has, and how many columns."""
    with explain_damage(path):
        if path.suffix.lower() == ".parquet":
            metadata = pq.read_metadata(path)
            return metadata.num_rows, metadata.num_columns
        if path.suffix.lower() == ".npy":
            rows, width = np.load(path, mmap_mode="r", allow_pickle=False).shape
            return rows, max(1, width)
        table = TextTable(path, in_parts=True)
        return table.num_lines, len(table.first_row)


def _feature_frames(path: Path, rows: int) -> Iterator[Any]:
    """Yield a table of features in parts, with ids in the first column."""
    with explain_damage(path):
        if path.suffix.lower() != ".npy":
            yield from read_frames(path, rows)
            return
        array = np.load(path, mmap_mode="r", allow_pickle=False)
        for start in range(0, len(array), rows):
            part = pd.DataFrame(array[start : start + rows])
            part.insert(0, "id", np.arange(start, start + len(part)))
            yield part


def _label_array(labels: Any) -> Any:
    if pd.api.types.is_numeric_dtype(labels.dtype):
        return pa.array(labels.to_numpy(np.float64, na_value=np.nan))
    return pa.array(["" if pd.isna(one) else str(one).strip() for one in labels], pa.string())
