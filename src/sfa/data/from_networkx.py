"""A NetworkX graph -> arrays: features, labels, edges and weights from its attributes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfa.errors import InputError

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
