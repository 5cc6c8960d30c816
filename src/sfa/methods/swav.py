"""SwAV: unsupervised learning of visual features by contrasting cluster assignments (Caron et al., 2020)."""

from __future__ import annotations

from functools import partial

import torch
from torch import Tensor, nn

from sfa import processes
from sfa.losses import sinkhorn, swapped_prediction
from sfa.methods.base import Spectral, Views
from sfa.methods.two_views import TwoViewMethod
from sfa.nn.heads import mlp_head
from sfa.nn.queue import Queue
from sfa.ranges import Count, Natural, Positive, check_number, check_whole
from sfa.registry import register


@register("method", "swav")
class SwAV(TwoViewMethod):
    r"""Predict, from one view, the prototypes that the other is assigned to; the assignments use all of them alike.

    From `"Unsupervised Learning of Visual Features by Contrasting Cluster Assignments"
    <https://arxiv.org/abs/2006.09882>`_ (Caron et al., 2020).

    .. math::
        \mathcal{L} = -\frac{1}{2b} \sum_i \sum_k \big( q^\beta_{ik} \log p^\alpha_{ik} +
            q^\alpha_{ik} \log p^\beta_{ik} \big), \qquad
        p_{ik} \propto e^{z_i^\top c_k / \tau}, \qquad z = \frac{g(\tilde h)}{\lVert g(\tilde h) \rVert}

    with the encoder's features after the spectral map :math:`\tilde h`, the projector :math:`g`, and the prototypes
    :math:`c_k`, which are trained and of length 1. The assignments :math:`q`, constants, are those of Sinkhorn's
    iterations (:func:`~sfa.losses.sinkhorn`) on the scores of the batch and, late in training, of earlier batches too.

    As in the authors' code the prototypes rest at first, the queue begins to fill at its epoch, and it is used once it
    is full; solo-learn (da Costa et al., 2022) fills it from the first step and has weight normalization in place of
    length 1. There are two views of full size. Widths, numbers and epochs are solo-learn's for CIFAR, which the paper
    follows. A run of fewer epochs needs an earlier ``queue_from``.

    Args:
        encoder: Any module from images to ``(b, d)``.
        augmentation: Makes two views of a batch of images; by default :class:`~sfa.augment.ImageViews`.
        head_hidden: Hidden width of the projector.
        head_width: Width of projections and prototypes.
        prototypes: How many.
        tau: Temperature of the predictions.
        epsilon: How soft the assignments are.
        iterations: Sinkhorn's.
        queue: Projections of each view that are kept for the assignments; none, if 0.
        queue_from: Epochs before the queue is filled.
        frozen_epochs: Epochs before the prototypes are trained.
        spectral: The map applied to both feature maps while training, or several in order.
    """

    level = "image"
    defaults = {"augmentation": {"strength": "strong"}}
    spans_processes = True

    def __init__(
        self,
        encoder: nn.Module,
        augmentation: Views | None = None,
        *,
        head_hidden: Count = 2048,
        head_width: Count = 128,
        prototypes: Count = 3000,
        tau: Positive = 0.1,
        epsilon: Positive = 0.05,
        iterations: Count = 3,
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
        self.prototypes = nn.Linear(head_width, prototypes, bias=False)
        self._normalize_prototypes()
        self.queue = Queue(queue, head_width) if queue else None
        self.tau, self.epsilon, self.iterations = tau, epsilon, iterations
        self.queue_from, self.frozen_epochs = queue_from, frozen_epochs
        # Set anew before each step, so that a run that is resumed has them right.
        self._uses_queue = self._is_frozen = False

    def before_step(self, epochs: float) -> None:
        self._uses_queue = epochs >= self.queue_from
        self._is_frozen = epochs < self.frozen_epochs

    def after_backward(self) -> None:
        # A gradient of zero would not do: optimizers decay weights that have one, and begin to count their steps.
        if self._is_frozen:
            self.prototypes.weight.grad = None

    def after_step(self, done: float) -> None:
        if not self._is_frozen:
            self._normalize_prototypes()

    def loss(self, z_alpha: Tensor, z_beta: Tensor) -> Tensor:
        z = nn.functional.normalize(torch.stack([z_alpha, z_beta]), dim=2)
        scores_alpha, scores_beta = scores = self.prototypes(z)
        q_alpha, q_beta = self.assignments(scores.detach())
        if self.queue is not None and self._uses_queue and self.training:
            self.queue.push(self._of_all_processes(z.detach()))
        return swapped_prediction(
            scores_alpha, scores_beta, q_alpha, q_beta, tau=self.tau, across_processes=self.across_processes
        )

    @torch.no_grad()
    def assignments(self, scores: Tensor) -> list[Tensor]:
        """Compute assignments ``(b, prototypes)`` of each view, from the scores of both, ``(2, b, prototypes)``."""
        rows = scores.shape[1]
        if self.queue is not None and self._uses_queue and self.queue.is_full:
            scores = torch.cat([scores, self.prototypes(self._own_share(self.queue.rows))], dim=1)
        assign = partial(
            sinkhorn, epsilon=self.epsilon, iterations=self.iterations, across_processes=self.across_processes
        )
        return [assign(of_view)[:rows] for of_view in scores]

    def _of_all_processes(self, z: Tensor) -> Tensor:
        """Gather projections ``(2, b, width)`` of the batch that the processes share: each keeps the same queue."""
        return processes.gather_rows(z.transpose(0, 1))[0].transpose(0, 1) if self.across_processes else z

    def _own_share(self, rows: Tensor) -> Tensor:
        """Return the part of the queue that this process adds to its batch: between them they add every row once."""
        return rows.tensor_split(processes.count(), dim=1)[processes.rank()] if self.across_processes else rows

    @torch.no_grad()
    def _normalize_prototypes(self) -> None:
        weight = self.prototypes.weight
        weight.copy_(nn.functional.normalize(weight, dim=1))
