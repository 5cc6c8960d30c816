"""Check edges, and bring them to the one form used everywhere: both directions, sorted, no loop, no duplicate."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sfa.data.arrays import is_sparse, to_numpy, to_scipy
from sfa.errors import InputError

Edges = NDArray[np.int64]
Weights = NDArray[np.float32] | None


def check_edges(edges: Any, weight: Any, num_nodes: int) -> tuple[Edges, Weights]:
    """Return edges as int64 [2, m], and their weights, if there are any, as float32 [m]."""
    if edges is None:
        raise InputError("There is no edge_index; set it to an integer tensor [2, edges], which may be empty.")
    edges = to_numpy(edges)
    if edges.size == 0:
        edges = np.empty((2, 0), dtype=np.int64)
    if edges.ndim != 2 or edges.shape[0] != 2 or edges.dtype.kind not in "iu":
        raise InputError(
            f"The edge index has shape {list(edges.shape)} and {edges.dtype} values, but it must be [2, number of "
            "edges] (row 0 the sources, row 1 the targets; transpose it if each row is one edge) and hold integers "
            f"from 0 to {num_nodes - 1}."
        )
    strange = [edges.min(initial=0), edges.max(initial=0)]
    wrong = next((node for node in strange if not 0 <= node < max(num_nodes, 1)), None)
    if wrong is not None:
        raise InputError(
            f"The edge index holds node {wrong}, but there are {num_nodes} nodes (as many as rows of features, where "
            f"there are any): 0 to {num_nodes - 1} are allowed."
        )
    return edges.astype(np.int64), None if weight is None else _check_weight(to_numpy(weight), edges.shape[1])


def undirected_edges(edges: Edges, weight: Weights, num_nodes: int) -> tuple[Edges, Weights]:
    """Return the edges [2, m] in both directions, sorted by (row, column), and their weights or None if all are 1.

    A self-loop is dropped, and so is an edge of weight 0 (it is no edge). The weight of a pair {u, v} is the MEAN of
    all the weights given for it, in either direction: an edge listed twice does not grow heavier, and a symmetric
    input keeps its weights.
    """
    keep = edges[0] != edges[1]
    if weight is not None:
        keep &= weight != 0
        weight = weight[keep]
    source, target = edges[:, keep]
    keys = np.minimum(source, target) * num_nodes + np.maximum(source, target)  # one number a pair {u, v}
    if weight is None:
        both = np.sort(_both_directions(distinct(keys), num_nodes))
        return np.stack(np.divmod(both, num_nodes)), None
    pairs, pair_of_edge = np.unique(keys, return_inverse=True)
    both = _both_directions(pairs, num_nodes)
    order = np.argsort(both, kind="stable")
    undirected = np.stack(np.divmod(both[order], num_nodes))
    sums = np.bincount(pair_of_edge, weights=weight.astype(np.float64), minlength=pairs.size)
    means = (sums / np.bincount(pair_of_edge, minlength=pairs.size)).astype(np.float32)
    return undirected, None if bool((means == 1).all()) else np.tile(means, 2)[order]


def distinct(keys: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return numbers >= 0 without repeats, ascending; for millions far faster than `numpy.unique`, which hashes."""
    keys = np.sort(keys)
    return np.asarray(keys[np.diff(keys, prepend=-1) != 0])


def _both_directions(pairs: NDArray[np.int64], num_nodes: int) -> NDArray[np.int64]:
    low, high = np.divmod(pairs, num_nodes)
    return np.concatenate([pairs, high * num_nodes + low])


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
