"""SwAV: unsupervised learning of visual features by contrasting cluster assignments (Caron et al., 2020)."""

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import normalize

from sfa import distributed
from sfa.losses import sinkhorn, swapped_prediction
from sfa.methods.base import Spectral, TwoViewMethod, Views
from sfa.nn.heads import mlp_head
from sfa.ranges import FewCount, Natural, Positive, Width, check_number, check_whole
from sfa.registry import register


@register("method", "swav")
class SwAV(TwoViewMethod):
    """Predict, from one view, the prototypes that the other is assigned to; the assignments use all of them alike.

    From `"Unsupervised Learning of Visual Features by Contrasting Cluster Assignments"
    <https://arxiv.org/abs/2006.09882>`_ (Caron et al., 2020). The loss is :func:`~sfa.losses.swapped_prediction`,
    assignments are those of :func:`~sfa.losses.sinkhorn` on the scores of the batch and, once the queue is full, of
    earlier ones. Widths and epochs are solo-learn's (da Costa et al., 2022) for CIFAR; of fewer epochs, queue earlier.

    Args:
        head_hidden: Hidden width of the projector.
        head_width: Width of projections and prototypes.
        prototypes: Number of prototypes.
        tau: Temperature of the predictions.
        epsilon: Softness of the assignments.
        iterations: Number of Sinkhorn's iterations.
        queue: Projections of each view that are kept for the assignments; none, if 0.
        queue_from: Epochs before the queue is filled.
        frozen_epochs: Epochs before the prototypes are trained.
    """

    task = "image"
    spans_processes = True

    def __init__(
        self,
        encoder: nn.Module,
        augmentation: Views = None,
        *,
        head_hidden: Width = 2048,
        head_width: Width = 128,
        prototypes: Width = 3000,
        tau: Positive = 0.1,
        epsilon: Positive = 0.05,
        iterations: FewCount = 3,
        queue: Natural = 3840,
        queue_from: Natural = 50,
        frozen_epochs: Natural = 2,
        spectral: Spectral = None,
    ) -> None:
        check_number("tau", tau, above=0)
        check_number("epsilon", epsilon, above=0)
        for name, value, least in (("prototypes", prototypes, 1), ("iterations", iterations, 1), ("queue", queue, 0)):
            check_whole(name, value, least)
        super().__init__(encoder, augmentation, spectral=spectral)
        self.head = mlp_head((self.width, head_hidden, head_width))
        self.prototypes = Prototypes(head_width, prototypes, epsilon=epsilon, iterations=iterations)
        self.queue = Queue(queue, head_width) if queue else None
        self.tau, self.queue_from, self.frozen_epochs = tau, queue_from, frozen_epochs
        self._uses_queue = self._is_frozen = False  # set anew before each step, of a resumed run too

    def before_step(self, epochs: float) -> None:
        self._uses_queue = epochs >= self.queue_from
        self._is_frozen = epochs < self.frozen_epochs

    def after_backward(self) -> None:
        # A gradient of zero would not do: optimizers decay weights that have one, and begin to count their steps.
        if self._is_frozen:
            self.prototypes.weight.grad = None

    def after_step(self, done: float) -> None:
        if not self._is_frozen:
            self.prototypes.normalize_()

    def loss(self, z_alpha: Tensor, z_beta: Tensor) -> Tensor:
        z = normalize(torch.stack([z_alpha, z_beta]), dim=2)
        scores = self.prototypes(z)  # (2, b, prototypes)
        queue = self.queue if self._uses_queue else None
        q = self.prototypes.assign(scores.detach(), queue.own_rows if queue and queue.is_full else None)
        if queue and self.training:
            queue.push(z.detach())
        return swapped_prediction(*scores, *q, tau=self.tau, across_processes=self.across_processes)


class Prototypes(nn.Linear):
    """Scores ``(..., count)`` of projections ``(..., width)`` with prototypes of length 1 (SwAV)."""

    across_processes: bool = False  # whether the rows of all processes are one batch: sfa.distributed

    def __init__(self, width: int, count: int, **options: Any) -> None:
        super().__init__(width, count, bias=False)
        self.options = options  # of sinkhorn
        self.normalize_()

    @torch.no_grad()
    def normalize_(self) -> None:
        """Scale all prototypes to length 1, in place."""
        self.weight.copy_(normalize(self.weight, dim=1))

    @torch.no_grad()
    def assign(self, scores: Tensor, more: Tensor | None = None) -> list[Tensor]:
        """Compute assignments ``(b, count)`` of each view from the scores ``(2, b, count)`` of both.

        Projections ``more`` ``(2, m, width)`` are assigned with them, and left out of the result.
        """
        rows = scores.shape[1]
        every = scores if more is None else torch.cat([scores, self(more)], dim=1)
        return [sinkhorn(view, **self.options, across_processes=self.across_processes)[:rows] for view in every]


class Queue(nn.Module):
    """The newest ``size`` projections of both views, with which a small batch is assigned as part of a large one.

    Several processes keep the same queue: they push their rows as one batch, and each adds its own part of it.
    """

    rows: Tensor  # (2, size, width), the newest first
    stored: Tensor  # the number of rows that are projections
    across_processes: bool = False  # whether the rows of all processes are one batch: sfa.distributed

    def __init__(self, size: int, width: int) -> None:
        super().__init__()
        self.register_buffer("rows", torch.zeros(2, size, width))
        self.register_buffer("stored", torch.zeros((), dtype=torch.int64))

    @property
    def is_full(self) -> bool:
        return int(self.stored) == self.rows.shape[1]

    @property
    def own_rows(self) -> Tensor:
        if not self.across_processes:
            return self.rows
        return self.rows.tensor_split(distributed.world_size(), dim=1)[distributed.rank()]

    @torch.no_grad()
    def push(self, z: Tensor) -> None:
        """Add the projections ``(2, b, width)`` of a batch, and drop the oldest rows for them."""
        z = distributed.gather_rows(z.transpose(0, 1))[0].transpose(0, 1) if self.across_processes else z
        size = self.rows.shape[1]
        self.rows.copy_(torch.cat([z.to(self.rows.dtype), self.rows], dim=1)[:, :size])
        self.stored.add_(z.shape[1]).clamp_(max=size)
