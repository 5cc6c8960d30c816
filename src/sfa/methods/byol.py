"""BYOL: bootstrap your own latent (Grill et al., 2020)."""

from torch import Tensor, nn

from sfa.methods.base import Spectral, Views
from sfa.methods.bootstrapped import BootstrappedMethod
from sfa.nn.heads import mlp_head
from sfa.ranges import Count, Share
from sfa.registry import register


@register("method", "byol")
class BYOL(BootstrappedMethod):
    """Predict, from one view, what a slowly following copy of encoder and projector makes of the other; no negatives.

    From `"Bootstrap Your Own Latent: A New Approach to Self-Supervised Learning" <https://arxiv.org/abs/2006.07733>`_
    (Grill et al., 2020). The loss is twice that of :class:`~sfa.methods.bootstrapped.BootstrappedMethod`, shared with
    BGRL: it adds up both directions. The heads' widths and the momentum are solo-learn's (da Costa et al., 2022) for
    CIFAR.

    Args:
        head_hidden: Hidden width of the projector.
        head_width: Width of projections and predictions.
        prediction: Hidden width of the predictor.
        momentum: Of the target at the start of training.
    """

    task = "image"
    defaults = {"augmentation": {"strength": "asymmetric"}}

    def __init__(
        self,
        encoder: nn.Module,
        augmentation: Views = None,
        *,
        head_hidden: Count = 4096,
        head_width: Count = 256,
        prediction: Count = 4096,
        momentum: Share = 0.99,
        spectral: Spectral = None,
    ) -> None:
        projector = (head_hidden, head_width)
        super().__init__(encoder, augmentation, projector=projector, momentum=momentum, spectral=spectral)
        self.predictor = mlp_head((head_width, prediction, head_width))

    def loss(self, h: Tensor, t: Tensor) -> Tensor:
        return 2 * super().loss(h, t)
