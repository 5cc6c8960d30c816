"""One step of power iteration on a large map, read from memory once."""

import torch
from torch import Tensor

from sfa.spectral.projection import unit

LARGE = 2**23  # entries; smaller maps stay in the cache, or nearly so
BLOCK = 2**19  # entries of a block of rows, 2 MB in float32


def is_large(h: Tensor, *, is_constant: bool) -> bool:
    """Tell whether a step on ``h`` is bound by memory; batches and maps with a gradient are left to plain products."""
    return h.dim() == 2 and is_constant and h.shape[0] * h.shape[1] >= LARGE and h.device.type == "cpu"


def turn_in_blocks(h: Tensor, r: Tensor) -> Tensor:
    r"""Compute :math:`H^\top H r`, normalized, for ``h`` ``(n, d)`` and ``r`` ``(d, 1)`` by blocks of rows.

    A block is still in the cache when it is read for the second product. Its part of ``H r`` is divided by the largest
    entry, as entries of ``1e±20`` would overflow or vanish, and these factors are put back relative to each other.
    """
    r, parts, sizes = unit(r), [], []
    for rows in torch.split(h, max(1, BLOCK // h.shape[-1])):
        image = rows @ r
        size = image.abs().amax()
        parts.append(rows.mT @ (image / torch.where(size > 0, size, 1)))  # (d, 1)
        sizes.append(size)
    relative = torch.stack(sizes)
    largest = relative.amax()
    return unit(torch.cat(parts, dim=-1) @ (relative / torch.where(largest > 0, largest, 1)).unsqueeze(-1))
