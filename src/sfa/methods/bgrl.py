"""BGRL: bootstrapped graph latents (Thakoor et al., 2022)."""

from typing import Any

from torch import nn

from sfa.methods.base import Views
from sfa.methods.bootstrapped import BootstrappedMethod
from sfa.nn.heads import projection_head
from sfa.ranges import Count
from sfa.registry import register


@register("method", "bgrl")
class BGRL(BootstrappedMethod):
    """Predict, from one view, the embedding of the other by a slowly following copy of the encoder; no negatives.

    From `"Large-Scale Representation Learning on Graphs via Bootstrapping" <https://arxiv.org/abs/2102.06514>`_
    (Thakoor et al., 2022). The loss is that of :class:`~sfa.methods.base.BootstrappedMethod`. The target starts as a
    copy of the online encoder, where the authors' code draws it anew. Defaults are the authors' for WikiCS.

    Args:
        prediction: Hidden width of the predictor.
    """

    defaults = {
        "encoder": {"hidden": 256, "activation": "prelu", "batch_norm": True},
        "augmentation": {"edge_drop": (0.2, 0.3), "feature_drop": (0.2, 0.1)},
        "training": {
            "epochs": 10_000,
            "optimizer": "adamw",
            "lr": 5e-4,
            "weight_decay": 1e-5,
            "warmup": 1000,
            "cosine": True,
            "patience": None,
        },
    }

    def __init__(
        self, encoder: nn.Module, augmentation: Views = None, *, prediction: Count = 512, **options: Any
    ) -> None:
        super().__init__(encoder, augmentation, **options)
        self.predictor = projection_head(self.width, prediction, "prelu")
