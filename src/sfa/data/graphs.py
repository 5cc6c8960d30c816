"""Build the one container of graph sets: a disjoint union, in which each graph has its nodes side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch_geometric.data import Data

from sfa.data.arrays import to_numpy
from sfa.data.edges import NO_EDGES, check_edges, check_weight, undirected_edges
from sfa.data.features import check_features
from sfa.data.graph import build_graph
from sfa.data.labels import check_ids, set_labels
from sfa.data.parts import GraphParts, in_graph
from sfa.data.structural import NodeFeatures
from sfa.errors import InputError


def build_graphs(
    x: Any,
    edges: Any,
    ptr: Any,
    *,
    edge_weight: Any = None,
    y: Any = None,
    graph_ids: Sequence[Any] | None = None,
    class_names: Sequence[str] | None = None,
    name: str = "graphs",
    node_features: str | None = None,
) -> Data:
    """Build a checked set of undirected graphs of the arrays of their union; see `build_graph` for more.

    Args:
        x: features [N, d] of the nodes of all graphs. None if there are none: then the set gets some made of the number
            of neighbors, and says so (`features_of`, `sfa.data.remark`).
        edges: node positions [2, m] in the union. A graph may have no edges; no edge joins two graphs.
        ptr: where each graph's nodes begin, and N [G + 1]: those of graph g are ptr[g], …, ptr[g + 1] - 1.
        edge_weight: one number >= 0 an edge [m].
        y: labels of the graphs [G].
        graph_ids: a name (str or int) for each graph; 0..G-1 if not given.
        class_names: the names of the classes that integer labels count.
        name: what the set is called in tables and pictures.
        node_features: how many columns made features have, `degree:50`; of other kinds (`random`, `spectral`) a column
            does not mean the same in two graphs.

    Returns:
        What `build_graph` returns, but with `x` always dense, `ptr` int64 [G + 1], `batch` int64 [N], the graph of each
        node, and `graph_ids` in place of `node_ids`. The edges of a graph lie side by side too.
    """
    starts = _check_ptr(to_numpy(ptr))
    num_graphs, num_nodes = len(starts) - 1, int(starts[-1])
    ids = check_ids(graph_ids, num_graphs, "graph")
    empty = np.flatnonzero(np.diff(starts) == 0)
    if empty.size:
        more = f" ({empty.size} graphs have none)" if empty.size > 1 else ""
        raise InputError(f"The graph {ids[empty[0]]!r} has no nodes{more}; leave it out.")
    kind = _kind_of_features(x, node_features)
    batch = np.repeat(np.arange(num_graphs), np.diff(starts))

    def place(node: int) -> str:
        return f"node {node - starts[batch[node]]} of the graph {ids[batch[node]]!r}"

    if kind is None:
        x = x if hasattr(x, "shape") else to_numpy(x)
        if len(x.shape) and x.shape[0] != num_nodes:
            raise InputError(f"There are {x.shape[0]} rows of features, but the graphs have {num_nodes} nodes in all.")
        features, _ = check_features(x, dense=True, place=place)
    edges = to_numpy(edges)
    index = check_edges(edges, num_nodes) if edges.size else NO_EDGES
    crossing = batch[index[0]] != batch[index[1]]
    if crossing.any():
        source, target = index[:, crossing.argmax()]
        raise InputError(f"An edge joins {place(source)} and {place(target)}; no edge may join two graphs.")
    weight = None if edge_weight is None else check_weight(to_numpy(edge_weight), index.shape[1])
    undirected, weight = undirected_edges(index, weight, num_nodes)
    if kind is not None:
        features = torch.from_numpy(kind.make(undirected, weight, num_nodes))

    data = Data(x=features, edge_index=torch.from_numpy(undirected), graph_ids=ids, name=str(name), task="graph")
    data.ptr, data.batch = torch.from_numpy(starts), torch.from_numpy(batch)
    if kind is not None:
        data.features_of = kind.name
    if weight is not None:
        data.edge_weight = torch.from_numpy(weight)
    set_labels(data, y, num_graphs, class_names, "graph")
    return data


def build_parts(parts: GraphParts, *, name: str, node_features: str | None = None) -> Data:
    """Build the graph or the graph set of these parts; `name` counts if they have none of their own."""
    common = {key: getattr(parts, key) for key in ("edge_weight", "y", "class_names")}
    common |= {"name": parts.name or name, "node_features": node_features}
    if parts.ptr is not None:
        return build_graphs(parts.x, parts.edges, parts.ptr, graph_ids=parts.ids, **common)
    of_nodes = {"masks": parts.masks, "node_ids": parts.ids, "num_nodes": parts.num_nodes, "mapped": parts.mapped}
    return build_graph(parts.x, parts.edges, **of_nodes, **common)


def join_graphs(graphs: Sequence[GraphParts], graph_ids: Sequence[Any] | None = None) -> GraphParts:
    """Return the parts of the set of these graphs, of which all have features, equally many, or none has.

    The nodes of each are counted from 0; it has as many as rows of features, as it says, or as its edges name.
    """
    _check_count(len(graphs))
    ids = check_ids(graph_ids, len(graphs), "graph")
    tables, sizes, edges, weights = [], [], [], []
    for one, graph in zip(ids, graphs, strict=True):
        with in_graph(one):
            table, index = None if graph.x is None else to_numpy(graph.x), to_numpy(graph.edges)
            if table is not None and table.ndim != 2:
                raise InputError(
                    f"The features have shape {list(table.shape)}, but a table [nodes, features] is needed."
                )
            tables.append(table)
            sizes.append(_count_nodes(graph.num_nodes, table, index))
            edges.append(check_edges(index, sizes[-1]) if index.size else NO_EDGES)
            count = edges[-1].shape[1]
            weights.append(None if graph.edge_weight is None else check_weight(to_numpy(graph.edge_weight), count))
    starts = np.cumsum([0, *sizes])
    counts = [index.shape[1] for index in edges]
    ones = [np.ones(count, np.float32) if own is None else own for own, count in zip(weights, counts, strict=True)]
    return GraphParts(
        np.concatenate(edges, axis=1) + np.repeat(starts[:-1], counts),
        None if all(own is None for own in weights) else np.concatenate(ones),
        _stack_tables(tables, ids),
        ids=ids,
        ptr=starts,
    )


def _check_count(num_graphs: int) -> None:
    if num_graphs == 0:  # one is enough to be embedded, though not to learn from
        raise InputError("There is no graph in the set; at least one is needed.")


def _check_ptr(ptr: NDArray[Any]) -> NDArray[np.int64]:
    if ptr.ndim != 1 or ptr.size == 0 or ptr.dtype.kind not in "iu":
        raise InputError(
            f"ptr has shape {list(ptr.shape)} and {ptr.dtype} values, but integers [graphs + 1] are needed that say "
            "where each graph's nodes begin."
        )
    starts = ptr.astype(np.int64)
    if starts[0] != 0 or (np.diff(starts) < 0).any():
        raise InputError("ptr must begin with 0 and ascend: it says where each graph's nodes begin.")
    _check_count(len(starts) - 1)
    return starts


def _kind_of_features(x: Any, node_features: str | None) -> NodeFeatures | None:
    """Return what to make features of, None if they are given."""
    kind = NodeFeatures.parse("degree" if node_features is None else node_features)
    if x is not None and node_features is not None:
        raise InputError(
            f"The graphs have features of their own, so none are made of {node_features!r}: leave out "
            "node_features (--node-features)."
        )
    if x is None and kind.name != "degree":
        raise InputError(
            f"A graph set cannot have {kind.name} node features, of which a column does not mean the same in two "
            "graphs; allowed is 'degree', with a width if wanted ('degree:50')."
        )
    return kind if x is None else None


def _count_nodes(given: int | None, table: NDArray[Any] | None, index: NDArray[Any]) -> int:
    named = int(index.max()) + 1 if index.size and index.dtype.kind in "iu" else 0
    counts = (None if table is None else len(table), given, named)
    size = next(int(count) for count in counts if count is not None)
    if table is not None and given not in (None, size):
        raise InputError(f"There are {size} rows of features for {given} nodes.")
    if size < 1:
        raise InputError("There are no nodes; leave it out.")
    return size


def _stack_tables(tables: Sequence[NDArray[Any] | None], ids: Sequence[int | str]) -> NDArray[Any] | None:
    """Return the features of all graphs; a table without columns is no features."""
    widths = [0 if table is None else table.shape[1] for table in tables]
    other = next((i for i, width in enumerate(widths) if width != widths[0]), None)
    if other is not None:
        first, second = (f"{width} features a node" if width else "none" for width in (widths[0], widths[other]))
        raise InputError(
            f"The graph {ids[0]!r} has {first}, but the graph {ids[other]!r} has {second}; "
            "all graphs need equally many, or none."
        )
    return np.concatenate([table for table in tables if table is not None]) if widths[0] else None
