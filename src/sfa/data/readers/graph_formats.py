"""Read graphs from `.npz`, `.pt`, `.gml` and `.graphml`, not checked yet. Nothing in a file is ever run or unpickled.

The keys of a NumPy `.npz` are our own, gnn-benchmark's CSR keys, or those of SciPy's saved sparse matrices:

features   `x` [n, d], or CSR `attr_data`, `attr_indices`, `attr_indptr`, `attr_shape`
edges      `edge_index` [2, m], or CSR `adj_data`, `adj_indices`, `adj_indptr`, `adj_shape`
optional   `edge_weight` [m], `y` or `labels` [n], `class_names` [C], `node_ids` [n],
           `train_mask`, `val_mask`, `test_mask` [n] or [n, splits]

With a key `ptr` [G + 1] the file is a graph set, the union of G graphs: the nodes ptr[g], …, ptr[g + 1] - 1 are those
of graph g, `y` or `labels` [G] are the graphs', and `graph_ids` [G] may name them.

A file of `scipy.sparse.save_npz` is an adjacency; its features come from another file.
"""

import difflib
import pickle
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from scipy import sparse
from torch_geometric.data import Data
from torch_geometric.data.data import DataEdgeAttr, DataTensorAttr
from torch_geometric.data.storage import GlobalStorage

from sfa.data.convert import as_graphs
from sfa.data.edges import adjacency_edges
from sfa.data.labels import MASKS
from sfa.data.raw import from_networkx
from sfa.data.readers.tables import parse_ids
from sfa.errors import InputError

CSR_PARTS = ("data", "indices", "indptr", "shape")
OWN = {"x", "edge_index", "edge_weight", "y", "class_names", "node_ids", "ptr", "graph_ids", *MASKS}
KEYS = OWN | {"labels"} | {f"{prefix}_{part}" for prefix in ("attr", "adj") for part in CSR_PARTS}
SAME = (("y", "labels"), ("x", "attr_data"), ("edge_index", "adj_data"), ("edge_weight", "adj_data"))
# What a saved Data is made of; torch_geometric tells torch of only some of it.
SAFE = [Data, DataEdgeAttr, DataTensorAttr, GlobalStorage]


def read_npz(path: Path) -> Data:
    """Read a `.npz` file."""
    arrays = read_arrays(path)
    if {"format", "shape", "data"} <= arrays.keys():
        return _with_adjacency(Data(), sparse.load_npz(path))
    check_keys(arrays, path, KEYS, SAME)
    raw = Data.from_dict({key: value for key, value in arrays.items() if key in OWN})
    if "labels" in arrays:
        raw.y = arrays["labels"]
    for key in ("node_ids", "graph_ids"):
        if key in raw:
            raw[key] = raw[key].tolist()
    if "x" not in arrays and any(key.startswith("attr_") for key in arrays):
        raw.x = _read_csr(arrays, "attr", path)
    if "edge_index" in arrays:
        return raw
    if not any(key.startswith("adj_") for key in arrays):
        holds = ", ".join(sorted(arrays)) or "nothing"
        raise InputError(f"{path} has no edges: the key edge_index or adj_data is missing; the file holds {holds}.")
    return _with_adjacency(raw, _read_csr(arrays, "adj", path))


def read_torch(path: Path) -> Data:
    """Read a saved PyG `Data`, a dictionary of its tensors, or a list of Data, which is a graph set.

    A file that needs more than tensors and PyG's own classes is refused.
    """
    try:
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
    names = loaded.get("class_names")
    if not isinstance(names, (list, tuple, type(None))):
        kind = type(names).__name__
        raise InputError(f"{path} has class_names that are a {kind}, but a list of names is needed.")
    loaded.mapped_features = False  # wherever the features were when it was saved
    return loaded


def read_networkx(path: Path) -> Data:
    """Read a GML or GraphML file: node attributes `x` or `features` and `y` or `label`, edge attribute `weight`.

    In GML the attribute `label` names the node, so the class is `y` there. GraphML has no lists: features are written
    as one text, such as "0.5 1 0" or "[0.5, 1, 0]".
    """
    import networkx as nx

    is_gml = path.suffix.lower() == ".gml"
    try:
        graph = nx.read_gml(path) if is_gml else nx.read_graphml(path)
    except nx.NetworkXError as error:
        if not is_gml or "label" not in str(error):
            raise
        graph = nx.read_gml(path, label="id")  # a GML file need not name its nodes
    raw = from_networkx(graph)
    raw.node_ids, raw.name = list(parse_ids(raw.node_ids)), None
    return raw


def read_arrays(path: Path) -> dict[str, Any]:
    """Return all arrays of a `.npz` file by their keys."""
    with path.open("rb") as opened:
        file = np.load(opened, allow_pickle=False)
        if isinstance(file, np.ndarray):
            raise InputError(f"{path} is a single NumPy array, not an npz archive; save it with numpy.savez.")
        arrays = {}
        for key in file.files:
            try:
                arrays[key] = file[key]
            except ValueError as error:
                if "allow_pickle" not in str(error):
                    raise
                raise InputError(
                    f"{path} holds Python objects under the key {key!r}, which are never unpickled; "
                    "save it as an array of numbers or of text (for instance array.astype(str))."
                ) from None
        return arrays


def check_keys(arrays: dict[str, Any], path: Path, keys: set[str], same: Sequence[tuple[str, str]]) -> None:
    """Refuse a key that is a slip of the pen, and two for the same thing; other keys may be there."""
    for stranger in arrays.keys() - keys:
        meant = difflib.get_close_matches(stranger, keys - arrays.keys(), n=1, cutoff=0.85)
        if meant:
            raise InputError(f"{path} has an unknown key {stranger!r}: is {meant[0]!r} meant? Rename or remove it.")
    for one, other in same:
        if one in arrays and other in arrays:
            raise InputError(f"{path} has both {one!r} and {other!r}, which say the same: keep one of them.")


def _with_adjacency(raw: Data, adjacency: Any) -> Data:
    raw.num_nodes = int(adjacency.shape[0])
    raw.edge_index, raw.edge_weight = adjacency_edges(adjacency, raw.num_nodes)
    return raw


def _read_csr(arrays: dict[str, Any], prefix: str, path: Path) -> Any:
    lacking = [f"{prefix}_{part}" for part in CSR_PARTS if f"{prefix}_{part}" not in arrays]
    if lacking:
        raise InputError(
            f"{path} has an incomplete sparse matrix: the key {' and '.join(lacking)} is missing; the file holds "
            f"{', '.join(sorted(arrays))}."
        )
    data, indices, indptr, shape = (arrays[f"{prefix}_{part}"] for part in CSR_PARTS)
    if data.dtype == np.float16:  # which SciPy does not have
        data = data.astype(np.float32)
    parts = data, indices.astype(np.int64), indptr.astype(np.int64)
    matrix = sparse.csr_array(parts, shape=tuple(int(size) for size in shape))
    matrix.check_format(full_check=True)  # a wrong index would otherwise read beyond the arrays
    return matrix
