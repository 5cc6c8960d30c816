"""GRACE: deep graph contrastive representation learning (Zhu et al., 2020), and GCA, with adaptive views (2021)."""

import math
from typing import Any

from torch import Tensor, nn

from sfa.losses import nt_xent
from sfa.losses.nt_xent import Precision, check_temperature
from sfa.methods.base import TwoViewMethod, Views
from sfa.nn.heads import projection_head
from sfa.nn.layers import Activation
from sfa.ranges import Positive, Width
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
        intraview: Use negatives from the anchor's own view too (Eq. 2).
        precision: Precision of the similarities in the loss: ``bfloat16``, ``full``, or ``auto``, which takes bfloat16
            where it is faster (:func:`~sfa.losses.nt_xent`).
    """

    spans_processes = True
    compares_all_pairs = True

    def __init__(
        self,
        encoder: nn.Module,
        augmentation: Views = None,
        *,
        projection: Width = 128,
        head_activation: Activation = "elu",
        tau: Positive = 0.4,
        intraview: bool = True,
        precision: Precision = "auto",
        **options: Any,
    ) -> None:
        check_temperature(tau, precision)
        super().__init__(encoder, augmentation, **options)
        self.head = projection_head(self.width, projection, head_activation)
        self.tau, self.intraview, self.precision = tau, intraview, precision

    def loss(self, z_alpha: Tensor, z_beta: Tensor) -> Tensor:
        options: dict[str, Any] = {"tau": self.tau, "intraview": self.intraview, "precision": self.precision}
        return nt_xent(z_alpha, z_beta, **options, across_processes=self.across_processes)

    def chance_loss(self, rows: int) -> float | None:
        return math.log(2 * rows - 1 if self.intraview else rows)


@register("method", "gca")
class GCA(GRACE):
    """Contrast views as GRACE does, which keep important edges and features more often than others.

    From `"Graph Contrastive Learning with Adaptive Augmentation" <https://arxiv.org/abs/2010.14945>`_ (Zhu et al.,
    2021). It is :class:`~sfa.methods.GRACE`, whose arguments it takes, with the augmentation
    :class:`~sfa.augment.AdaptiveDrop`. Defaults are the authors' for WikiCS.
    """

    defaults = {
        "encoder": {"hidden": 256, "activation": "prelu"},
        "augmentation": {"name": "adaptive"},
        "training": {"lr": 1e-2, "epochs": 3000, "patience": None},
    }

    def __init__(
        self, encoder: nn.Module, augmentation: Views = None, *, projection: Width = 256, **options: Any
    ) -> None:
        super().__init__(encoder, augmentation, projection=projection, **options)
