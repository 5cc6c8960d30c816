"""Arrays -> the one graph container. Every graph of the project is made here, so what holds here holds everywhere."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch_geometric.data import Data

from sfa.data.arrays import to_numpy
from sfa.data.edges import check_edges, check_weight, undirected_edges
from sfa.data.features import check_features
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
    mapped: bool = False,
) -> Data:
    """A checked, undirected graph.

    Args:
        x: features [n, d], NumPy (a map of a file too), torch or SciPy sparse; see `check_features` for their form.
        edges: node positions [2, m], in any order and direction; loops and duplicates are dropped.
        edge_weight: one number >= 0 an edge [m]; see `undirected_edges` for duplicates.
        y: labels [n], integers or strings; -1, None, NaN or "" is unknown.
        node_ids: a name (str or int) for each node; 0..n-1 if not given.
        class_names: the names of the classes that integer labels count.
        name: what the graph is called in tables and pictures.
        mapped: `x` is known to lie on disk, as that of a graph with `mapped_features` does, and is to stay there.

    Returns:
        Data with `x` float32 [n, d], dense or CSR; `edge_index` int64 [2, 2·pairs], sorted; `node_ids`; `name`; and,
        only where there are any, `edge_weight` float32 (symmetric, not all 1), `y` int64 (-1 unknown), `class_names`.
        `mapped_features` is there, and True, only if `x` lies on disk: it may be larger than the memory, is to be read
        by rows, and must never be written to.
    """
    features, mapped = check_features(x, mapped=mapped)
    num_nodes = features.shape[0]
    index = check_edges(to_numpy(edges), num_nodes)
    weight = None if edge_weight is None else check_weight(to_numpy(edge_weight), index.shape[1])
    undirected, weight = undirected_edges(index, weight, num_nodes)
    if undirected.size == 0:
        raise InputError(
            f"The graph has no edges: all {index.shape[1]} given are self-loops or have weight 0; "
            "at least one edge between two different nodes is needed."
        )

    data = Data(x=features, edge_index=torch.from_numpy(undirected))
    if mapped:
        data.mapped_features = True
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
