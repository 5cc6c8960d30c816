"""A folder with one file a graph -> a graph set."""

from __future__ import annotations

import functools
from pathlib import Path

from torch_geometric.data import Data

from sfa.data.graph import check_ids
from sfa.data.graphs import OneGraph, in_graph, join_graphs
from sfa.data.readers.features import SUFFIXES as FEATURE_SUFFIXES
from sfa.data.readers.features import read_features
from sfa.data.readers.graph_file import SUFFIXES, PathLike, existing, read_parts, reading
from sfa.data.readers.join import join_features, read_labels
from sfa.errors import InputError

LABELS = "labels.csv"
FEATURES = ".features"


def read_graph_folder(folder: Path, *, labels: PathLike | None = None, node_features: str | None = None) -> Data:
    """The graphs of a folder, in the order of their file names; a graph is called by its file's name without suffix.

        my_graphs/
            aspirin.gml
            water.csv
            water.features.csv
            labels.csv

    - Each file in one of the formats that `read_graph` reads is a graph. Other files, and folders, are left alone.
    - `NAME.features.csv` (or `.tsv`, `.txt`, `.parquet`, `.npy`) has the features of the nodes of `NAME`'s graph, if
      the graph's own file has none: the first column is the node's id, a `.npy` has numbers only.
    - `labels.csv`, or in its place the file given as `labels`, is a table (id, label) of the graphs. One that it does
      not list is unlabelled; labels of nodes do not count.

    All graphs have features, equally many, or none has: then they are made of the number of neighbours.
    """
    files = _files(folder)
    own_labels = files.pop(LABELS, None)
    label_path = own_labels if labels is None else existing(labels, "label")
    if labels is not None and label_path is not None:
        files = {name: file for name, file in files.items() if not file.samefile(label_path)}
    features = {name: file for name, file in files.items() if _is_features(file)}
    graphs = [file for name, file in files.items() if name not in features and file.suffix.lower() in SUFFIXES]
    if not graphs:
        raise InputError(
            f"The folder {folder} has no graph files in it; allowed are {', '.join(SUFFIXES)}, and images (.png, …)."
        )
    features_of = {file.stem[: -len(FEATURES)]: file for file in features.values()}
    ids = check_ids([graph.stem for graph in graphs], len(graphs), "graph")
    lonely = next((one for one in features_of if one not in ids), None)
    if lonely is not None:
        raise InputError(f"{features_of[lonely]} has the features of a graph {lonely!r}, which {folder} does not have.")
    return join_graphs(
        [_one_graph(graph, features_of.get(graph.stem)) for graph in graphs],
        y=None if label_path is None else reading(label_path, functools.partial(read_labels, ids=ids, item="graph")),
        graph_ids=ids,
        name=folder.resolve().name or "graphs",
        node_features=node_features,
    )


def _files(folder: Path) -> dict[str, Path]:
    """The folder's files by name, sorted; none that is hidden."""
    try:
        files = {path.name: path for path in sorted(folder.iterdir()) if path.is_file() and path.name[0] != "."}
    except OSError as error:
        raise InputError(f"The folder {folder} cannot be read: {error.strerror or error}.") from error
    if any(name.endswith("_graph_indicator.txt") for name in files):
        raise InputError(
            f"The folder {folder} has the raw files of a TUDataset in it: load it by its name, tu:NAME, with the "
            "folder that holds TUDataset/NAME/raw as data root."
        )
    return files


def _is_features(file: Path) -> bool:
    return file.stem.endswith(FEATURES) and file.suffix.lower() in FEATURE_SUFFIXES


def _one_graph(path: Path, features: Path | None) -> OneGraph:
    table = None if features is None else reading(features, read_features)
    parts = reading(path, lambda file: read_parts(file, table, None, "degree"))
    if parts.ptr is not None:
        raise InputError(f"{path} is a graph set itself, but each file of a folder is one graph.")
    if table is not None:
        parts.y = None  # of nodes, as the table's may be
        with in_graph(path.stem):
            join_features(parts, table)
    named = None if parts.node_ids is None else len(parts.node_ids)
    return OneGraph(parts.edges, parts.edge_weight, parts.x, named if parts.num_nodes is None else parts.num_nodes)
