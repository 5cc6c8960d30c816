"""Collect a graph before it is checked, as a `Data` that may hold anything: from NetworkX, or joined to a graph set."""

import contextlib
import sys
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch_geometric.data import Data

from sfa.data.arrays import to_numpy
from sfa.data.edges import check_edges
from sfa.data.graph import NO_GRAPH, build_graph, build_graphs, count_nodes
from sfa.data.labels import MASKS, check_ids
from sfa.errors import InputError

LABEL_KEYS = ("y", "label")


def build(raw: Data, *, name: str, node_features: str | None = None) -> Data:
    """Build the graph, or with `ptr` the graph set, of raw data; `name` counts if they have none of their own."""
    common = {key: raw.get(key) for key in ("edge_weight", "y", "class_names")}
    common |= {"name": own_name(raw) or name, "node_features": node_features}
    if raw.get("ptr") is not None:
        return build_graphs(raw.x, raw.edge_index, raw.ptr, graph_ids=raw.get("graph_ids"), **common)
    return build_graph(
        raw.x,
        raw.edge_index,
        masks={name: raw.get(name) for name in MASKS},
        node_ids=raw.get("node_ids"),
        num_nodes=raw.get("num_nodes"),  # the attribute guesses where nothing is said
        mapped=raw.get("mapped_features") is True,
        **common,
    )


def join_graphs(graphs: Sequence[Data], graph_ids: Sequence[Any] | None = None) -> Data:
    """Return the raw set of these raw graphs, of which all have features, equally many, or none has.

    The nodes of each are counted from 0; it has as many as rows of features, as it says, or as its edges name. A table
    of features without columns is no features.
    """
    if not graphs:
        raise InputError(NO_GRAPH)
    ids = check_ids(graph_ids, len(graphs), "graph")
    tables, edges, weights = [], [], []
    for one, graph in zip(ids, graphs, strict=True):
        with in_graph(one):
            table = None if graph.x is None else to_numpy(graph.x)
            if table is not None and table.ndim != 2:
                raise InputError(f"The features have shape {list(table.shape)}, but [nodes, features] is needed.")
            size = count_nodes(table, graph.get("num_nodes"), graph.edge_index)
            if size < 1:
                raise InputError("There are no nodes; leave it out.")
            index, weight = check_edges(graph.edge_index, graph.edge_weight, size)
        tables.append(np.empty((size, 0)) if table is None else table)
        edges.append(index)
        weights.append(np.ones(index.shape[1], np.float32) if weight is None else weight)
    widths = [table.shape[1] for table in tables]
    other = next((i for i, width in enumerate(widths) if width != widths[0]), None)
    if other is not None:
        first, second = (f"{width} features a node" if width else "none" for width in (widths[0], widths[other]))
        raise InputError(
            f"The graph {ids[0]!r} has {first}, but the graph {ids[other]!r} has {second}; "
            "all graphs need equally many, or none."
        )
    ptr = np.cumsum([0, *map(len, tables)])
    shifts = np.repeat(ptr[:-1], [index.shape[1] for index in edges])
    has_weights = any(graph.edge_weight is not None for graph in graphs)
    return Data(
        x=np.concatenate(tables) if widths[0] else None,
        edge_index=np.concatenate(edges, axis=1) + shifts,
        edge_weight=np.concatenate(weights) if has_weights else None,
        graph_ids=ids,
        ptr=ptr,
    )


def from_networkx(graph: Any, *, labels: bool = True) -> Data:
    """Read node attribute `x` or `features` (numbers), `y` or `label`; edge attribute `weight`, 1 where missing."""
    position = {node: i for i, node in enumerate(graph.nodes)}
    ends, weights = [], []
    for source, target, weight in graph.edges(data="weight", default=1.0):
        try:
            weights.append(float(weight))
        except (TypeError, ValueError):
            raise InputError(
                f"The edge {source!r} - {target!r} has the weight {weight!r}, which is no number."
            ) from None
        ends.append((position[source], position[target]))
    raw = Data(edge_index=np.array(ends, dtype=np.int64).reshape(-1, 2).T, edge_weight=weights, num_nodes=len(position))
    raw.node_ids, raw.name = list(position), own_name(graph)
    key, values = _attribute(graph, ("x", "features"))
    raw.x = _stack_features(key, values) if values else None
    _, values = _attribute(graph, LABEL_KEYS)
    if labels and values:
        raw.y = np.empty(len(values), dtype=object)
        raw.y[:] = [value.item() if hasattr(value, "item") else value for value in values.values()]
    return raw


def is_networkx(obj: Any) -> bool:
    """Tell whether this is a NetworkX graph; that can only exist once networkx is imported, so it is not imported."""
    networkx = sys.modules.get("networkx")
    return networkx is not None and isinstance(obj, networkx.Graph)


def own_name(obj: Any) -> str | None:
    """Return what a graph or a data set calls itself."""
    name = getattr(obj, "name", None)
    return name if isinstance(name, str) and name else None


@contextlib.contextmanager
def in_graph(one: int | str) -> Iterator[None]:
    """Name, in an error's sentence, the graph of a set that it is about."""
    try:
        yield
    except InputError as error:
        sentence = str(error)
        raise InputError(f"In the graph {one!r}: {sentence[0].lower()}{sentence[1:]}") from error


def _stack_features(key: str, values: dict[Any, Any]) -> NDArray[np.float64]:
    """Return the table of features; a node has a number, a list or (GraphML has no lists) a text such as "[0.5, 1]"."""
    without = [node for node, value in values.items() if value is None]
    if without:
        raise InputError(
            f"{len(without)} of {len(values)} nodes have no attribute {key!r} (the first: {without[0]!r}); "
            "every node needs features."
        )
    rows: list[NDArray[np.float64]] = []
    for node, value in values.items():
        numbers = value.strip().strip("[]()").replace(",", " ").split() if isinstance(value, str) else value
        try:
            rows.append(np.atleast_1d(np.asarray(numbers, dtype=np.float64)).ravel())
        except (TypeError, ValueError):
            raise InputError(f"Node {node!r} has features {value!r} in {key!r}, but they must be numbers.") from None
        if rows[-1].size != rows[0].size:
            raise InputError(
                f"Node {node!r} has {rows[-1].size} features in {key!r}, but node {next(iter(values))!r} has "
                f"{rows[0].size}; all nodes need equally many."
            )
    return np.stack(rows)


def _attribute(graph: Any, keys: tuple[str, ...]) -> tuple[str, dict[Any, Any]]:
    """Return the first of these attributes that some node has, and its value at each node, None where there is none."""
    for key in keys:
        if any(key in attributes for _, attributes in graph.nodes(data=True)):
            return key, dict(graph.nodes(data=key))
    return "", {}
