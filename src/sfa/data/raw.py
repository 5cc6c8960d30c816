"""Raw graphs, which are not checked yet: read them from NetworkX, join them into a set, and build what they are."""

import contextlib
import sys
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from torch import Tensor
from torch_geometric.data import Data

from sfa.data.arrays import require_numbers, to_numpy
from sfa.data.encode import Encode, encode_frame
from sfa.data.graph import NO_GRAPH, build_graph, build_graphs, check_edges, count_nodes
from sfa.data.labels import MASKS, check_ids
from sfa.data.readers.edge_list import NONE
from sfa.errors import InputError, MissingFeaturesError, unknown_name

LABEL_KEYS = ("y", "label")
NOTES = ("edges_read", "edges_note", "features_of", "features_note", "encoding")  # attributes that come along


def build(raw: Data, *, name: str, node_features: str | None = None, encode: Encode = None) -> Data:
    """Build the graph, or with `ptr` the graph set, of raw data; `name` counts if they have none of their own."""
    _check_tensors(raw)
    is_set = raw.get("ptr") is not None
    keys = ("edge_weight", "y", "class_names", *(("ptr", "graph_ids") if is_set else ("node_ids", "num_nodes")))
    parts: dict[str, Any] = {key: raw.get(key) for key in keys}  # the attribute num_nodes guesses where nothing is said
    parts |= {"name": own_name(raw) or name, "node_features": node_features}
    attributes = raw.get("attributes")
    if raw.x is None and node_features is None and isinstance(attributes, pd.DataFrame) and len(attributes.columns):
        with contextlib.suppress(MissingFeaturesError):  # of attributes that all differ from node to node
            raw.x, raw.encoding, note = encode_frame(attributes, encode, "The table of the nodes' attributes")
            used = [key for key, column in (raw.encoding or {}).items() if "left_out" not in column]
            own = f"Node features from attributes: {', '.join(used or attributes)} ({raw.x.shape[1]} columns)."
            raw.features_note = f"{own} {note}".rstrip()
    if is_set:
        data = build_graphs(raw.x, raw.edge_index, **parts)
    else:
        masks, mapped = {mask: raw.get(mask) for mask in MASKS}, raw.get("mapped_features") is True
        data = build_graph(raw.x, raw.edge_index, masks=masks, mapped=mapped, **parts)
    known = {key: raw[key] for key in NOTES if isinstance(raw.get(key), (str, list, dict)) and key not in data}
    return data.update({key: value for key, value in known.items() if value})


def _check_tensors(raw: Data) -> None:
    for value in raw.to_dict().values():
        if isinstance(value, Tensor):
            require_numbers(value)


def join_graphs(graphs: Sequence[Any], graph_ids: Sequence[Any] | None = None, weight: str | None = None) -> Data:
    """Return the raw set of raw (or NetworkX) graphs; all have equally many features, or none has any or a column."""
    if not graphs:
        raise InputError(NO_GRAPH)
    ids = check_ids(graph_ids, len(graphs), "graph")
    tables, edges, weights, attributes, has_weights = [], [], [], [], False
    for one, given in zip(ids, graphs, strict=True):
        with in_graph(one):
            graph = from_networkx(given, labels=False, weight=weight) if is_networkx(given) else given
            _check_tensors(graph)
            table = None if graph.x is None else to_numpy(graph.x)
            if table is not None and table.ndim != 2:
                raise InputError(f"The features have shape {list(table.shape)}, but [nodes, features] is needed.")
            size = count_nodes(table, graph.get("num_nodes"), graph.edge_index)
            if size < 1:
                raise InputError("There are no nodes; leave it out.")
            index, own = check_edges(graph.edge_index, graph.edge_weight, size)
        tables.append(np.empty((size, 0)) if table is None else table)
        edges.append(index)
        weights.append(np.ones(index.shape[1], np.float32) if own is None else own)
        has_weights |= own is not None
        attributes.append(graph.get("attributes"))
    widths = [table.shape[1] for table in tables]
    other = next((i for i, width in enumerate(widths) if width != widths[0]), None)
    if other is not None:
        first, second = (f"{width} features a node" if width else "none" for width in (widths[0], widths[other]))
        raise InputError(
            f"The graph {ids[0]!r} has {first}, but the graph {ids[other]!r} has {second}; "
            "all graphs need equally many, or none."
        )
    has_attributes = all(isinstance(one, pd.DataFrame) for one in attributes)
    ptr = np.cumsum([0, *map(len, tables)])
    shifts = np.repeat(ptr[:-1], [index.shape[1] for index in edges])
    return Data(
        x=np.concatenate(tables) if widths[0] else None,
        edge_index=np.concatenate(edges, axis=1) + shifts,
        edge_weight=np.concatenate(weights) if has_weights else None,
        graph_ids=ids,
        ptr=ptr,
        attributes=pd.concat(attributes, ignore_index=True) if has_attributes else None,
    )


@contextlib.contextmanager
def in_graph(one: int | str) -> Iterator[None]:
    """Name, in an error's sentence, the graph of a set that it is about."""
    try:
        yield
    except InputError as error:
        sentence = str(error)
        raise InputError(f"In the graph {one!r}: {sentence[0].lower()}{sentence[1:]}") from error


def from_networkx(graph: Any, *, labels: bool = True, weight: str | None = None) -> Data:
    """Read node attribute `x` or `features` (numbers), `y` or `label`; edge attribute `weight`, 1 where missing.

    Other attributes of nodes, one number or text each, are kept in the table `attributes`.
    """
    known = {str(key) for _, _, own in graph.edges(data=True) for key in own} if weight not in (None, NONE) else ()
    if weight not in (None, NONE, *known) and graph.number_of_edges():
        raise unknown_name("edge attribute", weight, known)
    named = "weight" if weight is None else weight
    position = {node: i for i, node in enumerate(graph.nodes)}
    ends, weights = [], []
    for source, target, value in graph.edges(data=named, default=1.0):
        try:
            weights.append(1.0 if weight == NONE else float(value))
        except (TypeError, ValueError):
            raise InputError(f"The edge {source!r} - {target!r} has the weight {value!r}, not a number.") from None
        ends.append((position[source], position[target]))
    raw = Data(edge_index=np.array(ends, dtype=np.int64).reshape(-1, 2).T, edge_weight=weights, num_nodes=len(position))
    raw.node_ids, raw.name = list(position), own_name(graph)
    # The first of some attributes that any node has; its value is None at nodes that do not have it.
    here = {key for _, attributes in graph.nodes(data=True) for key in attributes}
    features, label = (next((key for key in keys if key in here), None) for keys in (("x", "features"), LABEL_KEYS))
    raw.x = None if features is None else _stack_features(features, dict(graph.nodes(data=features)))
    rows = [
        {str(key): one for key, one in own.items() if key not in (*LABEL_KEYS, *MASKS) and pd.api.types.is_scalar(one)}
        for _, own in graph.nodes(data=True)
    ]
    if raw.x is None:
        raw.attributes = pd.DataFrame(rows, index=list(map(str, position)))
    if labels and label is not None:
        raw.y = np.empty(len(position), dtype=object)
        raw.y[:] = [value.item() if hasattr(value, "item") else value for _, value in graph.nodes(data=label)]
    return raw


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


def is_networkx(obj: Any) -> bool:
    """Tell whether this is a NetworkX graph; that can only exist once networkx is imported, so it is not imported."""
    networkx = sys.modules.get("networkx")
    return networkx is not None and isinstance(obj, networkx.Graph)


def own_name(obj: Any) -> str | None:
    """Return what a graph or a data set calls itself."""
    name = getattr(obj, "name", None)
    return name if isinstance(name, str) and name else None
