"""BYOL: bootstrap your own latent (Grill et al., 2020)."""

from __future__ import annotations

from torch import Tensor, nn

from sfa.methods.base import Spectral, Views
from sfa.methods.bootstrapped import BootstrappedMethod
from sfa.nn.heads import mlp_head
from sfa.ranges import Count, Share
from sfa.registry import register


@register("method", "byol")
class BYOL(BootstrappedMethod):
    r"""Predict, from one view, what a slowly following copy of encoder and projector makes of the other; no negatives.

    From `"Bootstrap Your Own Latent: A New Approach to Self-Supervised Learning" <https://arxiv.org/abs/2006.07733>`_
    (Grill et al., 2020).

    .. math::
        \mathcal{L} = \ell(q(g(\tilde H_\alpha)), \bar g(\tilde T_\beta)) +
            \ell(q(g(\tilde H_\beta)), \bar g(\tilde T_\alpha)), \qquad
        \ell(q, z) = \tfrac1b \sum_i 2 - 2 \cos(q_i, z_i)

    which is twice the loss of :class:`~sfa.methods.bootstrapped.BootstrappedMethod`, shared with BGRL, with a projector
    :math:`g`. The heads' widths and the momentum are solo-learn's (da Costa et al., 2022) for CIFAR.

    Args:
        head_hidden: Hidden width of the projector.
        head_width: Width of projections and predictions.
        prediction: Hidden width of the predictor.
        momentum: Of the target at the start of training.
    """

    level = "image"
    defaults = {"augmentation": {"strength": "asymmetric"}}

    def __init__(
        self,
        encoder: nn.Module,
        augmentation: Views | None = None,
        *,
        head_hidden: Count = 4096,
        head_width: Count = 256,
        prediction: Count = 4096,
        momentum: Share = 0.99,
        spectral: Spectral = None,
    ) -> None:
        super().__init__(encoder, augmentation, momentum=momentum, spectral=spectral)
        self.make_targets(mlp_head((self.width, head_hidden, head_width)))
        self.predictor = mlp_head((head_width, prediction, head_width))

    def loss(self, h: Tensor, t: Tensor) -> Tensor:
        # BYOL adds up both directions, where BGRL has their mean.
        return 2 * super().loss(h, t)
