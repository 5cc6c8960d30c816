"""The projections of recent batches, so that a small batch is assigned as part of a large one."""

from __future__ import annotations

import torch
from torch import Tensor, nn


class Queue(nn.Module):
    """First in, first out: the newest projections of both views, in buffers that are saved with the method.

    Args:
        size: Rows it holds of each view, one or more.
        width: Of a row.
    """

    rows: Tensor
    """``(2, size, width)``, view alpha and view beta, the newest first."""
    stored: Tensor
    """How many of the rows are projections: ``size`` once it is full."""

    def __init__(self, size: int, width: int) -> None:
        super().__init__()
        self.register_buffer("rows", torch.zeros(2, size, width))
        self.register_buffer("stored", torch.zeros((), dtype=torch.int64))

    @property
    def is_full(self) -> bool:
        return int(self.stored) == self.rows.shape[1]

    @torch.no_grad()
    def push(self, z: Tensor) -> None:
        """Take in the projections ``(2, b, width)`` of a batch, and drop the oldest rows for them."""
        size = self.rows.shape[1]
        self.rows.copy_(torch.cat([z.to(self.rows.dtype), self.rows], dim=1)[:, :size])
        self.stored.add_(z.shape[1]).clamp_(max=size)
