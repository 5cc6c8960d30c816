"""GRACE: deep graph contrastive representation learning (Zhu et al., 2020)."""

from __future__ import annotations

from torch import Tensor, nn

from sfa.losses import nt_xent
from sfa.losses.nt_xent import Precision, check_temperature
from sfa.methods.base import Spectral, Views
from sfa.methods.two_views import TwoViewMethod
from sfa.nn.heads import projection_head
from sfa.nn.layers import Activation
from sfa.ranges import Count, Positive
from sfa.registry import register


@register("method", "grace")
class GRACE(TwoViewMethod):
    """Contrast each node with itself in a second view, against all other nodes of both views.

    From `"Deep Graph Contrastive Representation Learning" <https://arxiv.org/abs/2006.04131>`_ (Zhu et al., 2020). With
    ``spectral=SpectralFeatureAugmentation()`` this is the paper's SFA with InfoNCE. Defaults are the authors' for Cora.

    Args:
        projection: Hidden width of the head.
        head_activation: ``elu`` in the authors' code, ``prelu`` in the paper's text.
        tau: Temperature.
        intraview: Negatives from the anchor's own view too (Eq. 2).
        precision: Of the similarities in the loss: ``full``, or ``bfloat16`` where speed counts for more.
    """

    spans_processes = True

    def __init__(
        self,
        encoder: nn.Module,
        augmentation: Views | None = None,
        *,
        projection: Count = 128,
        head_activation: Activation = "elu",
        tau: Positive = 0.4,
        intraview: bool = True,
        precision: Precision = "full",
        spectral: Spectral = None,
    ) -> None:
        check_temperature(tau, precision)
        super().__init__(encoder, augmentation, spectral=spectral)
        self.head = projection_head(self.width, projection, head_activation)
        self.tau = tau
        self.intraview = intraview
        self.precision = precision

    def loss(self, z_alpha: Tensor, z_beta: Tensor) -> Tensor:
        return nt_xent(
            z_alpha,
            z_beta,
            tau=self.tau,
            intraview=self.intraview,
            precision=self.precision,
            across_processes=self.across_processes,
        )
