"""Build the one graph container of arrays. Every graph of the project is made here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch_geometric.data import Data

from sfa.data.arrays import to_numpy
from sfa.data.edges import check_edges, check_weight, undirected_edges
from sfa.data.features import check_features
from sfa.data.labels import check_ids, set_labels, set_masks
from sfa.data.structural import OR_MAKE_THEM, NodeFeatures
from sfa.errors import InputError


def build_graph(
    x: Any,
    edges: Any,
    *,
    edge_weight: Any = None,
    y: Any = None,
    masks: Mapping[str, Any] | None = None,
    node_ids: Sequence[Any] | None = None,
    class_names: Sequence[str] | None = None,
    name: str = "graph",
    mapped: bool = False,
    node_features: str | None = None,
    num_nodes: int | None = None,
) -> Data:
    """Build a checked, undirected graph.

    Args:
        x: features [n, d], NumPy (a map of a file too), torch or SciPy sparse; None if `node_features` stand in.
        edges: node positions [2, m], in any order and direction; loops and duplicates are dropped.
        edge_weight: one number >= 0 an edge [m]; see `undirected_edges` for duplicates.
        y: labels [n], integers or strings; -1, None, NaN or "" is unknown.
        masks: public splits, `train_mask`, `val_mask` and `test_mask` or some of them; see `set_masks`.
        node_ids: a name (str or int) for each node; 0..n-1 if not given.
        class_names: the names of the classes that integer labels count.
        name: what the graph is called in tables and pictures.
        mapped: `x` is known to lie on disk, as that of a graph with `mapped_features` does, and is to stay there.
        node_features: what to make features of: `degree`, `random` or `spectral`, with a width if wanted
            (`spectral:64`); see `sfa.data.structural`.
        num_nodes: how many nodes there are, where neither `x` nor node ids nor labels say it; else what the edges name.

    Returns:
        Data with `x` float32 [n, d], dense or CSR (see `check_features`); `edge_index` int64 [2, 2·pairs], sorted;
        `node_ids`; `name`; and, only where there are any, `edge_weight` float32 (symmetric, not all 1), `y` int64 (-1
        unknown), `class_names`, the masks, boolean [n] or [n, splits], and `features_of`, what features were made of.
        `mapped_features` is there, and True, only if `x` lies on disk: read it by rows, and never write to it.
    """
    if x is None and node_features is None:
        raise InputError(f"The graph has no node features; give a table [nodes, features], {OR_MAKE_THEM}.")
    if x is not None and node_features is not None:
        raise InputError(
            f"The graph has features of its own, so none are made of {node_features!r}: leave out node_features "
            "(--node-features)."
        )
    kind = None if node_features is None else NodeFeatures.parse(node_features)
    edges = to_numpy(edges)
    if kind is None:
        features, mapped = check_features(x, mapped=mapped)
        num_nodes = features.shape[0]
    else:
        num_nodes = count_nodes(num_nodes, (node_ids, y), edges)
    index = check_edges(edges, num_nodes)
    weight = None if edge_weight is None else check_weight(to_numpy(edge_weight), index.shape[1])
    undirected, weight = undirected_edges(index, weight, num_nodes)
    if undirected.size == 0:
        raise InputError(
            f"The graph has no edges: all {index.shape[1]} given are self-loops or have weight 0; "
            "at least one edge between two different nodes is needed."
        )
    if kind is not None:
        features, mapped = check_features(kind.make(undirected, weight, num_nodes))
    data = Data(x=features, edge_index=torch.from_numpy(undirected), name=str(name), task="node")
    if kind is not None:
        data.features_of = kind.name
    if mapped:
        data.mapped_features = True
    if weight is not None:
        data.edge_weight = torch.from_numpy(weight)
    set_labels(data, y, num_nodes, class_names)
    set_masks(data, masks or {}, num_nodes)
    data.node_ids = check_ids(node_ids, num_nodes)
    return data


def count_nodes(given: int | None, others: Sequence[Any], edges: NDArray[Any]) -> int:
    """Return the number of nodes where no features say it: the one given, the length of others, or what edges name."""
    counts = [given, *(size for other in others if other is not None for size in np.shape(other)[:1])]
    named = int(edges.max()) + 1 if edges.size and edges.dtype.kind in "iu" else 2
    count = next((count for count in counts if count is not None), named)
    if count < 2:
        raise InputError(f"The graph has {count} node{'' if count == 1 else 's'}; at least 2 are needed.")
    return int(count)
