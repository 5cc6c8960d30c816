"""NumPy `.npz` graph files: our own keys, gnn-benchmark's CSR keys, and SciPy's saved sparse matrices.

features   `x` [n, d], or CSR `attr_data`, `attr_indices`, `attr_indptr`, `attr_shape`
edges      `edge_index` [2, m], or CSR `adj_data`, `adj_indices`, `adj_indptr`, `adj_shape`
optional   `edge_weight` [m], `y` or `labels` [n], `class_names` [C], `node_ids` [n],
           `train_mask`, `val_mask`, `test_mask` [n] or [n, splits]

With a key `ptr` [G + 1] the file is a graph set, the union of G graphs: the nodes ptr[g], …, ptr[g + 1] - 1 are those
of graph g, `y` or `labels` [G] are the graphs', and `graph_ids` [G] may name them.

A file of `scipy.sparse.save_npz` is an adjacency; its features come from another file.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sfa.data.edges import adjacency_edges
from sfa.data.labels import MASKS, given_masks
from sfa.data.readers.tables import Parts
from sfa.errors import InputError

CSR_PARTS = ("data", "indices", "indptr", "shape")
KEYS = {"x", "edge_index", "edge_weight", "y", "labels", "class_names", "node_ids", "ptr", "graph_ids", *MASKS} | {
    f"{prefix}_{part}" for prefix in ("attr", "adj") for part in CSR_PARTS
}
SAME = (("y", "labels"), ("x", "attr_data"), ("edge_index", "adj_data"), ("edge_weight", "adj_data"))


def read_npz(path: Path) -> Parts:
    """The parts of a `.npz` file; nothing in it is ever unpickled."""
    arrays = read_arrays(path)
    if {"format", "shape", "data"} <= arrays.keys():
        return _scipy_adjacency(path)
    check_keys(arrays, path, KEYS, SAME)

    node_ids = arrays.get("node_ids")
    graph_ids = arrays.get("graph_ids")
    class_names = arrays.get("class_names")
    parts = Parts(
        edges=None,
        edge_weight=arrays.get("edge_weight"),
        x=_features(arrays, path),
        y=arrays.get("y", arrays.get("labels")),
        class_names=None if class_names is None else [str(name) for name in class_names],
        node_ids=None if node_ids is None else node_ids.tolist(),
        masks=given_masks(arrays),
        ptr=arrays.get("ptr"),
        graph_ids=None if graph_ids is None else graph_ids.tolist(),
    )
    if "edge_index" in arrays:
        parts.edges = arrays["edge_index"]
    elif any(key.startswith("adj_") for key in arrays):
        adjacency = _csr(arrays, "adj", path)
        parts.num_nodes = adjacency.shape[0]
        parts.edges, parts.edge_weight = adjacency_edges(adjacency, adjacency.shape[0])
    else:
        raise InputError(f"{path} has no edges: {_missing(arrays, ['edge_index', 'adj_data'], ' or ')}.")
    return parts


def read_arrays(path: Path) -> dict[str, Any]:
    """All arrays of a `.npz` file by their keys; nothing in it is ever unpickled."""
    with path.open("rb") as opened:
        file = np.load(opened, allow_pickle=False)
        if isinstance(file, np.ndarray):
            raise InputError(f"{path} is a single NumPy array, not an npz archive; save it with numpy.savez.")
        return {key: _array(file, key, path) for key in file.files}


def check_keys(arrays: dict[str, Any], path: Path, keys: set[str], same: Sequence[tuple[str, str]]) -> None:
    """Other keys may be there, but none that is a slip of the pen, and no two for the same thing."""
    for stranger in arrays.keys() - keys:
        meant = difflib.get_close_matches(stranger, keys - arrays.keys(), n=1, cutoff=0.85)
        if meant:
            raise InputError(f"{path} has an unknown key {stranger!r}: is {meant[0]!r} meant? Rename or remove it.")
    for one, other in same:
        if one in arrays and other in arrays:
            raise InputError(f"{path} has both {one!r} and {other!r}, which say the same: keep one of them.")


def _array(file: Any, key: str, path: Path) -> Any:
    try:
        return file[key]
    except ValueError as error:
        if "allow_pickle" not in str(error):
            raise
        raise InputError(
            f"{path} holds Python objects under the key {key!r}, which are never unpickled; "
            "save it as an array of numbers or of text (for instance array.astype(str))."
        ) from None


def _features(arrays: dict[str, Any], path: Path) -> Any:
    if "x" in arrays:
        return arrays["x"]
    if any(key.startswith("attr_") for key in arrays):
        return _csr(arrays, "attr", path)
    return None


def _csr(arrays: dict[str, Any], prefix: str, path: Path) -> Any:
    from scipy import sparse

    lacking = [f"{prefix}_{part}" for part in CSR_PARTS if f"{prefix}_{part}" not in arrays]
    if lacking:
        raise InputError(f"{path} has an incomplete sparse matrix: {_missing(arrays, lacking, ' and ')}.")
    data, indices, indptr, shape = (arrays[f"{prefix}_{part}"] for part in CSR_PARTS)
    if data.dtype == np.float16:  # which SciPy does not have
        data = data.astype(np.float32)
    matrix = sparse.csr_array(
        (data, indices.astype(np.int64), indptr.astype(np.int64)), shape=tuple(int(size) for size in shape)
    )
    matrix.check_format(full_check=True)  # a wrong index would otherwise read beyond the arrays
    return matrix


def _scipy_adjacency(path: Path) -> Parts:
    from scipy import sparse

    matrix = sparse.coo_array(sparse.load_npz(path))
    edges, weight = adjacency_edges(matrix, matrix.shape[0])
    return Parts(edges=edges, edge_weight=weight, num_nodes=matrix.shape[0])


def _missing(arrays: dict[str, Any], keys: list[str], between: str) -> str:
    """The keys that are not there, the nearest stranger that is, and all that are."""
    strangers = [key for key in arrays if key not in KEYS]
    near = [match for key in keys for match in difflib.get_close_matches(key, strangers, n=1, cutoff=0.4)]
    hint = f" (is {near[0]!r} meant to be it?)" if near else ""
    return f"the key {between.join(keys)} is missing{hint}; the file holds {', '.join(sorted(arrays)) or 'nothing'}"
