"""Siamese networks of images: SimCLR (Chen et al., 2020), Barlow Twins (2021) and SimSiam (Chen and He, 2021)."""

import math
from collections.abc import Iterable
from typing import Any

from torch import Tensor, nn

from sfa.losses import bootstrap_latent, nt_xent
from sfa.losses.nt_xent import check_temperature
from sfa.methods.base import Spectral, TwoViewMethod, Views
from sfa.methods.g_bt import GBT
from sfa.nn.heads import mlp_head
from sfa.ranges import NonNegative, Positive, Width
from sfa.registry import register


@register("method", "simclr")
class SimCLR(TwoViewMethod):
    """Find the other view of an image among the views of all images of the batch (NT-Xent).

    From `"A Simple Framework for Contrastive Learning of Visual Representations" <https://arxiv.org/abs/2002.05709>`_
    (Chen et al., 2020). The loss is :func:`~sfa.losses.nt_xent` behind a projector of two linear layers. Widths and
    temperature are solo-learn's (da Costa et al., 2022) for CIFAR.

    Args:
        head_hidden: Hidden width of the projector.
        head_width: Width of its output.
        tau: Temperature.
    """

    task = "image"
    spans_processes = True

    def __init__(
        self,
        encoder: nn.Module,
        augmentation: Views = None,
        *,
        head_hidden: Width = 2048,
        head_width: Width = 256,
        tau: Positive = 0.2,
        spectral: Spectral = None,
    ) -> None:
        check_temperature(tau)
        super().__init__(encoder, augmentation, spectral=spectral)
        self.head = mlp_head((self.width, head_hidden, head_width), batch_norm=False)
        self.tau = tau

    def chance_loss(self, rows: int) -> float | None:
        return math.log(2 * rows - 1)

    def loss(self, z_alpha: Tensor, z_beta: Tensor) -> Tensor:
        return nt_xent(z_alpha, z_beta, tau=self.tau, across_processes=self.across_processes)


@register("method", "barlow-twins")
class BarlowTwins(GBT):
    """Make the cross-correlation of the two views' projections the identity; no negatives.

    From `"Barlow Twins: Self-Supervised Learning via Redundancy Reduction" <https://arxiv.org/abs/2103.03230>`_
    (Zbontar et al., 2021). The loss is :func:`~sfa.losses.barlow_twins` behind a projector of three linear layers with
    batch normalization. Widths and scale are solo-learn's (da Costa et al., 2022) for CIFAR.

    Args:
        head_hidden: Width of the projector's two hidden layers.
        head_width: Width of its output.
        off_diagonal: Weight of the redundancy term.
        scale: Factor of the loss; it matters where the optimizer does not scale the gradient itself.
    """

    task = "image"
    defaults = {"augmentation": {"strength": "asymmetric"}}

    def __init__(
        self,
        encoder: nn.Module,
        augmentation: Views = None,
        *,
        head_hidden: Width = 2048,
        head_width: Width = 2048,
        off_diagonal: NonNegative = 0.0051,
        scale: Positive = 0.1,
        **options: Any,
    ) -> None:
        super().__init__(encoder, augmentation, off_diagonal=off_diagonal, **options)
        self.head = mlp_head((self.width, head_hidden, head_hidden, head_width))
        self.scale = scale

    def loss(self, z_alpha: Tensor, z_beta: Tensor) -> Tensor:
        return self.scale * super().loss(z_alpha, z_beta)


@register("method", "simsiam")
class SimSiam(TwoViewMethod):
    """Predict the projection of one view from that of the other, which counts as a constant; no negatives.

    From `"Exploring Simple Siamese Representation Learning" <https://arxiv.org/abs/2011.10566>`_ (Chen and He, 2021).
    The loss is minus the mean cosine of predictions and projections, over both directions. The projector is three
    linear layers with batch normalization after each; the predictor's learning rate does not decay.

    Args:
        head_hidden: Width of the projector's two hidden layers.
        head_width: Width of projections and predictions.
        prediction: Hidden width of the predictor.
    """

    task = "image"
    defaults = {"augmentation": {"strength": "weak"}}
    spans_processes = True

    def __init__(
        self,
        encoder: nn.Module,
        augmentation: Views = None,
        *,
        head_hidden: Width = 2048,
        head_width: Width = 2048,
        prediction: Width = 512,
        spectral: Spectral = None,
    ) -> None:
        super().__init__(encoder, augmentation, spectral=spectral)
        self.head = mlp_head((self.width, head_hidden, head_hidden, head_width), last_norm=True)
        self.predictor = mlp_head((head_width, prediction, head_width))

    def constant_rate(self) -> Iterable[nn.Parameter]:
        return self.predictor.parameters()

    def loss(self, z_alpha: Tensor, z_beta: Tensor) -> Tensor:
        p_alpha, p_beta = self.predictor(z_alpha), self.predictor(z_beta)
        return (self.distance(p_alpha, z_beta) + self.distance(p_beta, z_alpha)) / 2

    def distance(self, p: Tensor, z: Tensor) -> Tensor:
        """Compute ``D``, minus the mean cosine of predictions and constants: the bootstrap loss in other units."""
        return bootstrap_latent(p, z.detach(), across_processes=self.across_processes) / 2 - 1
