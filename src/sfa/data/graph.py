"""Build graphs and graph sets of arrays: every graph of the project is made here."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import sparse
from torch import Tensor
from torch_geometric.data import Data

from sfa.data.arrays import check_features, is_sparse, to_numpy, to_scipy, with_shape
from sfa.data.labels import check_ids, set_labels, set_masks
from sfa.data.structural import OR_MAKE_THEM, Edges, NodeFeatures, Weights
from sfa.errors import InputError, MissingFeaturesError
from sfa.memory import require_memory

NO_GRAPH = "There is no graph in the set; at least one is needed."  # to embed one, though not to learn from it


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
        x: Features [n, d], NumPy (a map of a file too), torch or SciPy sparse; None if `node_features` stand in.
        edges: Node positions [2, m], in any order and direction; loops and duplicates are dropped.
        edge_weight: One number >= 0 an edge [m]; see `undirected_edges` for duplicates.
        y: Labels [n], integers or strings; -1, None, NaN or "" is unknown.
        masks: Public splits, `train_mask`, `val_mask` and `test_mask` or some of them; see `set_masks`.
        node_ids: A name (str or int) for each node; 0..n-1 if not given.
        class_names: The names of the classes that integer labels count.
        mapped: `x` is known to lie on disk, as that of a graph with `mapped_features` does, and is to stay there.
        node_features: `degree`, `random` or `spectral`, perhaps with a width (`spectral:64`): see `sfa.data.structural`
        num_nodes: How many nodes there are, where neither `x` nor node ids nor labels say it; else what the edges name.

    Returns:
        Data with `x` float32 [n, d], dense or CSR (see `check_features`); `edge_index` int64 [2, 2·pairs], sorted;
        `node_ids`; `name`; and, only where there are any, `edge_weight` float32 (symmetric, not all 1), `y` int64 (-1
        unknown), `class_names`, the masks, boolean [n] or [n, splits], and `features_of`, what features were made of.
        `mapped_features` is there, and True, only if `x` lies on disk: read it by rows, and never write to it.
    """
    if x is None and node_features is None:
        raise MissingFeaturesError(
            "The graph has no node features; give a table [nodes, features] (X of a pair, data.x of a Data, the nodes' "
            f"attribute x by networkx.set_node_attributes), {OR_MAKE_THEM}."
        )
    kind = _kind_to_make(x, node_features)
    num_nodes = count_nodes(x, num_nodes, edges, node_ids, y)
    if num_nodes < 2:
        raise InputError(f"The graph has {num_nodes} node{'' if num_nodes == 1 else 's'}; at least 2 are needed.")
    if kind is None:
        x, mapped = check_features(x, mapped=mapped)
    given, weight = check_edges(edges, edge_weight, num_nodes)
    undirected, weight = undirected_edges(given, weight, num_nodes)
    if undirected.size == 0:
        why = f": all {given.shape[1]} given are self-loops or have weight 0" if given.size else ""
        raise InputError(f"The graph has no edges{why}; at least one edge between two different nodes is needed.")
    if kind is not None:
        x, mapped = check_features(kind.make(undirected, weight, num_nodes))
    data = _assemble("node", x, undirected, weight, kind, name)
    if mapped:
        data.mapped_features = True
    set_labels(data, y, num_nodes, class_names)
    set_masks(data, masks or {}, num_nodes)
    data.node_ids = check_ids(node_ids, num_nodes)
    return data


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
    """Build a checked set of undirected graphs of the arrays of their union; see `build_graph` for what is not said.

    Args:
        x: Features [N, d] of the nodes of all graphs. None if there are none: then the set gets some made of the number
            of neighbors, and says so (`features_of`, `sfa.data.remark`).
        edges: Node positions [2, m] in the union. A graph may have no edges; no edge joins two graphs.
        ptr: Where each graph's nodes begin, and N [G + 1]: those of graph g are ptr[g], …, ptr[g + 1] - 1.
        y: Labels of the graphs [G].
        graph_ids: A name (str or int) for each graph; 0..G-1 if not given.
        node_features: How many columns made features have, `degree:50`; of other kinds (`random`, `spectral`) a column
            does not mean the same in two graphs.

    Returns:
        What `build_graph` returns, but with `x` always dense, `ptr` int64 [G + 1], `batch` int64 [N], the graph of each
        node, and `graph_ids` in place of `node_ids`. The edges of a graph lie side by side too.
    """
    ptr = to_numpy(ptr)
    is_list = ptr.ndim == 1 and ptr.size > 0 and ptr.dtype.kind in "iu"
    ptr = ptr.astype(np.int64) if is_list else ptr  # signed, for differences below 0
    if not is_list or ptr[0] != 0 or (np.diff(ptr) < 0).any():
        raise InputError(
            f"ptr has shape {list(ptr.shape)} and {ptr.dtype} values, but integers [graphs + 1] are needed that begin "
            "with 0 and ascend: where each graph's nodes begin."
        )
    num_graphs, num_nodes = len(ptr) - 1, int(ptr[-1])
    if num_graphs == 0:
        raise InputError(NO_GRAPH)
    ids = check_ids(graph_ids, num_graphs, "graph")
    empty = np.flatnonzero(np.diff(ptr) == 0)
    if empty.size:
        more = f" ({empty.size} graphs have none)" if empty.size > 1 else ""
        raise InputError(f"The graph {ids[empty[0]]!r} has no nodes{more}; leave it out.")
    batch = np.repeat(np.arange(num_graphs), np.diff(ptr))

    def place(node: int) -> str:
        return f"node {node - ptr[batch[node]]} of the graph {ids[batch[node]]!r}"

    kind = _kind_to_make(x, node_features)
    if x is not None:
        count_nodes(x, num_nodes, None)
        x, _ = check_features(x, dense=True, place=place)
    undirected, weight = undirected_edges(*check_edges(edges, edge_weight, num_nodes), num_nodes)
    crossing = batch[undirected[0]] != batch[undirected[1]]
    if crossing.any():
        source, target = undirected[:, crossing.argmax()]
        raise InputError(f"An edge joins {place(source)} and {place(target)}; no edge may join two graphs.")
    if x is None:
        kind = kind or NodeFeatures.parse("degree")
        if kind.name != "degree":
            raise InputError(
                f"A graph set cannot have {kind.name} node features, of which a column does not mean the same in two "
                "graphs; allowed is 'degree', with a width if wanted ('degree:50')."
            )
        x = torch.from_numpy(kind.make(undirected, weight, num_nodes))
    data = _assemble("graph", x, undirected, weight, kind, name)
    data.graph_ids, data.ptr, data.batch = ids, torch.from_numpy(ptr), torch.from_numpy(batch)
    set_labels(data, y, num_graphs, class_names, "graph")
    return data


def _assemble(task: str, x: Tensor, edges: Edges, weight: Weights, kind: NodeFeatures | None, name: str) -> Data:
    data = Data(x=x, edge_index=torch.from_numpy(edges), name=str(name), task=task)
    if kind is not None:
        data.features_of = kind.name
    if weight is not None:
        data.edge_weight = torch.from_numpy(weight)
    return data


def _kind_to_make(x: Any, node_features: str | None) -> NodeFeatures | None:
    """Return which features to make, None if they are given; both is an error."""
    kind = None if node_features is None else NodeFeatures.parse(node_features)
    if x is not None and kind is not None:
        raise InputError(
            f"There are features already, so none are made of {node_features!r}: leave out node_features "
            "(--node-features)."
        )
    return kind


def count_nodes(x: Any, given: int | None, edges: Any, *others: Any) -> int:
    """Count the nodes: the rows of features, else the number given, the length of others, or what edges name."""
    if given is not None and (not isinstance(given, (int, np.integer)) or given < 0):
        raise InputError(f"The number of nodes num_nodes is {given!r}, but a whole number is needed.")
    if x is not None:
        rows = int(next(iter(with_shape(x).shape), 0))
        if given not in (None, rows):
            raise InputError(f"There are {rows} rows of features for {given} nodes.")
        return rows
    counts = [given, *(size for other in others if other is not None for size in np.shape(other)[:1])]
    edges = to_numpy(edges)
    named = int(edges.max()) + 1 if edges.size and edges.dtype.kind in "iu" else 2 * bool(edges.size)
    count = int(next((count for count in counts if count is not None), named))
    require_memory(64 * count, f"A graph of {count} nodes")
    return count


def check_edges(edges: Any, weight: Any, num_nodes: int) -> tuple[Edges, Weights]:
    """Return edges as int64 [2, m], and their weights, if there are any, as float32 [m]."""
    if edges is None:
        raise InputError("There is no edge_index; set it to an integer tensor [2, edges], which may be empty.")
    edges = to_numpy(edges)
    edges = edges if edges.size else np.empty((2, 0), dtype=np.int64)
    if edges.ndim != 2 or edges.shape[0] != 2 or edges.dtype.kind not in "iu":
        raise InputError(
            f"The edge index has shape {list(edges.shape)} and {edges.dtype} values, but it must be [2, number of "
            "edges] (row 0 the sources, row 1 the targets; transpose it if each row is one edge) and hold integers "
            f"from 0 to {num_nodes - 1}."
        )
    for node in (edges.min(initial=0), edges.max(initial=0)):
        if not 0 <= node < max(num_nodes, 1):
            raise InputError(
                f"The edge index holds node {node}, but there are {num_nodes} nodes (as many as rows of features, "
                f"where there are any): 0 to {num_nodes - 1} are allowed."
            )
    return edges.astype(np.int64), None if weight is None else _check_weight(to_numpy(weight), edges.shape[1])


def undirected_edges(edges: Edges, weight: Weights, num_nodes: int) -> tuple[Edges, Weights]:
    """Return the edges [2, m] in both directions, sorted by (row, column), and their weights or None if all are 1.

    A self-loop is dropped, and so is an edge of weight 0 (it is no edge). The weight of a pair {u, v} is the MEAN of
    all the weights given for it, in either direction: an edge listed twice does not grow heavier, and a symmetric
    input keeps its weights.
    """
    keep = edges[0] != edges[1] if weight is None else (edges[0] != edges[1]) & (weight != 0)
    source, target = edges[:, keep]
    keys = np.minimum(source, target) * num_nodes + np.maximum(source, target)  # one number a pair {u, v}
    pairs, pair_of_edge = (distinct(keys), keys) if weight is None else np.unique(keys, return_inverse=True)
    low, high = np.divmod(pairs, num_nodes)
    both = np.concatenate([pairs, high * num_nodes + low])
    if weight is None:
        return np.stack(np.divmod(np.sort(both), num_nodes)), None
    order = np.argsort(both, kind="stable")
    sums = np.bincount(pair_of_edge, weights=weight[keep].astype(np.float64), minlength=pairs.size)
    means = (sums / np.bincount(pair_of_edge, minlength=pairs.size)).astype(np.float32)
    undirected = np.stack(np.divmod(both[order], num_nodes))
    return undirected, None if bool((means == 1).all()) else np.tile(means, 2)[order]


def distinct(keys: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return numbers >= 0 without repeats, ascending; for millions far faster than `numpy.unique`, which hashes."""
    keys = np.sort(keys)
    return np.asarray(keys[np.diff(keys, prepend=-1) != 0])


def adjacency_edges(adjacency: Any, num_nodes: int) -> tuple[Edges, NDArray[Any]]:
    """Return the edges [2, m] and weights [m] of an n x n adjacency matrix; an entry that is not 0 is an edge."""
    adjacency = to_scipy(adjacency, "adjacency matrix is") if is_sparse(adjacency) else to_numpy(adjacency)
    if tuple(adjacency.shape) != (num_nodes, num_nodes):
        raise InputError(
            f"The adjacency matrix has shape {list(adjacency.shape)}, but with {num_nodes} nodes it must be "
            f"[{num_nodes}, {num_nodes}]."
        )
    if adjacency.dtype.kind not in "fiub":
        raise InputError(f"The adjacency matrix holds {adjacency.dtype} values, but they must be numbers.")
    entries = sparse.coo_array(adjacency)
    entries.sum_duplicates()
    return np.stack([entries.row, entries.col]).astype(np.int64), entries.data


def _check_weight(weight: NDArray[Any], num_edges: int) -> NDArray[np.float32]:
    if weight.ndim == 2 and weight.shape[1] == 1:
        weight = weight[:, 0]
    if weight.shape != (num_edges,) or weight.dtype.kind not in "fiub":
        raise InputError(
            f"The edge weights have shape {list(weight.shape)} and {weight.dtype} values, but there are {num_edges} "
            "edges and they must be numbers: give one an edge, in the same order."
        )
    with np.errstate(over="ignore"):  # a weight beyond float32 becomes inf and is reported as such below
        as_float = weight.astype(np.float32)
    wrong = ~np.isfinite(as_float) | (as_float < 0)
    if wrong.any():
        first = int(wrong.argmax())
        raise InputError(
            f"{int(wrong.sum())} of the {num_edges} edge weights are negative, NaN or infinite (the first at edge "
            f"{first}: {weight[first]}); weights must be finite and not negative."
        )
    return as_float
