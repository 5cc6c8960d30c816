"""Collect the parts of a graph before they are checked: from PyG, from NetworkX, and in the readers of files."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch_geometric.data import Data

from sfa.data.labels import given_masks
from sfa.errors import InputError

FEATURE_KEYS = ("x", "features")
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
    key, values = _attribute(graph, LABEL_KEYS) if labels else (None, {})
    if key is not None:
        y = np.empty(len(values), dtype=object)
        y[:] = [value.item() if hasattr(value, "item") else value for value in values.values()]
    return GraphParts(
        edges=np.array(ends, dtype=np.int64).reshape(-1, 2).T,
        edge_weight=weights,
        x=_networkx_features(graph),
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


def _networkx_features(graph: Any) -> NDArray[np.float64] | None:
    key, values = _attribute(graph, FEATURE_KEYS)
    if key is None:
        return None
    without = [node for node, value in values.items() if value is None]
    if without:
        raise InputError(
            f"{len(without)} of {len(values)} nodes have no attribute {key!r} (the first: {without[0]!r}); "
            "every node needs features."
        )
    rows = {node: _row(value, node, key) for node, value in values.items()}
    first, width = next((node, row.size) for node, row in rows.items())
    for node, row in rows.items():
        if row.size != width:
            raise InputError(
                f"Node {node!r} has {row.size} features in {key!r}, but node {first!r} has {width}; "
                "all nodes need equally many."
            )
    return np.stack(list(rows.values()))


def _row(value: Any, node: Any, key: str) -> NDArray[np.float64]:
    """Return one node's features from a number, a list or (GraphML has no lists) a text such as "[0.5, 1]"."""
    if isinstance(value, str):
        value = value.strip().strip("[]()").replace(",", " ").split()
    try:
        return np.atleast_1d(np.asarray(value, dtype=np.float64)).ravel()
    except (TypeError, ValueError):
        raise InputError(f"Node {node!r} has features {value!r} in {key!r}, but they must be numbers.") from None


def _attribute(graph: Any, keys: tuple[str, ...]) -> tuple[str | None, dict[Any, Any]]:
    """Return the first of these attributes that some node has, and its value at each node, None where there is none."""
    key = next((key for key in keys if any(key in attributes for _, attributes in graph.nodes(data=True))), None)
    return key, {} if key is None else dict(graph.nodes(data=key))
