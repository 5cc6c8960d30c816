"""Prototypes that projections are assigned to (SwAV), and a queue of the projections of recent batches."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.functional import normalize

from sfa import processes
from sfa.losses import sinkhorn


class Prototypes(nn.Linear):
    """Scores ``(..., count)`` of projections ``(..., width)`` with prototypes of length 1.

    Args:
        width: Of a projection.
        count: Number of prototypes.
        epsilon: How soft the assignments are.
        iterations: Sinkhorn's.
    """

    across_processes: bool = False
    """Whether the rows of all processes are one batch; :func:`sfa.processes.synchronise` sets it."""

    def __init__(self, width: int, count: int, *, epsilon: float, iterations: int) -> None:
        super().__init__(width, count, bias=False)
        self.epsilon, self.iterations = epsilon, iterations
        self.normalize_()

    @torch.no_grad()
    def normalize_(self) -> None:
        """Scale all prototypes to length 1, in place."""
        self.weight.copy_(normalize(self.weight, dim=1))

    @torch.no_grad()
    def assign(self, scores: Tensor, more: Tensor | None = None) -> list[Tensor]:
        """Compute assignments ``(b, count)`` of each view by Sinkhorn's iterations.

        Args:
            scores: Of both views, ``(2, b, count)``.
            more: Projections ``(2, m, width)`` that are assigned with them, and left out of the result.
        """
        rows = scores.shape[1]
        every = scores if more is None else torch.cat([scores, self(more)], dim=1)
        options = {"epsilon": self.epsilon, "across_processes": self.across_processes}
        return [sinkhorn(view, iterations=self.iterations, **options)[:rows] for view in every]  # type: ignore[arg-type]


class Queue(nn.Module):
    """The newest projections of both views, first in, first out, in buffers that are saved with the method.

    With it a small batch is assigned as part of a large one. Several processes keep the same queue: what each of them
    pushes is one batch, and between them they add every row of the queue once (:attr:`own_rows`).

    Args:
        size: Rows it holds of each view, one or more.
        width: Of a row.
    """

    rows: Tensor
    """``(2, size, width)``, view alpha and view beta, the newest first."""
    stored: Tensor
    """How many of the rows are projections: ``size`` once it is full."""

    across_processes: bool = False
    """Whether the rows of all processes are one batch; :func:`sfa.processes.synchronise` sets it."""

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
        return self.rows.tensor_split(processes.count(), dim=1)[processes.rank()]

    @torch.no_grad()
    def push(self, z: Tensor) -> None:
        """Take in the projections ``(2, b, width)`` of a batch, and drop the oldest rows for them."""
        z = processes.gather_rows(z.transpose(0, 1))[0].transpose(0, 1) if self.across_processes else z
        size = self.rows.shape[1]
        self.rows.copy_(torch.cat([z.to(self.rows.dtype), self.rows], dim=1)[:, :size])
        self.stored.add_(z.shape[1]).clamp_(max=size)
