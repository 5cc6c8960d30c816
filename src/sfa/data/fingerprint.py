"""A graph's content in one line of text, by which a run knows its data again."""

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
from sfa.levels import level_of
from sfa.matrices import row_chunks


def fingerprint(data: Data) -> str:
    """The SHA-256 of x, edge_index, edge_weight and y, with shapes and dtypes; not of what anything is called.

    Masks do not count either: a split belongs to how embeddings are scored, and nothing that is learnt depends on it.
    Features count by their non-zero entries: a graph has the same fingerprint with dense and with sparse ones. Of a
    graph set counts `ptr` as well, where each graph begins.
    """
    digest = hashlib.sha256()
    for key in ("x", "edge_index", "edge_weight", "y", *(("ptr",) if level_of(data) == "graph" else ())):
        value = getattr(data, key, None)
        if value is None:
            digest.update(f"{key}:none;".encode())
            continue
        kind = np.dtype(str(value.dtype).removeprefix("torch.")).str
        digest.update(f"{key}:{kind}:{list(value.shape)};".encode())
        if key != "x":
            digest.update(np.ascontiguousarray(to_numpy(value)).data)
            continue
        for places, _ in _entries(value):
            digest.update(places.data)
        for _, values in _entries(value):
            digest.update(values.data)
    return digest.hexdigest()


def _entries(x: Tensor) -> Iterator[tuple[NDArray[np.int64], NDArray[Any]]]:
    """The places (row · d + column, ascending) and the values of the non-zero entries, by chunks of dense rows."""
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
