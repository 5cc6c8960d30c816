"""Arrays -> the one graph container. Every graph of the project is made here, so what holds here holds everywhere."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch_geometric.data import Data

from sfa.data.edges import check_edges, check_weight, undirected_edges
from sfa.data.labels import encode_labels
from sfa.errors import InputError


def build_graph(
    x: Any,
    edges: Any,
    *,
    edge_weight: Any = None,
    y: Any = None,
    node_ids: Sequence[Any] | None = None,
    class_names: Sequence[str] | None = None,
    name: str = "graph",
) -> Data:
    """A checked, undirected graph.

    Args:
        x: features [n, d], NumPy, torch or SciPy sparse.
        edges: node positions [2, m], in any order and direction; loops and duplicates are dropped.
        edge_weight: one number >= 0 an edge [m]; see `undirected_edges` for duplicates.
        y: labels [n], integers or strings; -1, None, NaN or "" is unknown.
        node_ids: a name (str or int) for each node; 0..n-1 if not given.
        class_names: the names of the classes that integer labels count.
        name: what the graph is called in tables and pictures.

    Returns:
        Data with `x` float32 [n, d]; `edge_index` int64 [2, 2·pairs], sorted; `node_ids`; `name`; and, only where there
        are any, `edge_weight` float32 (symmetric, not all 1), `y` int64 (-1 unknown), `class_names`.
    """
    features = _features(x)
    num_nodes = len(features)
    index = check_edges(to_numpy(edges), num_nodes)
    weight = None if edge_weight is None else check_weight(to_numpy(edge_weight), index.shape[1])
    undirected, weight = undirected_edges(index, weight, num_nodes)
    if undirected.size == 0:
        raise InputError(
            f"The graph has no edges: all {index.shape[1]} given are self-loops or have weight 0; "
            "at least one edge between two different nodes is needed."
        )

    data = Data(x=torch.from_numpy(features), edge_index=torch.from_numpy(undirected))
    if weight is not None:
        data.edge_weight = torch.from_numpy(weight)
    if y is not None:
        labels, names = encode_labels(to_numpy(y), num_nodes, class_names)
        if labels is not None:
            data.y = torch.from_numpy(labels)
        if names is not None:
            data.class_names = names
    data.node_ids = list(range(num_nodes)) if node_ids is None else _node_ids(node_ids, num_nodes)
    data.name = str(name)
    return data


def fingerprint(data: Data) -> str:
    """The SHA-256 of x, edge_index, edge_weight and y, with shapes and dtypes; not of what anything is called.

    Features count by their non-zero entries: a graph has the same fingerprint with dense and with sparse ones.
    """
    digest = hashlib.sha256()
    for key in ("x", "edge_index", "edge_weight", "y"):
        value = getattr(data, key, None)
        if value is None:
            digest.update(f"{key}:none;".encode())
            continue
        array = np.ascontiguousarray(to_numpy(value))
        digest.update(f"{key}:{array.dtype.str}:{list(value.shape)};".encode())
        if key == "x":
            places = np.flatnonzero(array)
            digest.update(places.astype(np.int64).tobytes())
            array = array.ravel()[places]
        digest.update(array.tobytes())
    return digest.hexdigest()


def to_numpy(value: Any) -> NDArray[Any]:
    """A dense NumPy array of an array, a torch tensor or a SciPy sparse matrix (each dense or sparse)."""
    if isinstance(value, torch.Tensor):
        value = value.detach().cpu().to_dense()
        return np.asarray((value.float() if value.dtype == torch.bfloat16 else value).numpy())
    if hasattr(value, "toarray"):
        return np.asarray(value.toarray())
    try:
        return np.asarray(value)
    except ValueError:  # rows of different lengths
        return np.asarray(value, dtype=object)


def _features(x: Any) -> NDArray[np.float32]:
    array = to_numpy(x)
    if array.ndim != 2:
        raise InputError(f"The features have shape {list(array.shape)}, but a table [nodes, features] is needed.")
    if array.dtype.kind not in "fiub":
        raise InputError(
            f"The features hold {array.dtype} values, but they must be numbers; encode text and categories first."
        )
    num_nodes, num_features = array.shape
    if num_nodes < 2:
        raise InputError(f"The graph has {num_nodes} node{'' if num_nodes == 1 else 's'}; at least 2 are needed.")
    if num_features == 0:
        raise InputError(
            f"The features have no columns (shape {list(array.shape)}); give at least one feature a node, "
            "for instance its degree."
        )
    with np.errstate(over="ignore"):  # a value beyond float32 becomes inf and is reported as such below
        features = np.array(array, dtype=np.float32, order="C")
    wrong = ~np.isfinite(features)
    if wrong.any():
        raise InputError(
            f"The features hold {int(wrong.sum())} values that are NaN or infinite (as float32), the first in row "
            f"{int(wrong.any(axis=1).argmax())}; fill or remove them first."
        )
    return features


def _node_ids(node_ids: Sequence[Any], num_nodes: int) -> list[int | str]:
    if hasattr(node_ids, "tolist"):
        node_ids = node_ids.tolist()
    if not isinstance(node_ids, Sequence) or isinstance(node_ids, str):
        raise InputError(f"The node ids are {node_ids!r}, but a list with one a node is needed.")
    ids = [_node_id(one) for one in node_ids]
    if len(ids) != num_nodes:
        raise InputError(f"There are {len(ids)} node ids for {num_nodes} nodes; give one a node.")
    seen: set[int | str] = set()
    for one in ids:
        if one in seen:
            raise InputError(f"The node id {one!r} is given to more than one node; ids must be unique.")
        seen.add(one)
    return ids


def _node_id(one: Any) -> int | str:
    if isinstance(one, bytes):
        return one.decode("utf-8", "replace")
    is_integer = isinstance(one, (int, np.integer)) and -(2**63) <= int(one) < 2**63
    return int(one) if is_integer else str(one)
