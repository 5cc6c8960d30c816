"""SimCLR: a simple framework for contrastive learning of visual representations (Chen et al., 2020)."""

from __future__ import annotations

from torch import Tensor

from sfa.image.encoders import EncoderName
from sfa.image.views import Augmentation
from sfa.losses import nt_xent
from sfa.losses.nt_xent import check_temperature
from sfa.methods.image.heads import mlp
from sfa.methods.image.two_image_views import TwoImageViewMethod
from sfa.ranges import Count, Positive
from sfa.spectral import SpectralMap


class SimCLR(TwoImageViewMethod):
    r"""Find the other view of an image among the views of all images of the batch (NT-Xent).

    .. math::
        \mathcal{L} = \frac{1}{2b} \sum_{i=1}^{2b} -\log \frac{ e^{\cos(z_i, z_{i^+}) / \tau} }
            { \sum_{j \neq i} e^{\cos(z_i, z_j) / \tau} }, \qquad z = g(\tilde h)

    over the ``2b`` views of ``b`` images, where :math:`i^+` is the other view of the image of :math:`i`: each has one
    positive and ``2b - 2`` negatives, from both views. :math:`\tilde h` are the encoder's features after the spectral
    map and :math:`g` the projector, two linear layers with a ReLU between. The head's widths and the temperature are
    solo-learn's (da Costa et al., 2022) for CIFAR, which the paper follows.

    Args:
        in_features: Number of channels.
        encoder: ``small``, ``small-strided``, ``resnet18`` (of CIFAR's recipes) or ``resnet18-imagenet``.
        hidden: Channels of its first stage.
        augmentation: The strengths of the views, by name.
        head_hidden: Hidden width of the projector.
        head_width: Width of what it gives.
        tau: Temperature.
        spectral: The map applied to both feature maps while training.
    """

    def __init__(
        self,
        in_features: int,
        *,
        encoder: EncoderName = "small",
        hidden: Count = 32,
        augmentation: Augmentation = "strong",
        head_hidden: Count = 2048,
        head_width: Count = 256,
        tau: Positive = 0.2,
        spectral: SpectralMap | None = None,
    ) -> None:
        check_temperature(tau)
        super().__init__(
            in_features,
            encoder=encoder,
            hidden=hidden,
            augmentation=augmentation,
            make_head=lambda width: mlp((width, head_hidden, head_width), batch_norm=False),
            spectral=spectral,
        )
        self.tau = tau

    def loss(self, z_alpha: Tensor, z_beta: Tensor) -> Tensor:
        return nt_xent(z_alpha, z_beta, tau=self.tau, across_processes=self.across_processes)
