"""SimSiam: exploring simple Siamese representation learning (Chen and He, 2021)."""

from __future__ import annotations

from collections.abc import Iterable

from torch import Tensor, nn

from sfa.image.encoders import EncoderName
from sfa.image.views import Augmentation
from sfa.losses import bootstrap_latent
from sfa.methods.image.heads import mlp
from sfa.methods.image.two_image_views import TwoImageViewMethod
from sfa.ranges import Count
from sfa.spectral import SpectralMap


class SimSiam(TwoImageViewMethod):
    r"""Predict the projection of one view from that of the other, which counts as a constant; no negatives.

    .. math::
        \mathcal{L} = \tfrac12 D(q(z_\alpha), \operatorname{sg}(z_\beta)) +
            \tfrac12 D(q(z_\beta), \operatorname{sg}(z_\alpha)), \qquad
        D(p, z) = -\frac1b \sum_i \cos(p_i, z_i), \qquad z = g(\tilde h)

    with the encoder's features after the spectral map :math:`\tilde h`, the projector :math:`g`, three linear layers
    with batch normalisation after each, the predictor :math:`q` and the stop-gradient :math:`\operatorname{sg}`. The
    loss is from -1 to 1. The predictor's learning rate does not decay: it has to keep up with the projections.

    Args:
        in_features: Number of channels.
        encoder: ``small``, ``small-strided``, ``resnet18`` (of CIFAR's recipes) or ``resnet18-imagenet``.
        hidden: Channels of its first stage.
        augmentation: The strengths of the views, by name.
        head_hidden: Width of the projector's two hidden layers.
        head_width: Width of projections and predictions.
        prediction: Hidden width of the predictor.
        spectral: The map applied to both feature maps while training.
    """

    def __init__(
        self,
        in_features: int,
        *,
        encoder: EncoderName = "small",
        hidden: Count = 32,
        augmentation: Augmentation = "weak",
        head_hidden: Count = 2048,
        head_width: Count = 2048,
        prediction: Count = 512,
        spectral: SpectralMap | None = None,
    ) -> None:
        super().__init__(
            in_features,
            encoder=encoder,
            hidden=hidden,
            augmentation=augmentation,
            make_head=lambda width: mlp((width, head_hidden, head_hidden, head_width), last_norm=True),
            spectral=spectral,
        )
        self.predictor = mlp((head_width, prediction, head_width))

    def constant_rate(self) -> Iterable[nn.Parameter]:
        return self.predictor.parameters()

    def loss(self, z_alpha: Tensor, z_beta: Tensor) -> Tensor:
        p_alpha, p_beta = self.predictor(z_alpha), self.predictor(z_beta)
        return (self.distance(p_alpha, z_beta) + self.distance(p_beta, z_alpha)) / 2

    def distance(self, p: Tensor, z: Tensor) -> Tensor:
        """``D``: minus the mean cosine of predictions and constants, which is the bootstrap loss in other units."""
        return bootstrap_latent(p, z.detach(), across_processes=self.across_processes) / 2 - 1
