"""Read a graph or a graph set from a file or a folder; the reader is chosen by suffix."""

from pathlib import Path

from torch_geometric.data import Data

from sfa.data.downloads import existing, explain_damage
from sfa.data.graph import count_nodes
from sfa.data.labels import check_ids
from sfa.data.raw import build, in_graph, join_graphs
from sfa.data.readers.graph_formats import read_networkx, read_npz, read_torch
from sfa.data.readers.graph_tables import SUFFIXES as FEATURE_SUFFIXES
from sfa.data.readers.graph_tables import join_features, read_edge_list, read_features
from sfa.data.readers.image_file import SUFFIXES as IMAGE_SUFFIXES
from sfa.data.readers.tables import read_labels, read_pairs
from sfa.data.structural import OR_MAKE_THEM, NodeFeatures
from sfa.errors import InputError
from sfa.folders import PathLike
from sfa.tasks import Task

READERS = {".npz": read_npz, ".pt": read_torch, ".gml": read_networkx, ".graphml": read_networkx}
SUFFIXES = (".npz", ".csv", ".tsv", ".txt", ".pt", ".gml", ".graphml")
LABELS = "labels.csv"
FEATURES = ".features"


def read_graph(
    path: PathLike,
    *,
    features: PathLike | None = None,
    labels: PathLike | None = None,
    node_features: str | None = None,
) -> Data:
    """Read the graph in a file, with features and labels from files of their own where the graph file has none.

    The file is a `.npz` (keys in `sfa.data.readers.graph_formats`), `.csv`, `.tsv` or `.txt` (edge list), `.pt` (PyG
    Data), `.gml` or `.graphml`. A graph set is a folder with one file a graph (see `read_graph_folder`), a `.npz` with
    a key `ptr`, or a `.pt` with a list of PyG Data; `labels` are then of the graphs.

    Features larger than the memory go into a `.npy` file of their own, which is mapped. Where there are no features at
    all, `node_features` says what to make them of: `degree`, `random` or `spectral` (see `sfa.data.structural`).
    """
    if node_features is not None:
        NodeFeatures.parse(node_features)  # before anything is read
    full = existing(path, "graph", or_folder=True)
    if full.is_dir():
        if features is not None:
            raise InputError(
                f"{full} is a folder of graphs, so leave out features= (--features): those of the graph NAME are "
                "looked for in NAME.features.csv or NAME.features.npy there."
            )
        return read_graph_folder(full, labels=labels, node_features=node_features)
    if full.suffix.lower() not in SUFFIXES:
        raise InputError(
            f"A graph cannot be read from {full}: its suffix must be one of {', '.join(SUFFIXES)}. Images are given as "
            "the folder that they are in."
        )
    label_path = None if labels is None else existing(labels, "label")
    table = None if features is None else read_features(existing(features, "feature"))
    raw = _read_raw(full, table, label_path, node_features)
    item: Task = "node" if raw.get("ptr") is None else "graph"
    if item == "node":
        if table is not None:
            join_features(raw, table)
        if raw.x is None and node_features is None:
            raise _no_features(full)
        ids = raw.get("node_ids")
        count = count_nodes(raw.x, raw.get("num_nodes"), raw.edge_index, ids, raw.y)
    elif table is not None:
        raise InputError(f"{full} is a graph set, which has its features in the same file: leave out {features}.")
    else:
        ids, count = raw.get("graph_ids"), len(raw.ptr) - 1
    if label_path is not None:
        if raw.y is not None:
            raise InputError(
                "Labels are given twice: the graph or feature file has its own, so leave out labels= (--labels)."
            )
        raw.y = read_labels(label_path, range(count) if ids is None else ids, item)
    return build(raw, name=full.stem, node_features=node_features)


def read_graph_folder(folder: Path, *, labels: PathLike | None = None, node_features: str | None = None) -> Data:
    """Read the graphs of a folder, in the order of their file names; a graph is called by its file's name.

        my_graphs/
            aspirin.gml
            water.csv
            water.features.csv
            labels.csv

    Each file that `read_graph` can read is a graph; others, and folders, are left alone. `NAME.features.csv` (or
    `.tsv`, `.txt`, `.parquet`, `.npy`) has the features of the graph `NAME`, if its own file has none. `labels.csv`, or
    in its place the file given as `labels`, is a table (id, label) of the graphs; labels of nodes do not count. All
    graphs have features, equally many, or none has: then they are made of the number of neighbors.
    """
    with explain_damage(f"The folder {folder}"):
        files = {path.name: path for path in sorted(folder.iterdir()) if path.is_file() and path.name[0] != "."}
    if any(name.endswith("_graph_indicator.txt") for name in files):
        raise InputError(
            f"The folder {folder} has the raw files of a TUDataset in it: load it by its name, tu:NAME, with the "
            "folder that holds TUDataset/NAME/raw as data root."
        )
    label_path = files.pop(LABELS, None)
    if labels is not None:
        label_path = existing(labels, "label")
        files = {name: file for name, file in files.items() if not file.samefile(label_path)}
    tables = {
        file.stem.removesuffix(FEATURES): file
        for file in files.values()
        if file.stem.endswith(FEATURES) and file.suffix.lower() in FEATURE_SUFFIXES
    }
    graphs = [file for file in files.values() if file not in tables.values() and file.suffix.lower() in SUFFIXES]
    if not graphs:
        raise InputError(
            f"The folder {folder} has no graph files in it ({', '.join(SUFFIXES)}), and no images "
            f"({', '.join(IMAGE_SUFFIXES)})."
        )
    ids = check_ids([graph.stem for graph in graphs], len(graphs), "graph")
    lonely = next((one for one in tables if one not in ids), None)
    if lonely is not None:
        raise InputError(f"{tables[lonely]} has the features of a graph {lonely!r}, which {folder} does not have.")
    raw = join_graphs([_read_member(graph, tables.get(graph.stem)) for graph in graphs], ids)
    if label_path is not None:
        raw.y = read_labels(label_path, ids, "graph")
    return build(raw, name=folder.resolve().name or "graphs", node_features=node_features)


def _read_raw(path: Path, table: Data | None, labels: Path | None, node_features: str | None) -> Data:
    """Read a graph file; an edge list takes its nodes from the features, or from itself and the labels."""
    if path.suffix.lower() in READERS:
        with explain_damage(path):
            return READERS[path.suffix.lower()](path)
    if table is None and node_features is None:
        raise _no_features(path)
    others = [] if labels is None or table is not None else read_pairs(labels)[0]
    with explain_damage(path):
        if table is None:
            return read_edge_list(path, others=others)
        return read_edge_list(path, table.get("node_ids") or range(len(table.x)))


def _no_features(path: Path) -> InputError:
    return InputError(
        f"{path} has no node features; give them with features=FILE (--features FILE), a .csv or .parquet (first "
        "column the node id) or a .npy (row i for node i), put them into the file (x or attr_data in .npz, x in .pt, "
        f"node attribute x in .gml and .graphml; an edge list has none), {OR_MAKE_THEM}."
    )


def _read_member(path: Path, features: Path | None) -> Data:
    """Read one graph of a folder."""
    table = None if features is None else read_features(features)
    raw = _read_raw(path, table, None, "degree")
    if raw.get("ptr") is not None:
        raise InputError(f"{path} is a graph set itself, but each file of a folder is one graph.")
    if table is not None:
        raw.y = None  # of nodes, as the table's may be
        with in_graph(path.stem):
            join_features(raw, table)
    if raw.get("num_nodes") is None and raw.get("node_ids") is not None:
        raw.num_nodes = len(raw.node_ids)
    return raw
