"""Things in memory (PyG Data, a pair (X, A), a NetworkX graph) -> the one graph container."""

from __future__ import annotations

import sys
from typing import Any

from torch_geometric.data import Data

from sfa.data.adjacency import adjacency_edges
from sfa.data.arrays import to_numpy
from sfa.data.from_networkx import networkx_arrays
from sfa.data.graph import build_graph
from sfa.errors import InputError

ALLOWED = "a torch_geometric Data, a pair (X, A) of features and adjacency (or edge index), or a NetworkX graph"


def as_graph(obj: Any, *, name: str | None = None, labels: bool = True) -> Data:
    """The graph in `obj`, checked and undirected.

    - PyG `Data`: `x`, `edge_index`, and if there `edge_weight`, `y`, `class_names`, `node_ids`, `name`.
    - `(X, A)`: X an array, sparse matrix, map of a file (`numpy.load(file, mmap_mode="r")`) or DataFrame (its index
      names the nodes) [n, d]; A a SciPy sparse or dense adjacency [n, n], or an edge index [2, m]. An array [2, 2] with
      two nodes is an adjacency.
    - NetworkX: node attributes `x` (or `features`) and `y` (or `label`), edge attribute `weight`.

    Directed edges are made undirected. Other attributes (masks, edge features) are left behind, and so are labels that
    are not asked for: these may then be anything.
    """
    if isinstance(obj, Data):
        return _from_pyg(obj, name, labels)
    if isinstance(obj, (tuple, list)):
        if len(obj) != 2:
            raise InputError(f"A {type(obj).__name__} of {len(obj)} things is no graph; allowed is {ALLOWED}.")
        return _from_pair(obj[0], obj[1], name)
    # A NetworkX graph can only exist once networkx is imported, so this never pays for the import.
    networkx = sys.modules.get("networkx")
    if networkx is not None and isinstance(obj, networkx.Graph):
        return _from_networkx(obj, name, labels)
    raise InputError(f"A {type(obj).__name__} is no graph; allowed is {ALLOWED}.")


def _from_pyg(data: Data, name: str | None, labels: bool) -> Data:
    if data.x is None:
        raise InputError("The Data has no node features; set data.x to a table [nodes, features].")
    if data.edge_index is None:
        raise InputError("The Data has no edges; set data.edge_index to an integer tensor [2, edges].")
    return build_graph(
        data.x,
        data.edge_index,
        edge_weight=data.edge_weight,
        y=data.y if labels else None,
        node_ids=getattr(data, "node_ids", None),
        class_names=getattr(data, "class_names", None) if labels else None,
        name=name or (data.name if isinstance(getattr(data, "name", None), str) and data.name else "graph"),
        mapped=getattr(data, "mapped_features", False) is True,
    )


def _from_pair(x: Any, a: Any, name: str | None) -> Data:
    if x is None or a is None:
        missing = "features X (a table [nodes, features])" if x is None else "adjacency A (or edge index [2, edges])"
        raise InputError(f"The pair (X, A) has None for the {missing}; both are required.")
    node_ids = None
    if hasattr(x, "columns"):  # a DataFrame; the untouched index 0..n-1 says nothing that the default does not
        node_ids = x.index.tolist()
        x = _frame_values(x)
    if not hasattr(x, "shape"):
        x = to_numpy(x)
    if not hasattr(a, "shape"):
        a = to_numpy(a)
    num_nodes = x.shape[0] if len(x.shape) else 0
    is_sparse = hasattr(a, "tocoo") or getattr(a, "is_sparse", False) or getattr(a, "is_sparse_csr", False)
    if is_sparse or tuple(a.shape) == (num_nodes, num_nodes):
        edges, weight = adjacency_edges(a, num_nodes)
        return build_graph(x, edges, edge_weight=weight, node_ids=node_ids, name=name or "graph")
    if len(a.shape) == 2 and a.shape[0] == 2:
        return build_graph(x, a, node_ids=node_ids, name=name or "graph")
    raise InputError(
        f"A has shape {list(a.shape)}, but with {num_nodes} rows of features it must be an adjacency "
        f"[{num_nodes}, {num_nodes}] or an edge index [2, edges]."
    )


def _frame_values(frame: Any) -> Any:
    """A DataFrame's values; sparse if all of its columns are sparse ones, of which most entries are 0."""
    if len(frame.columns) and all(getattr(dtype, "fill_value", None) == 0 for dtype in frame.dtypes):
        return frame.sparse.to_coo()
    return frame.to_numpy()


def _from_networkx(graph: Any, name: str | None, labels: bool) -> Data:
    arrays = networkx_arrays(graph)
    if arrays.x is None:
        raise InputError(
            "The NetworkX graph has no node features; set them with "
            "networkx.set_node_attributes(graph, {node: [0.5, 1.0, ...]}, 'x')."
        )
    return build_graph(
        arrays.x,
        arrays.edges,
        edge_weight=arrays.edge_weight,
        y=arrays.y if labels else None,
        node_ids=arrays.node_ids,
        name=name or graph.name or "graph",
    )
