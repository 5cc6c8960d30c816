"""Files -> the one graph container. One format a file; this is the door, which chooses the reader by suffix."""

from __future__ import annotations

import csv
import os
import zipfile
import zlib
from pathlib import Path
from xml.etree.ElementTree import ParseError

from torch_geometric.data import Data

from sfa.data.arrays import to_numpy
from sfa.data.files.edge_list import read_edge_list
from sfa.data.files.features import FeatureTable, read_features
from sfa.data.files.join import join_features, join_labels
from sfa.data.files.networkx_files import read_networkx
from sfa.data.files.npz import read_npz
from sfa.data.files.parts import Parts
from sfa.data.files.torch_file import read_torch
from sfa.data.graph import build_graph
from sfa.errors import InputError

SUFFIXES = (".npz", ".csv", ".tsv", ".txt", ".pt", ".gml", ".graphml")
# What NumPy, SciPy, pandas, torch, NetworkX and the XML parser raise on damaged files.
UNREADABLE = (OSError, ValueError, LookupError, TypeError, EOFError, RuntimeError, MemoryError, OverflowError)
DAMAGED = (*UNREADABLE, csv.Error, zipfile.BadZipFile, zlib.error, ParseError)

PathLike = str | os.PathLike[str]


def read_graph(path: PathLike, *, features: PathLike | None = None, labels: PathLike | None = None) -> Data:
    """The graph in a file, with features and labels from files of their own where the graph file has none.

    `.npz` (keys in `sfa.data.files.npz`), `.csv`/`.tsv`/`.txt` (edge list), `.pt` (PyG Data), `.gml`, `.graphml`.
    Features larger than the memory go into a `.npy` file of their own, which is mapped; a part of a `.npz`, which is a
    zip archive, cannot be.
    """
    graph_path = _existing(path, "graph")
    if graph_path.suffix.lower() not in SUFFIXES:
        given = f"the suffix {graph_path.suffix!r}" if graph_path.suffix else "no suffix"
        raise InputError(
            f"A graph cannot be read from {graph_path}: it has {given}, allowed are {', '.join(SUFFIXES)}."
        )
    table = None if features is None else _read_table(_existing(features, "feature"))
    try:
        parts = _read_parts(graph_path, table)
    except InputError:
        raise
    except DAMAGED as error:
        raise _unreadable(graph_path, error) from error
    if table is not None:
        join_features(parts, table)
    if parts.x is None:
        raise InputError(
            f"{graph_path} has no node features; give them with features=FILE (--features FILE), or put them into the "
            "file (key x or attr_data in .npz, x in .pt, node attribute x in .gml and .graphml)."
        )
    if not hasattr(parts.x, "shape"):
        parts.x = to_numpy(parts.x)
    rows = parts.x.shape[0] if len(parts.x.shape) else 0
    if parts.num_nodes not in (None, rows):
        raise InputError(f"{graph_path} has {parts.num_nodes} nodes, but there are {rows} rows of features.")
    if labels is not None:
        _read_labels(parts, _existing(labels, "label"), rows)
    return build_graph(
        parts.x,
        parts.edges,
        edge_weight=parts.edge_weight,
        y=parts.y,
        node_ids=parts.node_ids,
        class_names=parts.class_names,
        name=parts.name or graph_path.stem,
    )


def _read_parts(path: Path, table: FeatureTable | None) -> Parts:
    match path.suffix.lower():
        case ".npz":
            return read_npz(path)
        case ".pt":
            return read_torch(path)
        case ".gml" | ".graphml":
            return read_networkx(path)
        case _:
            return read_edge_list(path, table)


def _read_table(path: Path) -> FeatureTable:
    try:
        return read_features(path)
    except InputError:
        raise
    except DAMAGED as error:
        raise _unreadable(path, error) from error


def _read_labels(parts: Parts, path: Path, num_nodes: int) -> None:
    try:
        join_labels(parts, path, num_nodes)
    except InputError:
        raise
    except DAMAGED as error:
        raise _unreadable(path, error) from error


def _existing(path: PathLike, kind: str) -> Path:
    full = Path(path).expanduser()
    try:
        if full.is_dir():
            raise InputError(f"The {kind} file {full} is a folder; give a file in it.")
        if not full.exists():
            raise InputError(f"The {kind} file {full} does not exist.")
        if not full.is_file():  # a pipe or a device can be read once, or for ever
            raise InputError(f"The {kind} file {full} is no ordinary file; save it to one first.")
    except OSError as error:
        raise InputError(f"The {kind} file {full} cannot be read: {error.strerror or error}.") from error
    return full


def _unreadable(path: Path, error: BaseException) -> InputError:
    reason = (str(error) or type(error).__name__).splitlines()[0].rstrip(".")
    return InputError(f"{path} cannot be read, it may be damaged or of another format: {reason}.")
