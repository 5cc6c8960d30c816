"""Hash the content of a graph, graph set or image set, by which a run knows its data again."""

import hashlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch_geometric.data import Data

from sfa.data.arrays import to_numpy
from sfa.matrices import row_chunks
from sfa.tasks import Task, task_of

KEYS: dict[Task, tuple[str, ...]] = {
    "node": ("x", "edge_index", "edge_weight", "y"),
    "graph": ("x", "edge_index", "edge_weight", "y", "ptr"),
    "image": ("x", "y", "train_mask"),
}
"""What counts, in this order."""


def fingerprint(data: Data) -> str:
    """Return the SHA-256 of x, edge_index, edge_weight and y, with shapes and dtypes; not of what anything is called.

    Masks do not count either: a split belongs to how embeddings are scored, and nothing that is learned depends on it.
    Features count by their non-zero entries: a graph has the same fingerprint with dense and with sparse ones. Of a
    graph set counts `ptr` as well, where each graph begins. Of an image set count x, all of it, and y, and the one mask
    that does decide what is learned: `train_mask`.
    """
    digest = hashlib.sha256()
    for key in KEYS[task_of(data)]:
        value = getattr(data, key, None)
        if value is None:
            digest.update(f"{key}:none;".encode())
            continue
        kind = np.dtype(str(value.dtype).removeprefix("torch.")).str
        digest.update(f"{key}:{kind}:{list(value.shape)};".encode())
        for content in _contents(key, value):
            digest.update(content.data)
    return digest.hexdigest()


def _contents(key: str, value: Any) -> Iterator[NDArray[Any]]:
    """Yield what is hashed: of features, first the places (row · d + column) and then the values that are not zero."""
    if key != "x":
        yield np.ascontiguousarray(to_numpy(value))
        return
    value = value.detach().cpu()
    if value.layout == torch.sparse_csr:
        rows = np.repeat(np.arange(value.shape[0]), np.diff(value.crow_indices().numpy()))
        yield rows * value.shape[1] + value.col_indices().numpy()
        yield value.values().numpy()
        return
    chunks = list(row_chunks((len(value), value[0].numel())))
    if value.dim() == 4:
        yield from (np.ascontiguousarray(value[chunk].numpy()) for chunk in chunks)
        return
    for chunk in chunks:
        yield np.flatnonzero(value[chunk].numpy()).astype(np.int64, copy=False) + chunk.start * value.shape[1]
    for chunk in chunks:
        rows = value[chunk].numpy()
        yield rows[rows != 0]
