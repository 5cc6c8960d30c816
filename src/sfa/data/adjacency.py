"""An adjacency matrix (SciPy sparse, dense, or torch) -> edge index and weights."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from sfa.errors import InputError


def adjacency_edges(adjacency: Any, num_nodes: int) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """The edges [2, m] and weights [m] of an n x n adjacency matrix; an entry that is not 0 is an edge."""
    from scipy import sparse

    if isinstance(adjacency, torch.Tensor):
        adjacency = adjacency.detach().cpu()
        if adjacency.layout != torch.strided:
            adjacency = adjacency.to_sparse_coo().coalesce()
            adjacency = sparse.coo_array(
                (adjacency.values().numpy(), adjacency.indices().numpy()), shape=tuple(adjacency.shape)
            )
    if tuple(adjacency.shape) != (num_nodes, num_nodes):
        raise InputError(
            f"The adjacency matrix has shape {list(adjacency.shape)}, but with {num_nodes} nodes it must be "
            f"[{num_nodes}, {num_nodes}]."
        )
    if not sparse.issparse(adjacency) and np.asarray(adjacency).dtype.kind not in "fiub":
        raise InputError(f"The adjacency matrix holds {np.asarray(adjacency).dtype} values, but they must be numbers.")
    entries = sparse.coo_array(adjacency)
    entries.sum_duplicates()
    return np.stack([entries.row, entries.col]).astype(np.int64), entries.data
