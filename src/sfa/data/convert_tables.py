"""Convert tables of edges and features to a graph store in bounded memory: DuckDB joins and sorts on disk."""

import glob
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import torch
from torch_geometric.data import Data

from sfa.data.downloads import explain_damage
from sfa.data.labels import UNKNOWN, set_labels
from sfa.data.load import find, load
from sfa.data.readers.edge_list import EdgeColumns, find_columns, find_header
from sfa.data.readers.tables import (
    TextTable,
    is_label_header,
    label_column,
    parse_frame,
    parse_labels,
    read_frames,
)
from sfa.data.store import IDS, StoredGraph, open_store
from sfa.data.write_store import ROWS, NpyWriter, StoreError, check_out, new_store, write_ids, write_manifest, write_store
from sfa.errors import InputError, shortened
from sfa.folders import PathLike, existing, expand_user

EDGES, FEATURES = (".csv", ".tsv", ".txt", ".parquet"), (".csv", ".tsv", ".txt", ".parquet", ".npy")
SAMPLE = 10_000  # rows by which the header and the columns of a table of edges or labels are found
CLASSES = 1 << 20  # different labels, at most
Files = PathLike | Sequence[PathLike]
Counting = Callable[[str], AbstractContextManager[Callable[[int, int], None]]]


def convert_to_store(
    data: Any,
    out: PathLike,
    *,
    features: Files | None = None,
    labels: PathLike | None = None,
    source: str | None = None,
    target: str | None = None,
    weight: str | None = None,
    bipartite: bool = False,
    name: str | None = None,
    float16: bool = False,
    memory: str = "2GB",
    counting: Counting = lambda title: nullcontext(lambda done, total: None),
    **options: Any,
) -> StoredGraph:
    """Convert a graph to a store, the folder ``out``, and open it; see :func:`sfa.data.open_store`.

    With ``features``, ``data`` and they are tables, `.csv`, `.tsv`, `.txt` or `.parquet`, features also `.npy`: a file,
    several, or patterns such as ``"edges-*.parquet"``. They become the same graph as :func:`sfa.data.load` makes of
    them, with features that are numbers, and nodes in the order of the features, but in bounded memory. Otherwise
    ``data`` is whatever :func:`sfa.data.load` reads or :func:`sfa.data.as_graph` takes, and converted in memory.

    Args:
        labels: A table (id, label), if the features have no column ``label``.
        source: Column of sources; so ``target``, ``weight`` and ``bipartite``, as for :class:`sfa.data.EdgeColumns`.
        float16: Store features in half the room.
        memory: What DuckDB may use; Python needs some hundred megabytes more.
        counting: Makes a function (done, total) of the title of a long step.
        options: Of :func:`sfa.data.load`, for graphs that are converted in memory.
    """
    columns = EdgeColumns(source, target, weight, bipartite)
    check_out(out)
    paths = [] if features is None else _files(data, EDGES)
    if not paths:
        is_place = isinstance(data, str | os.PathLike)
        given = {"features": features, "labels": labels, **columns.given, **options}
        if not is_place and any(value is not None for value in given.values()):
            raise InputError("Data in memory have features and labels: leave out the options of files.")
        graph = load(data, **given) if is_place else data
        if name is not None and isinstance(graph, Data):
            graph.name = name
        return write_store(graph, out, float16=float16)
    tables = _files(features, FEATURES)
    label_path = None if labels is None else existing(labels, "label")
    if not tables:
        raise InputError(f"Features are read from {', '.join(FEATURES)}, not from {features}.")
    if any(value is not None for value in options.values()):
        raise InputError(f"Tables of edges and features take no {', '.join(options)}: leave it out.")
    if find_spec("duckdb") is None:
        raise InputError("Converting tables needs the extra `store`: pip install 'sfa[store]'.")
    with new_store(out) as (folder, scratch), _Engine(scratch, memory, counting) as engine:
        notes = _write_nodes(engine, tables, folder, float16)
        engine.number_nodes(scratch / "nodes.parquet")
        for path in paths:
            _add_edges(engine, path, columns)
        _write_edges(engine, folder, scratch)
        notes |= _write_labels(engine, label_path, folder, scratch)
        if not engine.is_counted:
            kind = pa.int64() if engine.are_integers else pa.string()
            write_ids(folder / IDS, (ids.cast(kind) for ids in _column(scratch / "nodes.parquet", "id")), kind)
        write_manifest(folder, name or paths[0].stem, notes)
    return open_store(out)
