"""Embeddings with the nodes' own features beside them."""

from __future__ import annotations

import torch
from torch import Tensor

from sfa.graph.gcn import CHUNK
from sfa.graph.products import some_rows
from sfa.matrices import unit_rows


@torch.no_grad()
def beside_own_features(z: Tensor, x: Tensor, weight: float, *, chunk: int = CHUNK) -> Tensor:
    """Unit rows of embeddings ``(n, d)`` and right of them those of features ``(n, c)`` times a weight: ``(n, d + c)``.

    The inner product of two rows is the cosine of the embeddings, plus the weight's square times that of the features.
    A row of zeros stays one. Features may be dense or CSR; the result is dense, and made in chunks of rows.
    """
    width = z.shape[1]
    result = z.new_empty(len(z), width + x.shape[1])
    for start in range(0, len(z), chunk):
        part = slice(start, start + chunk)
        result[part, :width] = unit_rows(z[part])
        result[part, width:] = weight * unit_rows(some_rows(x, start, min(start + chunk, len(z))).to_dense())
    return result
