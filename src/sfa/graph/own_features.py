"""Embeddings with the nodes' own features beside them."""

from __future__ import annotations

import torch
from torch import Tensor

from sfa.graph.products import some_rows
from sfa.matrices import row_chunks, unit_rows


@torch.no_grad()
def beside_own_features(z: Tensor, x: Tensor, weight: float) -> Tensor:
    """Unit rows of embeddings ``(n, d)`` and right of them those of features ``(n, c)`` times a weight: ``(n, d + c)``.

    The inner product of two rows is the cosine of the embeddings, plus the weight's square times that of the features.
    A row of zeros stays one. Features may be dense or CSR; the result is dense, and made in chunks of rows.
    """
    width = z.shape[1]
    result = z.new_empty(len(z), width + x.shape[1])
    for chunk in row_chunks(tuple(result.shape)):
        result[chunk, :width] = unit_rows(z[chunk])
        result[chunk, width:] = unit_rows(some_rows(x, chunk.start, min(chunk.stop, len(z))).to_dense()).mul_(weight)
    return result
