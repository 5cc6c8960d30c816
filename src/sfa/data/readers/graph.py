"""Read a graph or a graph set from a file or a folder; the reader is chosen by suffix."""

import pickle
import warnings
from pathlib import Path
from typing import Any
from xml.parsers import expat

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import sparse
from torch_geometric.data import Data
from torch_geometric.data.data import DataEdgeAttr, DataTensorAttr
from torch_geometric.data.storage import GlobalStorage

from sfa.data.arrays import check_indices, check_keys, read_arrays
from sfa.data.convert import as_graphs
from sfa.data.downloads import explain_damage, explained
from sfa.data.encode import Encode
from sfa.data.graph import adjacency_edges, count_nodes
from sfa.data.labels import MASKS, check_ids
from sfa.data.raw import build, from_networkx, in_graph, join_graphs
from sfa.data.readers.edge_list import BY_NAME, EdgeColumns, read_edge_list
from sfa.data.readers.image_file import SUFFIXES as IMAGE_SUFFIXES
from sfa.data.readers.molecules import find_smiles, read_molecules
from sfa.data.readers.pickled import check_torch_file
from sfa.data.readers.tables import SUFFIXES as FEATURE_SUFFIXES
from sfa.data.readers.tables import parse_ids, read_features, read_labels, read_pairs
from sfa.data.structural import OR_MAKE_THEM, NodeFeatures
from sfa.errors import InputError, MissingFeaturesError
from sfa.folders import PathLike, existing, require_regular_file
from sfa.memory import memory_bytes, require_memory

SUFFIXES = (".npz", ".csv", ".tsv", ".txt", ".pt", ".gml", ".graphml")
LABELS = "labels.csv"
FEATURES = ".features"


@explained
def read_graph(
    path: PathLike,
    *,
    features: PathLike | None = None,
    labels: PathLike | None = None,
    node_features: str | None = None,
    columns: EdgeColumns = BY_NAME,
    encode: Encode = None,
) -> Data:
    """Read the graph in a file, with features and labels from files of their own where the graph file has none.

    The file is a `.npz` (see `read_npz`), `.csv`, `.tsv` or `.txt` (edge list), `.pt` (PyG Data), `.gml` or `.graphml`;
    nothing in it is ever run or unpickled. A graph set is a folder (see `read_graph_folder`), a `.npz` with a key `ptr`
    or a `.pt` with a list of PyG Data, or a table of SMILES (`read_molecules`); `labels` are then its graphs'. Where
    there are no features, `node_features` says what to make them of: `degree`, `random` or `spectral`. `columns` are
    those of edge lists, and `encode` says how a table of features becomes numbers (see `encode_frame`).
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
        return read_graph_folder(full, labels, node_features, columns, encode)
    if find_smiles(full):
        given = {"features": features, "node-features": node_features, **columns.given}
        return read_molecules(full, None if labels is None else existing(labels, "label"), given)
    if full.suffix.lower() not in SUFFIXES:
        raise InputError(
            f"A graph cannot be read from {full}: its suffix must be one of {', '.join(SUFFIXES)}, .smi. Images are "
            "given as the folder that they are in."
        )
    label_path = None if labels is None else existing(labels, "label")
    table = None if features is None else read_features(existing(features, "feature"), encode)
    raw = _read_raw(full, table, label_path, node_features, columns)
    is_set = raw.get("ptr") is not None
    if table is not None:
        if is_set:
            raise InputError(f"{full} is a graph set, which has its features in the same file: leave out {features}.")
        join_features(raw, table)
    if not is_set and raw.x is None and node_features is None and getattr(raw.get("attributes"), "empty", True):
        raise _no_features(full)
    if label_path is not None:
        if raw.y is not None:
            raise InputError(
                "Labels are given twice: the graph or feature file has its own, so leave out labels= (--labels)."
            )
        ids = raw.get("graph_ids" if is_set else "node_ids")
        count = len(raw.ptr) - 1 if is_set else count_nodes(raw.x, raw.get("num_nodes"), raw.edge_index)
        raw.y = read_labels(label_path, range(count) if ids is None else ids, "graph" if is_set else "node")
    return build(raw, name=full.stem, node_features=node_features, encode=encode)


def read_graph_folder(
    folder: Path, labels: PathLike | None, node_features: str | None, columns: EdgeColumns, encode: Encode
) -> Data:
    """Read the graphs of a folder, in the order of their file names; a graph is called by its file's name.

    Each file that `read_graph` can read is a graph; others, and folders, are left alone. `NAME.features.csv` (or
    `.npy`, …) has the features of the graph `NAME`, if its own file has none. `labels.csv`, or in its place the file
    given as `labels`, is a table (id, label) of the graphs; labels of nodes do not count.
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
    raw = join_graphs([_read_member(graph, tables.get(graph.stem), columns) for graph in graphs], ids)
    if label_path is not None:
        raw.y = read_labels(label_path, ids, "graph")
    return build(raw, name=folder.resolve().name or "graphs", node_features=node_features, encode=encode)


def _read_raw(
    path: Path, table: Data | None, labels: Path | None, node_features: str | None, columns: EdgeColumns
) -> Data:
    """Read a graph file; an edge list takes its nodes from the features, or from itself and the labels."""
    suffix = path.suffix.lower()
    if suffix in READERS:
        needless = columns.given.keys() - ({"weight"} if suffix in (".gml", ".graphml") else set())
        if needless:
            options = ", ".join(f"--{key} ({key}=)" for key in columns.given if key in needless)
            raise InputError(f"{path} is no edge list (.csv, .tsv, .txt), so leave out {options}.")
        with explain_damage(path):
            return READERS[suffix](path, **columns.given)
    if table is None and node_features is None:
        raise _no_features(path)
    ids = None if table is None else table.get("node_ids") or range(len(table.x))
    others = [] if labels is None or table is not None else read_pairs(labels)[0]
    with explain_damage(path):
        return read_edge_list(path, ids, others, columns)


def _no_features(path: Path) -> MissingFeaturesError:
    return MissingFeaturesError(
        f"{path} has no node features; give them with features=FILE (--features FILE), a .csv or .parquet (first "
        "column the node id) or a .npy (row i for node i), put them into the file (x or attr_data in .npz, x in .pt, "
        f"node attribute x in .gml and .graphml; an edge list has none), {OR_MAKE_THEM}."
    )


def _read_member(path: Path, features: Path | None, columns: EdgeColumns) -> Data:
    """Read one graph of a folder."""
    table = None if features is None else read_features(features, "none")
    raw = _read_raw(path, table, None, "degree", columns)
    if raw.get("ptr") is not None:
        raise InputError(f"{path} is a graph set itself, but each file of a folder is one graph.")
    if table is not None:
        raw.y = None  # of nodes, as the table's may be
        with in_graph(path.stem):
            join_features(raw, table)
    if raw.get("num_nodes") is None and raw.get("node_ids") is not None:
        raw.num_nodes = len(raw.node_ids)
    return raw


def join_features(raw: Data, table: Data) -> None:
    """Put the table's rows into the order of the graph's nodes.

    Where the graph file names no nodes, a table whose ids are 0..n-1 is sorted by them, and any other is taken row by
    row, its ids becoming the nodes'. A `.npy` table has no ids, so what is mapped is never put in order.
    """
    if raw.x is not None:
        raise InputError("Features are given twice: the graph file has its own, so leave out features= (--features).")
    if raw.y is not None and table.y is not None:
        raise InputError("Labels are given twice: in the graph file and in the feature file's column 'label'.")
    raw.x, raw.y = table.x, raw.y if table.y is None else table.y
    raw.encoding, raw.features_note = table.get("encoding"), table.get("features_note")
    if table.get("node_ids") is None:
        return
    row_of = {str(one): row for row, one in enumerate(table.node_ids)}
    if raw.get("node_ids") is None:
        is_counted = row_of.keys() == {str(i) for i in range(len(row_of))}
        raw.node_ids = list(range(len(row_of))) if is_counted else list(table.node_ids)
    nodes = [str(one) for one in raw.node_ids]
    if row_of.keys() != set(nodes):
        missing, strange = sorted(set(nodes) - row_of.keys()), sorted(row_of.keys() - set(nodes))
        what = f"no row for the node {missing[0]!r} of" if missing else f"a row for the node {strange[0]!r}, not in"
        raise InputError(f"The feature file has {what} the graph; each node needs one row.")
    order = [row_of[one] for one in nodes]
    raw.x = table.x[order]
    if table.y is not None:
        raw.y = table.y[order]


CSR_PARTS = ("data", "indices", "indptr", "shape")
OWN = {"x", "edge_index", "edge_weight", "y", "class_names", "node_ids", "ptr", "graph_ids", *MASKS}
KEYS = OWN | {"labels"} | {f"{prefix}_{part}" for prefix in ("attr", "adj") for part in CSR_PARTS}
SCIPY_KEYS = {"format", "shape", "data", "indices", "indptr", "row", "col", "coords", "offsets"}
SAME = (("y", "labels"), ("x", "attr_data"), ("edge_index", "adj_data"), ("edge_weight", "adj_data"))
# What a saved Data is made of; torch_geometric tells torch of only some of it.
SAFE = [Data, DataEdgeAttr, DataTensorAttr, GlobalStorage]


def read_npz(path: Path) -> Data:
    """Read a `.npz`: the arguments of `build_graph` or, with `ptr`, of `build_graphs` by name (edges: `edge_index`).

    Features and edges may be CSR matrices, under gnn-benchmark's keys `attr_data`, `attr_indices`, `attr_indptr`,
    `attr_shape` and `adj_data`, …. A file of `scipy.sparse.save_npz` is an adjacency, without features.
    """
    arrays = read_arrays(path, KEYS | SCIPY_KEYS)
    if {"format", "shape", "data"} <= arrays.keys():
        raw, adjacency = Data(), _read_scipy(arrays, path)
    else:
        check_keys(arrays, path, KEYS, SAME)
        raw = Data.from_dict({key: value for key, value in arrays.items() if key in OWN})
        if "labels" in arrays:
            raw.y = arrays["labels"]
        for key in ("node_ids", "graph_ids"):
            if key in raw:
                raw[key] = raw[key].tolist()
        if "x" not in arrays and any(key.startswith("attr_") for key in arrays):
            raw.x = read_csr(arrays, "attr", path)
        if "edge_index" in arrays:
            return raw
        if not any(key.startswith("adj_") for key in arrays):
            holds = ", ".join(sorted(arrays)) or "nothing"
            raise InputError(f"{path} has no edges: the key edge_index or adj_data is missing; the file holds {holds}.")
        adjacency = read_csr(arrays, "adj", path)
    raw.num_nodes = int(adjacency.shape[0])
    raw.edge_index, raw.edge_weight = adjacency_edges(adjacency, raw.num_nodes)
    return raw


def read_torch(path: Path) -> Data:
    """Read a saved PyG `Data`, a dictionary of its tensors, or a list of Data; a file with anything else is refused."""
    try:
        check_torch_file(require_regular_file(path, max_bytes=memory_bytes()))
        with torch.serialization.safe_globals(SAFE), warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # about pickles that it then refuses
            loaded = torch.load(path, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError as error:
        raise InputError(
            f"{path} cannot be loaded safely: it is damaged, or holds more than tensors and a torch_geometric Data; "
            "save Data(x=..., edge_index=..., y=...) with torch.save."
        ) from error
    if isinstance(loaded, (list, tuple)) and all(isinstance(one, Data) for one in loaded):
        loaded = as_graphs(loaded, name=path.stem)
        if "features_of" in loaded:
            loaded.x = None  # not the file's: what they are to be made of is yet to be said
    if isinstance(loaded, dict):
        loaded = Data.from_dict(loaded)
    if not isinstance(loaded, Data):
        raise InputError(
            f"{path} holds a {type(loaded).__name__}, but a torch_geometric Data or a list of them is needed."
        )
    if loaded.edge_index is None:
        raise InputError(f"{path} has no edge_index; it holds {', '.join(loaded.keys()) or 'nothing'}.")
    loaded.mapped_features = False  # wherever the features were when it was saved
    return loaded


def read_networkx(path: Path, weight: str | None = None) -> Data:
    """Read a GML or GraphML file by its attributes (see `from_networkx`); in GML `label` names the node, not a class.

    GraphML has no lists: features are written as one text, such as "0.5 1 0" or "[0.5, 1, 0]".
    """
    import networkx as nx

    require_regular_file(path, max_bytes=memory_bytes())
    if path.suffix.lower() == ".gml":
        graph = nx.read_gml(path, label="id")
        names = nx.get_node_attributes(graph, "label")
        if len(set(names.values())) != len(names) or len(names) not in (0, len(graph)):
            raise InputError(f"{path} does not give each node a label of its own, as GML has them: all, or none.")
        for node in names:
            del graph.nodes[node]["label"]
        graph = nx.relabel_nodes(graph, names)
    else:
        _check_graphml(path)
        graph = nx.read_graphml(path)
    raw = from_networkx(graph, weight=weight)
    raw.node_ids, raw.name = list(parse_ids(raw.node_ids)), None
    return raw


def _check_graphml(path: Path) -> None:
    """Raise if there is what NetworkX would read in silence: a node twice, an unknown one, a second graph, entities."""
    nodes: list[str | None] = []
    ends: set[str | None] = set()
    graphs: list[str] = []

    def start(tag: str, attributes: dict[str, str]) -> None:
        kind = tag.rpartition(":")[2]
        if kind == "node":
            nodes.append(attributes.get("id"))
        elif kind == "edge":
            ends.update((attributes.get("source"), attributes.get("target")))
        elif kind == "graph":
            graphs.append(tag)

    def refuse(*entity: object) -> None:
        raise InputError(f"{path} defines entities, which can unfold into any size; write their text in their place.")

    parser = expat.ParserCreate()
    parser.StartElementHandler, parser.EntityDeclHandler = start, refuse
    with path.open("rb") as file:
        parser.ParseFile(file)
    known = set(nodes)
    if len(known) < len(nodes):
        raise InputError(f"{path} has {len(nodes)} nodes with {len(known)} ids; each node needs an id of its own.")
    if ends - known:
        raise InputError(f"{path} has an edge at a node {(ends - known).pop()!r} that it does not have.")
    if len(graphs) > 1:
        raise InputError(f"{path} holds {len(graphs)} graphs, and one is needed; give a set as a folder of such files.")


def read_csr(arrays: dict[str, Any], prefix: str, path: Path) -> Any:
    """Return the CSR matrix that is under gnn-benchmark's keys, its indices checked."""
    lacking = [f"{prefix}_{part}" for part in CSR_PARTS if f"{prefix}_{part}" not in arrays]
    if lacking:
        raise InputError(
            f"{path} has an incomplete sparse matrix: the key {' and '.join(lacking)} is missing; the file holds "
            f"{', '.join(sorted(arrays))}."
        )
    data, indices, indptr, shape = (arrays[f"{prefix}_{part}"] for part in CSR_PARTS)
    if data.dtype == np.float16:  # which SciPy does not have
        data = data.astype(np.float32)
    matrix = sparse.csr_array((data, _integers(indices), _integers(indptr)), shape=_shape(shape))
    check_indices(matrix)
    return matrix


def _read_scipy(arrays: dict[str, Any], path: Path) -> Any:
    """Return the matrix that `scipy.sparse.save_npz` has written; its indices are yet to be checked."""
    kind, parts = str(arrays["format"].astype(str)), [arrays["data"]]
    if kind not in ("csr", "csc", "bsr", "coo", "dia"):
        raise InputError(f"{path} holds a {kind!r} matrix of SciPy; allowed are csr, csc, bsr, coo and dia.")
    if kind == "coo":
        ends = arrays["coords"] if "coords" in arrays else (arrays["row"], arrays["col"])
        parts.append(tuple(map(_integers, ends)))
    else:
        keys = ("offsets",) if kind == "dia" else ("indices", "indptr")
        parts += [_integers(arrays[key]) for key in keys]
    return getattr(sparse, f"{kind}_array")(tuple(parts), shape=_shape(arrays["shape"]))


def _integers(indices: NDArray[Any]) -> NDArray[np.int64]:
    if indices.dtype.kind not in "iu":
        raise ValueError(f"its indices are of the type {indices.dtype}, and integers are needed")
    return indices.astype(np.int64)


def _shape(shape: NDArray[Any]) -> tuple[int, ...]:
    """Return the shape of a matrix, before SciPy makes anything of this size."""
    sizes = tuple(_integers(shape).ravel().tolist())
    if len(sizes) != 2 or min(sizes) < 0:
        raise ValueError(f"its shape is {list(sizes)}, and [rows, columns] is needed")
    require_memory(64 * sum(sizes), f"A sparse matrix of shape {list(sizes)}")
    return sizes


READERS = {".npz": read_npz, ".pt": read_torch, ".gml": read_networkx, ".graphml": read_networkx}
