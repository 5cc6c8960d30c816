"""Files -> the one graph container, or the one of graph sets. One format a file; this is the door."""

from __future__ import annotations

from pathlib import Path

from torch_geometric.data import Data

from sfa.data.arrays import to_numpy
from sfa.data.graph import build_graph, count_nodes
from sfa.data.graphs import build_graphs
from sfa.data.readers.features import read_features
from sfa.data.readers.graph_file import SUFFIXES, PathLike, existing, read_parts, reading
from sfa.data.readers.graph_folder import read_graph_folder
from sfa.data.readers.join import join_features, join_labels
from sfa.data.readers.tables import Parts
from sfa.data.structural import OR_MAKE_THEM, NodeFeatures
from sfa.errors import InputError


def read_graph(
    path: PathLike,
    *,
    features: PathLike | None = None,
    labels: PathLike | None = None,
    node_features: str | None = None,
) -> Data:
    """The graph in a file, with features and labels from files of their own where the graph file has none.

    `.npz` (keys in `sfa.data.readers.npz`), `.csv`/`.tsv`/`.txt` (edge list), `.pt` (PyG Data), `.gml`, `.graphml`.

    A graph set is a folder with one file a graph (see `sfa.data.readers.graph_folder`), a `.npz` with a key `ptr`, or a
    `.pt` with a list of PyG Data; `labels` are then of the graphs.

    Features larger than the memory go into a `.npy` file of their own, which is mapped; a part of a `.npz`, which is a
    zip archive, cannot be. Where there are no features at all, `node_features` says what to make them of: `degree`,
    `random` or `spectral` (see `sfa.data.structural`).
    """
    if node_features is not None:
        NodeFeatures.parse(node_features)  # before anything is read
    graph_path = existing(path, "graph", or_folder=True)
    if graph_path.is_dir():
        if features is not None:
            raise InputError(
                f"{graph_path} is a folder of graphs, so leave out features= (--features): those of the graph NAME are "
                "looked for in NAME.features.csv or NAME.features.npy there."
            )
        return read_graph_folder(graph_path, labels=labels, node_features=node_features)
    if graph_path.suffix.lower() not in SUFFIXES:
        given = f"the suffix {graph_path.suffix!r}" if graph_path.suffix else "no suffix"
        raise InputError(
            f"A graph cannot be read from {graph_path}: it has {given}, allowed are {', '.join(SUFFIXES)}."
        )
    feature_path = None if features is None else existing(features, "feature")
    label_path = None if labels is None else existing(labels, "label")
    table = None if feature_path is None else reading(feature_path, read_features)
    parts = reading(graph_path, lambda file: read_parts(file, table, label_path, node_features))
    if parts.ptr is not None:
        return _graph_set(parts, graph_path, feature_path, label_path, node_features)
    if table is not None:
        join_features(parts, table)
    if parts.x is None and node_features is None:
        raise InputError(
            f"{graph_path} has no node features; give them with features=FILE (--features FILE), put them into the "
            f"file (key x or attr_data in .npz, x in .pt, node attribute x in .gml and .graphml), {OR_MAKE_THEM}."
        )
    _count_nodes(parts, graph_path)
    if label_path is not None:
        reading(label_path, lambda file: join_labels(parts, file))
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


def _graph_set(parts: Parts, path: Path, features: Path | None, labels: Path | None, node_features: str | None) -> Data:
    if features is not None:
        raise InputError(f"{path} is a graph set, which has its features in the same file: leave out {features}.")
    if labels is not None:
        reading(labels, lambda file: join_labels(parts, file))
    return build_graphs(
        parts.x,
        parts.edges,
        parts.ptr,
        edge_weight=parts.edge_weight,
        y=parts.y,
        graph_ids=parts.graph_ids,
        class_names=parts.class_names,
        name=parts.name or path.stem,
        node_features=node_features,
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
