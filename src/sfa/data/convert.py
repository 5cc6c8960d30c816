"""Things in memory (PyG Data, a pair (X, A), a NetworkX graph) -> the one graph container."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch_geometric.data import Data

from sfa.data.arrays import to_numpy
from sfa.data.as_graphs import is_one_graph
from sfa.data.edges import adjacency_edges
from sfa.data.graph import build_graph
from sfa.data.labels import given_masks
from sfa.data.structural import OR_MAKE_THEM
from sfa.errors import InputError
from sfa.levels import level_of

ALLOWED = "a torch_geometric Data, a pair (X, A) of features and adjacency (or edge index), or a NetworkX graph"


def as_graph(obj: Any, *, name: str | None = None, labels: bool = True, node_features: str | None = None) -> Data:
    """The graph in `obj`, checked and undirected.

    - PyG `Data`: `x`, `edge_index`, and if there `edge_weight`, `y`, `class_names`, `node_ids`, `name`, and the masks
      of public splits.
    - `(X, A)`: X an array, sparse matrix, map of a file (`numpy.load(file, mmap_mode="r")`) or DataFrame (its index
      names the nodes) [n, d]; A a SciPy sparse or dense adjacency [n, n], or an edge index [2, m]. An array [2, 2] with
      two nodes is an adjacency.
    - NetworkX: node attributes `x` (or `features`) and `y` (or `label`), edge attribute `weight`.

    Directed edges are made undirected. Other attributes (edge features, say) are left behind, and so are labels and
    masks that are not asked for: these may then be anything.

    A graph without features gets some if `node_features` says of what: `degree`, `random` or `spectral`, with a width
    if wanted (`spectral:64`); see `sfa.data.structural`. In a pair, X is then None.
    """
    _refuse_many(obj)
    if isinstance(obj, Data):
        return _from_pyg(obj, name, labels, node_features)
    if isinstance(obj, (tuple, list)):
        if len(obj) != 2:
            raise InputError(f"A {type(obj).__name__} of {len(obj)} things is no graph; allowed is {ALLOWED}.")
        return _from_pair(obj[0], obj[1], name, node_features)
    # A NetworkX graph can only exist once networkx is imported, so this never pays for the import.
    networkx = sys.modules.get("networkx")
    if networkx is not None and isinstance(obj, networkx.Graph):
        return _from_networkx(obj, name, labels, node_features)
    raise InputError(f"A {type(obj).__name__} is no graph; allowed is {ALLOWED}.")


def _refuse_many(obj: Any) -> None:
    if isinstance(obj, Data) and level_of(obj) == "image":
        raise InputError("These are images, and a graph is needed: embed images with ImageEmbedder (sfa.data.images).")
    is_list = isinstance(obj, (tuple, list)) and len(obj) > 0 and all(is_one_graph(one) for one in obj)
    if is_list or (isinstance(obj, Data) and level_of(obj) == "graph"):
        count = len(obj) if is_list else len(obj.ptr) - 1
        raise InputError(
            f"These are {count} graphs, and one is needed: embed graphs with GraphEmbedder (sfa.data.as_graphs), or "
            "give one of them to embed its nodes."
        )


def _from_pyg(data: Data, name: str | None, labels: bool, node_features: str | None) -> Data:
    if data.x is None and node_features is None:
        raise InputError(f"The Data has no node features; set data.x to a table [nodes, features], {OR_MAKE_THEM}.")
    if data.edge_index is None:
        raise InputError("The Data has no edges; set data.edge_index to an integer tensor [2, edges].")
    return build_graph(
        data.x,
        data.edge_index,
        edge_weight=data.edge_weight,
        y=data.y if labels else None,
        masks=given_masks(data.to_dict()) if labels else None,
        node_ids=getattr(data, "node_ids", None),
        class_names=getattr(data, "class_names", None) if labels else None,
        name=name or (data.name if isinstance(getattr(data, "name", None), str) and data.name else "graph"),
        mapped=getattr(data, "mapped_features", False) is True,
        node_features=node_features,
        num_nodes=data.get("num_nodes"),  # the attribute guesses where nothing is said
    )


def _from_pair(x: Any, a: Any, name: str | None, node_features: str | None) -> Data:
    if a is None or (x is None and node_features is None):
        missing = "adjacency A (or edge index [2, edges])" if a is None else "features X (a table [nodes, features])"
        raise InputError(
            f"The pair (X, A) has None for the {missing}; both are required{'' if a is None else f', {OR_MAKE_THEM}'}."
        )
    node_ids = None
    if hasattr(x, "columns"):  # a DataFrame; the untouched index 0..n-1 says nothing that the default does not
        node_ids = x.index.tolist()
        x = _frame_values(x)
    if x is not None and not hasattr(x, "shape"):
        x = to_numpy(x)
    if not hasattr(a, "shape"):
        a = to_numpy(a)
    is_sparse = hasattr(a, "tocoo") or getattr(a, "is_sparse", False) or getattr(a, "is_sparse_csr", False)
    num_nodes = _rows(a if x is None and (is_sparse or _is_square(a)) else x)
    build = partial(build_graph, x, node_ids=node_ids, name=name or "graph", node_features=node_features)
    if is_sparse or tuple(a.shape) == (num_nodes, num_nodes):
        edges, weight = adjacency_edges(a, num_nodes)
        return build(edges, edge_weight=weight, num_nodes=num_nodes)
    if len(a.shape) == 2 and a.shape[0] == 2:
        return build(a)
    rows = "" if x is None else f"with {num_nodes} rows of features "
    n = "n" if x is None else num_nodes
    raise InputError(
        f"A has shape {list(a.shape)}, but {rows}it must be an adjacency [{n}, {n}] or an edge index [2, edges]."
    )


def _rows(table: Any) -> int:
    return table.shape[0] if table is not None and len(table.shape) else 0


def _is_square(a: Any) -> bool:
    return len(a.shape) == 2 and a.shape[0] == a.shape[1]


def _frame_values(frame: Any) -> Any:
    """A DataFrame's values; sparse if all of its columns are sparse ones, of which most entries are 0."""
    if len(frame.columns) and all(getattr(dtype, "fill_value", None) == 0 for dtype in frame.dtypes):
        return frame.sparse.to_coo()
    return frame.to_numpy()


def _from_networkx(graph: Any, name: str | None, labels: bool, node_features: str | None) -> Data:
    arrays = networkx_arrays(graph)
    if arrays.x is None and node_features is None:
        raise InputError(
            "The NetworkX graph has no node features; set them with "
            f"networkx.set_node_attributes(graph, {{node: [0.5, 1.0, ...]}}, 'x'), {OR_MAKE_THEM}."
        )
    return build_graph(
        arrays.x,
        arrays.edges,
        edge_weight=arrays.edge_weight,
        y=arrays.y if labels else None,
        node_ids=arrays.node_ids,
        name=name or graph.name or "graph",
        node_features=node_features,
    )


FEATURE_KEYS = ("x", "features")
LABEL_KEYS = ("y", "label")


@dataclass
class NetworkxArrays:
    """What a NetworkX graph holds; `x` and `y` are None when no node has them."""

    x: NDArray[np.float64] | None
    edges: NDArray[np.int64]
    edge_weight: list[float]
    y: NDArray[Any] | None
    node_ids: list[Any]


def networkx_arrays(graph: Any) -> NetworkxArrays:
    """Node attribute `x` or `features` (numbers), `y` or `label`; edge attribute `weight`, 1 where it is missing."""
    nodes = list(graph.nodes)
    position = {node: i for i, node in enumerate(nodes)}
    ends, weights = [], []
    for source, target, weight in graph.edges(data="weight", default=1.0):
        try:
            weights.append(float(weight))
        except (TypeError, ValueError):
            raise InputError(
                f"The edge {source!r} - {target!r} has the weight {weight!r}, which is no number."
            ) from None
        ends.append((position[source], position[target]))
    return NetworkxArrays(
        x=_features(graph, nodes),
        edges=np.array(ends, dtype=np.int64).reshape(-1, 2).T,
        edge_weight=weights,
        y=_labels(graph, nodes),
        node_ids=nodes,
    )


def _features(graph: Any, nodes: list[Any]) -> NDArray[np.float64] | None:
    key = _present(graph, nodes, FEATURE_KEYS)
    if key is None:
        return None
    without = [node for node in nodes if graph.nodes[node].get(key) is None]
    if without:
        raise InputError(
            f"{len(without)} of {len(nodes)} nodes have no attribute {key!r} (the first: {without[0]!r}); "
            "every node needs features."
        )
    rows = [_row(graph.nodes[node][key], node, key) for node in nodes]
    for node, row in zip(nodes, rows, strict=True):
        if row.size != rows[0].size:
            raise InputError(
                f"Node {node!r} has {row.size} features in {key!r}, but node {nodes[0]!r} has {rows[0].size}; "
                "all nodes need equally many."
            )
    return np.stack(rows)


def _row(value: Any, node: Any, key: str) -> NDArray[np.float64]:
    """One node's features from a number, a list or array, or (GraphML has no lists) a text such as "[0.5, 1]"."""
    if isinstance(value, str):
        value = value.strip().strip("[]()").replace(",", " ").split()
    try:
        return np.atleast_1d(np.asarray(value, dtype=np.float64)).ravel()
    except (TypeError, ValueError):
        raise InputError(f"Node {node!r} has features {value!r} in {key!r}, but they must be numbers.") from None


def _labels(graph: Any, nodes: list[Any]) -> NDArray[Any] | None:
    key = _present(graph, nodes, LABEL_KEYS)
    if key is None:
        return None
    labels = np.empty(len(nodes), dtype=object)
    for i, node in enumerate(nodes):
        value = graph.nodes[node].get(key)
        labels[i] = value.item() if hasattr(value, "item") else value
    return labels


def _present(graph: Any, nodes: list[Any], keys: tuple[str, ...]) -> str | None:
    return next((key for key in keys if any(key in graph.nodes[node] for node in nodes)), None)
