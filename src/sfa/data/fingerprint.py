"""Hash the content of a graph, graph set or image set, by which a run knows its data again."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
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
    if key != "x":
        yield np.ascontiguousarray(to_numpy(value))
    elif value.dim() == 4:
        for chunk in row_chunks((len(value), value[0].numel())):
            yield np.ascontiguousarray(value[chunk].detach().cpu().numpy())
    else:
        yield from (places for places, _ in _entries(value))
        yield from (values for _, values in _entries(value))


def _entries(x: Tensor) -> Iterator[tuple[NDArray[np.int64], NDArray[Any]]]:
    """Return the places (row · d + column, ascending) and values of the non-zero entries, by chunks of dense rows."""
    x = x.detach().cpu()
    if x.layout == torch.sparse_csr:
        rows = np.repeat(np.arange(x.shape[0]), np.diff(x.crow_indices().numpy()))
        yield rows * x.shape[1] + x.col_indices().numpy(), x.values().numpy()
        return
    for chunk in row_chunks(x.shape):
        rows = x[chunk].numpy().ravel()
        places = np.flatnonzero(rows).astype(np.int64, copy=False)
        values = rows[places]
        places += chunk.start * x.shape[1]
        yield places, values
