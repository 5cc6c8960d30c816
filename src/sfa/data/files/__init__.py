"""Files -> the one graph container. One format a file; this is the door, which chooses the reader by suffix."""

from __future__ import annotations

import csv
import os
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar
from xml.etree.ElementTree import ParseError

from torch_geometric.data import Data

from sfa.data.arrays import to_numpy
from sfa.data.files.edge_list import read_bare_edge_list, read_edge_list
from sfa.data.files.features import FeatureTable, read_features
from sfa.data.files.join import join_features, join_labels, labelled_nodes
from sfa.data.files.networkx_files import read_networkx
from sfa.data.files.npz import read_npz
from sfa.data.files.parts import Parts
from sfa.data.files.torch_file import read_torch
from sfa.data.graph import build_graph, count_nodes
from sfa.data.structural import OR_MAKE_THEM, NodeFeatures
from sfa.errors import InputError

SUFFIXES = (".npz", ".csv", ".tsv", ".txt", ".pt", ".gml", ".graphml")
# What NumPy, SciPy, pandas, torch, NetworkX and the XML parser raise on damaged files.
UNREADABLE = (OSError, ValueError, LookupError, TypeError, EOFError, RuntimeError, MemoryError, OverflowError)
DAMAGED = (*UNREADABLE, csv.Error, zipfile.BadZipFile, zlib.error, ParseError)

PathLike = str | os.PathLike[str]
T = TypeVar("T")


def read_graph(
    path: PathLike,
    *,
    features: PathLike | None = None,
    labels: PathLike | None = None,
    node_features: str | None = None,
) -> Data:
    """The graph in a file, with features and labels from files of their own where the graph file has none.

    `.npz` (keys in `sfa.data.files.npz`), `.csv`/`.tsv`/`.txt` (edge list), `.pt` (PyG Data), `.gml`, `.graphml`.
    Features larger than the memory go into a `.npy` file of their own, which is mapped; a part of a `.npz`, which is a
    zip archive, cannot be. Where there are no features at all, `node_features` says what to make them of: `degree`,
    `random` or `spectral` (see `sfa.data.structural`).
    """
    graph_path = _existing(path, "graph")
    if graph_path.suffix.lower() not in SUFFIXES:
        given = f"the suffix {graph_path.suffix!r}" if graph_path.suffix else "no suffix"
        raise InputError(
            f"A graph cannot be read from {graph_path}: it has {given}, allowed are {', '.join(SUFFIXES)}."
        )
    if node_features is not None:
        NodeFeatures.parse(node_features)  # before anything is read
    feature_path = None if features is None else _existing(features, "feature")
    label_path = None if labels is None else _existing(labels, "label")
    table = None if feature_path is None else _reading(feature_path, read_features)
    parts = _reading(graph_path, lambda file: _read_parts(file, table, label_path, node_features))
    if table is not None:
        join_features(parts, table)
    if parts.x is None and node_features is None:
        raise InputError(
            f"{graph_path} has no node features; give them with features=FILE (--features FILE), put them into the "
            f"file (key x or attr_data in .npz, x in .pt, node attribute x in .gml and .graphml), {OR_MAKE_THEM}."
        )
    _count_nodes(parts, graph_path)
    if label_path is not None:
        _reading(label_path, lambda file: join_labels(parts, file))
    return build_graph(
        parts.x,
        parts.edges,
        edge_weight=parts.edge_weight,
        y=parts.y,
        masks=parts.masks,
        node_ids=parts.node_ids,
        class_names=parts.class_names,
        name=parts.name or graph_path.stem,
        node_features=node_features,
        num_nodes=parts.num_nodes,
    )


def _read_parts(path: Path, table: FeatureTable | None, labels: Path | None, node_features: str | None) -> Parts:
    match path.suffix.lower():
        case ".npz":
            return read_npz(path)
        case ".pt":
            return read_torch(path)
        case ".gml" | ".graphml":
            return read_networkx(path)
    if table is not None:
        return read_edge_list(path, table)
    if node_features is not None:
        return read_bare_edge_list(path, () if labels is None else _reading(labels, labelled_nodes))
    raise InputError(
        f"{path} is an edge list, which has no node features; give them as well with features=FILE (--features FILE), "
        f"a .csv or .parquet (first column the node id) or a .npy (row i for node i), {OR_MAKE_THEM}."
    )


def _count_nodes(parts: Parts, path: Path) -> None:
    """Settles how many nodes there are."""
    if parts.x is None:
        parts.num_nodes = count_nodes(parts.num_nodes, (parts.node_ids, parts.y), to_numpy(parts.edges))
        return
    if not hasattr(parts.x, "shape"):
        parts.x = to_numpy(parts.x)
    rows = parts.x.shape[0] if len(parts.x.shape) else 0
    if parts.num_nodes not in (None, rows):
        raise InputError(f"{path} has {parts.num_nodes} nodes, but there are {rows} rows of features.")
    parts.num_nodes = rows


def _reading(path: Path, read: Callable[[Path], T]) -> T:
    """What is read from a file, or a sentence on why it cannot be."""
    try:
        return read(path)
    except InputError:
        raise
    except DAMAGED as error:
        reason = (str(error) or type(error).__name__).splitlines()[0].rstrip(".")
        raise InputError(f"{path} cannot be read, it may be damaged or of another format: {reason}.") from error


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
