"""Barlow Twins: self-supervised learning via redundancy reduction (Zbontar et al., 2021)."""

from torch import Tensor, nn

from sfa.losses import barlow_twins
from sfa.methods.base import Spectral, TwoViewMethod, Views
from sfa.nn.heads import mlp_head
from sfa.ranges import Count, NonNegative, Positive
from sfa.registry import register


@register("method", "barlow-twins")
class BarlowTwins(TwoViewMethod):
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
    spans_processes = True

    def __init__(
        self,
        encoder: nn.Module,
        augmentation: Views = None,
        *,
        head_hidden: Count = 2048,
        head_width: Count = 2048,
        off_diagonal: NonNegative = 0.0051,
        scale: Positive = 0.1,
        spectral: Spectral = None,
    ) -> None:
        super().__init__(encoder, augmentation, spectral=spectral)
        self.head = mlp_head((self.width, head_hidden, head_hidden, head_width))
        self.off_diagonal, self.scale = off_diagonal, scale

    def loss(self, z_alpha: Tensor, z_beta: Tensor) -> Tensor:
        loss = barlow_twins(z_alpha, z_beta, off_diagonal=self.off_diagonal, across_processes=self.across_processes)
        return self.scale * loss
