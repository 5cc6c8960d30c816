"""GCA: graph contrastive learning with adaptive augmentation (Zhu et al., 2021)."""

from typing import Any

from torch import nn

from sfa.methods.base import Views
from sfa.methods.grace import GRACE
from sfa.ranges import Count
from sfa.registry import register


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
        self, encoder: nn.Module, augmentation: Views = None, *, projection: Count = 256, **options: Any
    ) -> None:
        super().__init__(encoder, augmentation, projection=projection, **options)
