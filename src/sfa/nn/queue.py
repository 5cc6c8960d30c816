"""The projections of recent batches, so that a small batch is assigned as part of a large one."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from sfa import distributed as processes


class Queue(nn.Module):
    """First in, first out: the newest projections of both views, in buffers that are saved with the method.

    Several processes keep the same queue: what each of them pushes is one batch, and between them they add every row
    of the queue once (:attr:`own_rows`).

    Args:
        size: Rows it holds of each view, one or more.
        width: Of a row.
    """

    rows: Tensor
    """``(2, size, width)``, view alpha and view beta, the newest first."""
    stored: Tensor
    """How many of the rows are projections: ``size`` once it is full."""

    across_processes: bool = False
    """Whether the rows of all processes are one batch; :func:`sfa.distributed.enable_cross_rank` sets it."""

    def __init__(self, size: int, width: int) -> None:
        super().__init__()
        self.register_buffer("rows", torch.zeros(2, size, width))
        self.register_buffer("stored", torch.zeros((), dtype=torch.int64))

    @property
    def is_full(self) -> bool:
        return int(self.stored) == self.rows.shape[1]

    @property
    def own_rows(self) -> Tensor:
        """The rows that this process adds to its batch."""
        if not self.across_processes:
            return self.rows
        return self.rows.tensor_split(distributed.world_size(), dim=1)[distributed.rank()]

    @torch.no_grad()
    def push(self, z: Tensor) -> None:
        """Take in the projections ``(2, b, width)`` of a batch, and drop the oldest rows for them."""
        z = distributed.gather_rows(z.transpose(0, 1))[0].transpose(0, 1) if self.across_processes else z
        size = self.rows.shape[1]
        self.rows.copy_(torch.cat([z.to(self.rows.dtype), self.rows], dim=1)[:, :size])
        self.stored.add_(z.shape[1]).clamp_(max=size)
