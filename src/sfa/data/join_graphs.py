"""Graphs one by one -> a graph set; what is wrong with one of them is said with its name."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch_geometric.data import Data

from sfa.data.arrays import to_numpy
from sfa.data.edges import check_edges, check_weight
from sfa.data.graph import check_ids
from sfa.data.graph_set import NO_EDGES, build_graphs, check_count
from sfa.errors import InputError


@dataclass
class OneGraph:
    """A graph that is to be one of a set: its nodes are counted from 0, as many as rows of `x` where there are any."""

    edges: Any
    edge_weight: Any = None
    x: Any = None
    num_nodes: int | None = None


def join_graphs(
    graphs: Sequence[OneGraph],
    *,
    y: Any = None,
    graph_ids: Sequence[Any] | None = None,
    class_names: Sequence[str] | None = None,
    name: str = "graphs",
    node_features: str | None = None,
) -> Data:
    """The graphs as a set; see `build_graphs`. All of them have features, equally many, or none has."""
    check_count(len(graphs))
    ids = list(range(len(graphs))) if graph_ids is None else check_ids(graph_ids, len(graphs), "graph")
    tables, sizes, edges, weights = [], [], [], []
    for one, graph in zip(ids, graphs, strict=True):
        with in_graph(one):
            table = _table(graph.x)
            index = _edges(graph.edges)
            size = _count_nodes(graph, table, index)
            edges.append(check_edges(index, size) if index.size else index)
            weights.append(_weight(graph.edge_weight, index.shape[1]))
        tables.append(table)
        sizes.append(size)
    starts = np.cumsum([0, *sizes])
    shifts = np.repeat(starts[:-1], [index.shape[1] for index in edges])
    return build_graphs(
        _stacked(tables, ids),
        np.concatenate(edges, axis=1) + shifts,
        starts,
        edge_weight=None if all(weight is None for weight in weights) else _with_ones(weights, edges),
        y=y,
        graph_ids=ids,
        class_names=class_names,
        name=name,
        node_features=node_features,
    )


@contextlib.contextmanager
def in_graph(one: int | str) -> Iterator[None]:
    """An error's sentence names the graph of a set that it is about."""
    try:
        yield
    except InputError as error:
        sentence = str(error)
        raise InputError(f"In the graph {one!r}: {sentence[0].lower()}{sentence[1:]}") from error


def _table(x: Any) -> NDArray[Any] | None:
    """A graph's features [n, d], None if it has none."""
    if x is None:
        return None
    table = to_numpy(x)
    if table.ndim != 2:
        raise InputError(f"The features have shape {list(table.shape)}, but a table [nodes, features] is needed.")
    return table


def _edges(edges: Any) -> NDArray[Any]:
    index = to_numpy(edges)
    return index if index.size else NO_EDGES  # an empty list has neither the shape nor the dtype of edges


def _count_nodes(graph: OneGraph, table: NDArray[Any] | None, index: NDArray[Any]) -> int:
    """How many nodes a graph has: as many as rows of features, as it says, or as its edges name."""
    named = int(index.max()) + 1 if index.size and index.dtype.kind in "iu" else 0
    counts = (None if table is None else len(table), graph.num_nodes, named)
    size = next(int(count) for count in counts if count is not None)
    if table is not None and graph.num_nodes not in (None, size):
        raise InputError(f"There are {size} rows of features for {graph.num_nodes} nodes.")
    if size < 1:
        raise InputError("There are no nodes; leave it out.")
    return size


def _weight(weight: Any, num_edges: int) -> NDArray[np.float32] | None:
    return None if weight is None else check_weight(to_numpy(weight), num_edges)


def _with_ones(weights: Sequence[NDArray[np.float32] | None], edges: Sequence[NDArray[Any]]) -> NDArray[np.float32]:
    """The weights of all graphs; an edge of a graph without weights has weight 1."""
    pairs = zip(weights, edges, strict=True)
    return np.concatenate([np.ones(index.shape[1], np.float32) if one is None else one for one, index in pairs])


def _stacked(tables: Sequence[NDArray[Any] | None], ids: Sequence[int | str]) -> NDArray[Any] | None:
    """The features of all graphs; a table without columns is no features."""
    widths = [0 if table is None else table.shape[1] for table in tables]
    other = next((i for i, width in enumerate(widths) if width != widths[0]), None)
    if other is not None:
        first, second = (f"{width} features a node" if width else "none" for width in (widths[0], widths[other]))
        raise InputError(
            f"The graph {ids[0]!r} has {first}, but the graph {ids[other]!r} has {second}; "
            "all graphs need equally many, or none."
        )
    return np.concatenate([table for table in tables if table is not None]) if widths[0] else None
