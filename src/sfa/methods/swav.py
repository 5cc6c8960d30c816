"""SwAV: unsupervised learning of visual features by contrasting cluster assignments (Caron et al., 2020)."""

import torch
from torch import Tensor, nn
from torch.nn.functional import normalize

from sfa.losses import swapped_prediction
from sfa.methods.base import Spectral, TwoViewMethod, Views
from sfa.nn.heads import Prototypes, Queue, mlp_head
from sfa.ranges import Count, Natural, Positive, check_number, check_whole
from sfa.registry import register


@register("method", "swav")
class SwAV(TwoViewMethod):
    """Predict, from one view, the prototypes that the other is assigned to; the assignments use all of them alike.

    From `"Unsupervised Learning of Visual Features by Contrasting Cluster Assignments"
    <https://arxiv.org/abs/2006.09882>`_ (Caron et al., 2020). The loss is :func:`~sfa.losses.swapped_prediction`,
    assignments are those of :func:`~sfa.losses.sinkhorn` on the scores of the batch and, late in training, of earlier
    batches too. As in the authors' code the prototypes rest at first, and the queue is used once it is full. Widths and
    epochs are solo-learn's (da Costa et al., 2022) for CIFAR; fewer epochs need an earlier ``queue_from``.

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
