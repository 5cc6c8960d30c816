"""Embeddings without the directions that the layer has made an encoder build for it to remove."""

from __future__ import annotations

import torch
from torch import Tensor

from sfa.errors import InputError
from sfa.matrices import row_chunks


@torch.no_grad()
def without_leading(z: Tensor, count: int) -> Tensor:
    r"""Embeddings ``(n, d)`` less their projection on their ``count`` strongest singular directions.

    .. math::
        Z - Z V V^\top, \qquad V = [v_1 \dots v_c] \text{ of } Z = U \Sigma V^\top

    One direction is what a complete power iteration would remove (:math:`k \to \infty`). The directions are those of
    the Gram matrix ``(d, d)``, in float64 and made in chunks of rows.
    """
    n, width = z.shape
    if count >= width:
        raise InputError(f"Embeddings of width {width} without their {count} leading directions would be nothing.")
    largest = z.abs().amax() if n else z.new_ones(())
    if not largest.isfinite():
        raise InputError("Embeddings with NaN or infinity have no leading directions.")
    scale = torch.where(largest > 0, largest, 1)  # so that no square overflows
    gram = torch.zeros(width, width, dtype=torch.float64, device=z.device)
    for chunk in row_chunks((n, width)):
        rows = (z[chunk] / scale).double()
        gram += rows.mT @ rows
    leading = torch.linalg.eigh(gram).eigenvectors[:, width - count :]
    result = torch.empty_like(z, memory_format=torch.contiguous_format)
    for chunk in row_chunks((n, width)):
        rows = z[chunk].double()
        result[chunk] = (rows - (rows @ leading) @ leading.mT).to(z.dtype)
    return result
