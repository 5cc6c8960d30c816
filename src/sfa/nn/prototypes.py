"""Prototypes: trained unit vectors that projections are assigned to (SwAV)."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.functional import normalize

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
    """Whether the rows of all processes are one batch; :func:`sfa.distributed.enable_cross_rank` sets it."""

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
