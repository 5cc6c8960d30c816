"""CCA-SSG: from canonical correlation analysis to self-supervised graph neural networks (Zhang et al., 2021)."""

from typing import Any

from torch import Tensor, nn

from sfa.losses import cca
from sfa.methods.base import TwoViewMethod, Views
from sfa.ranges import NonNegative
from sfa.registry import register


@register("method", "cca-ssg")
class CCASSG(TwoViewMethod):
    """Make the standardized embeddings of two views agree, and the columns of each uncorrelated.

    From `"From Canonical Correlation Analysis to Self-supervised Graph Neural Networks"
    <https://arxiv.org/abs/2106.12484>`_ (Zhang et al., 2021). No negatives and no head; the default encoder's last
    layer has no activation. Defaults are the authors' for Cora.

    Args:
        decorrelation: Weight of the decorrelation term; twice that of the authors' code, see :func:`sfa.losses.cca`.
    """

    defaults = {
        "encoder": {"hidden": 512, "widths": "constant", "activate_last": False},
        "augmentation": {"edge_drop": (0.4, 0.4), "feature_drop": (0.1, 0.1)},
        "training": {"lr": 1e-3, "epochs": 50, "weight_decay": 0.0, "patience": None},
    }
    spans_processes = True

    def __init__(
        self, encoder: nn.Module, augmentation: Views = None, *, decorrelation: NonNegative = 2e-3, **options: Any
    ) -> None:
        super().__init__(encoder, augmentation, **options)
        self.decorrelation = decorrelation

    def loss(self, z_alpha: Tensor, z_beta: Tensor) -> Tensor:
        return cca(z_alpha, z_beta, decorrelation=self.decorrelation, across_processes=self.across_processes)
