"""Embeddings spread over a graph after the encoder has done its part."""

from __future__ import annotations

import torch
from torch import Tensor

from sfa.graph.gcn import CHUNK
from sfa.graph.products import sparse_product
from sfa.graph.propagation import Propagation


@torch.no_grad()
def smoothed(z: Tensor, adjacency: Propagation, *, chunk: int = CHUNK) -> Tensor:
    r""":math:`\hat D^{-1/2} (A + I) \hat D^{-1/2} Z` of embeddings ``(n, d)``, in chunks of rows.

    A row becomes a weighted sum of itself and of its neighbours' rows; a node without neighbours keeps its own. Beside
    the graph no more is held than ``z`` and the result.
    """
    result = z.new_empty(z.shape)
    for start in range(0, len(z), chunk):
        rows = adjacency.rows(start, min(start + chunk, len(z)))
        result[start : start + chunk] = sparse_product(rows, rows, z)  # no way back, and so no transpose
    return result
