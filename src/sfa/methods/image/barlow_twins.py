"""Barlow Twins: self-supervised learning via redundancy reduction (Zbontar et al., 2021)."""

from __future__ import annotations

from torch import Tensor

from sfa.image.encoders import EncoderName
from sfa.image.views import Augmentation
from sfa.losses import barlow_twins
from sfa.methods.image.heads import mlp
from sfa.methods.image.two_image_views import TwoImageViewMethod
from sfa.ranges import Count, NonNegative, Positive
from sfa.spectral import SpectralMap


class BarlowTwins(TwoImageViewMethod):
    r"""Make the cross-correlation of the two views' projections the identity; no negatives.

    .. math::
        \mathcal{L} = s \Big( \sum_i (1 - C_{ii})^2 + \lambda \sum_i \sum_{j \neq i} C_{ij}^2 \Big), \qquad
        C = \tfrac1b \hat Z_\alpha^\top \hat Z_\beta, \qquad Z = g(\tilde H)

    with every column of :math:`Z` standardised over the batch, the encoder's features after the spectral map
    :math:`\tilde H`, and the projector :math:`g`, three linear layers with batch normalisation and a ReLU between.
    Its widths and the scale are solo-learn's (da Costa et al., 2022) for CIFAR, which the paper follows; the authors'
    projector is 8192 wide, on ImageNet.

    Args:
        in_features: Number of channels.
        encoder: ``small``, ``small-strided``, ``resnet18`` (of CIFAR's recipes) or ``resnet18-imagenet``.
        hidden: Channels of its first stage.
        augmentation: The strengths of the views, by name.
        head_hidden: Width of the projector's two hidden layers.
        head_width: Width of what it gives.
        off_diagonal: ``λ``, the weight of the redundancy term.
        scale: ``s``, a factor of the whole loss; it matters to optimisers that do not scale the gradient themselves,
            and to weights which LARS does not scale.
        spectral: The map applied to both feature maps while training.
    """

    def __init__(
        self,
        in_features: int,
        *,
        encoder: EncoderName = "small",
        hidden: Count = 32,
        augmentation: Augmentation = "asymmetric",
        head_hidden: Count = 2048,
        head_width: Count = 2048,
        off_diagonal: NonNegative = 0.0051,
        scale: Positive = 0.1,
        spectral: SpectralMap | None = None,
    ) -> None:
        super().__init__(
            in_features,
            encoder=encoder,
            hidden=hidden,
            augmentation=augmentation,
            make_head=lambda width: mlp((width, head_hidden, head_hidden, head_width)),
            spectral=spectral,
        )
        self.off_diagonal = off_diagonal
        self.scale = scale

    def loss(self, z_alpha: Tensor, z_beta: Tensor) -> Tensor:
        return self.scale * barlow_twins(
            z_alpha, z_beta, off_diagonal=self.off_diagonal, across_processes=self.across_processes
        )
