"""BYOL: bootstrap your own latent (Grill et al., 2020)."""

from typing import Any

from torch import Tensor, nn

from sfa.methods.base import Views
from sfa.methods.bgrl import BootstrappedMethod, make_target
from sfa.nn.heads import mlp_head
from sfa.ranges import Width
from sfa.registry import register


@register("method", "byol")
class BYOL(BootstrappedMethod):
    """Predict, from one view, the projection of the other by a slowly following network; no negatives.

    From `"Bootstrap Your Own Latent: A New Approach to Self-Supervised Learning" <https://arxiv.org/abs/2006.07733>`_
    (Grill et al., 2020). The loss is twice that of :class:`~sfa.methods.BGRL`: it adds up both
    directions. Widths of the heads and momentum are solo-learn's (da Costa et al., 2022) for CIFAR.

    Args:
        head_hidden: Hidden width of the projector.
        head_width: Width of projections and predictions.
        prediction: Hidden width of the predictor.
    """

    task = "image"
    defaults = {"augmentation": {"strength": "asymmetric"}}

    def __init__(
        self,
        encoder: nn.Module,
        augmentation: Views = None,
        *,
        head_hidden: Width = 4096,
        head_width: Width = 256,
        prediction: Width = 4096,
        **options: Any,
    ) -> None:
        super().__init__(encoder, augmentation, **options)
        self.projector = mlp_head((self.width, head_hidden, head_width))
        self.target_projector = make_target(self.projector)
        self.predictor = mlp_head((head_width, prediction, head_width))

    def loss(self, h: Tensor, t: Tensor) -> Tensor:
        return 2 * super().loss(h, t)
