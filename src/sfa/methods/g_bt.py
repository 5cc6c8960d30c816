"""G-BT: Graph Barlow Twins (Bielak, Kajdanowicz and Chawla, 2022)."""

from typing import Any

from torch import Tensor, nn

from sfa.losses import barlow_twins
from sfa.methods.base import TwoViewMethod, Views
from sfa.ranges import NonNegative
from sfa.registry import register


@register("method", "g-bt")
class GBT(TwoViewMethod):
    """Decorrelate the embedding's columns across two views; no negatives and no head.

    From `"Graph Barlow Twins" <https://arxiv.org/abs/2106.02466>`_ (Bielak et al., 2022). With
    ``spectral=SpectralFeatureAugmentation()`` this is the paper's SFA with the Barlow Twins loss. The default encoder
    is the authors': batch normalization and PReLU after the first convolution, and a second one that is linear.

    Args:
        off_diagonal: Weight of the redundancy term; one over the width if not given.
    """

    defaults = {
        "encoder": {
            "hidden": 256,
            "activation": "prelu",
            "batch_norm": True,
            "norm_momentum": 0.01,
            "activate_last": False,
        },
        "augmentation": {"edge_drop": (0.2, 0.2), "feature_drop": (0.1, 0.1)},
        "training": {"optimizer": "adamw", "epochs": 1000, "warmup": 100, "cosine": True, "patience": None},
    }
    spans_processes = True

    def __init__(
        self, encoder: nn.Module, augmentation: Views = None, *, off_diagonal: NonNegative | None = None, **options: Any
    ) -> None:
        super().__init__(encoder, augmentation, **options)
        self.off_diagonal = off_diagonal

    def loss(self, z_alpha: Tensor, z_beta: Tensor) -> Tensor:
        return barlow_twins(z_alpha, z_beta, off_diagonal=self.off_diagonal, across_processes=self.across_processes)
