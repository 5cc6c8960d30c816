"""Collect the parts of a graph before they are checked: from PyG, from NetworkX, and in the readers of files."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch_geometric.data import Data

from sfa.data.arrays import to_numpy
from sfa.data.edges import check_edges
from sfa.data.graph import NO_GRAPH, build_graph, build_graphs, count_nodes
from sfa.data.labels import check_ids, given_masks
from sfa.errors import InputError

LABEL_KEYS = ("y", "label")


@dataclass
class GraphParts:
    """The arrays of one graph, or with `ptr` of a graph set: `y` and `ids` are then of the graphs, not of the nodes.

    `num_nodes` is set where something says it, as an adjacency does; `name` is what the graph calls itself.
    """

    edges: Any = None
    edge_weight: Any = None
    x: Any = None
    y: Any = None
    class_names: list[str] | None = None
    ids: Any = None
    num_nodes: int | None = None
    name: str | None = None
    masks: dict[str, Any] = field(default_factory=dict)
    ptr: Any = None
    mapped: bool = False


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

    The nodes of each are counted from 0; it has as many as rows of features, as it says, or as its edges name. A table
    of features without columns is no features.
    """
    if not graphs:
        raise InputError(NO_GRAPH)
    ids = check_ids(graph_ids, len(graphs), "graph")
    tables, sizes, edges, weights = [], [], [], []
    for one, graph in zip(ids, graphs, strict=True):
        with in_graph(one):
            table = None if graph.x is None else to_numpy(graph.x)
            if table is not None and table.ndim != 2:
                raise InputError(f"The features have shape {list(table.shape)}, but [nodes, features] is needed.")
            size = count_nodes(table, graph.num_nodes, graph.edges)
            if size < 1:
                raise InputError("There are no nodes; leave it out.")
            index, weight = check_edges(graph.edges, graph.edge_weight, size)
        tables.append(np.empty((size, 0)) if table is None else table)
        sizes.append(size)
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
    ptr = np.cumsum([0, *sizes])
    shifts = np.repeat(ptr[:-1], [index.shape[1] for index in edges])
    return GraphParts(
        np.concatenate(edges, axis=1) + shifts,
        np.concatenate(weights) if any(graph.edge_weight is not None for graph in graphs) else None,
        np.concatenate(tables) if widths[0] else None,
        ids=ids,
        ptr=ptr,
    )


def pyg_parts(data: Data, *, labels: bool = True) -> GraphParts:
    """Return the parts of a PyG `Data`; its labels and masks only if they are wanted."""
    ptr = data.get("ptr")
    return GraphParts(
        edges=data.edge_index,
        edge_weight=data.edge_weight,
        x=data.x,
        y=data.y if labels else None,
        class_names=data.get("class_names") if labels else None,
        ids=data.get("node_ids" if ptr is None else "graph_ids"),
        num_nodes=data.get("num_nodes"),  # the attribute guesses where nothing is said
        name=own_name(data),
        masks=given_masks(data.to_dict()) if labels else {},
        ptr=ptr,
        mapped=data.get("mapped_features") is True,
    )


def networkx_parts(graph: Any, *, labels: bool = True) -> GraphParts:
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
    y = None
    key, values = _attribute(graph, LABEL_KEYS) if labels else ("", None)
    if values is not None:
        y = np.empty(len(values), dtype=object)
        y[:] = [value.item() if hasattr(value, "item") else value for value in values.values()]
    key, values = _attribute(graph, ("x", "features"))
    return GraphParts(
        edges=np.array(ends, dtype=np.int64).reshape(-1, 2).T,
        edge_weight=weights,
        x=None if values is None else _stack_features(key, values),
        y=y,
        ids=list(position),
        num_nodes=len(position),
        name=own_name(graph),
    )


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


def _attribute(graph: Any, keys: tuple[str, ...]) -> tuple[str, dict[Any, Any] | None]:
    """Return the first of these attributes that some node has, and its value at each node, None where there is none."""
    for key in keys:
        if any(key in attributes for _, attributes in graph.nodes(data=True)):
            return key, dict(graph.nodes(data=key))
    return "", None
