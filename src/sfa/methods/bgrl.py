"""BGRL: bootstrapped graph latents (Thakoor et al., 2022)."""

from torch import nn

from sfa.methods.base import Spectral, Views
from sfa.methods.bootstrapped import BootstrappedMethod
from sfa.nn.heads import projection_head
from sfa.ranges import Count, Share
from sfa.registry import register


@register("method", "bgrl")
class BGRL(BootstrappedMethod):
    """Predict, from one view, what a slowly following copy of the encoder makes of the other; no negatives.

    From `"Large-Scale Representation Learning on Graphs via Bootstrapping" <https://arxiv.org/abs/2102.06514>`_
    (Thakoor et al., 2022). :class:`~sfa.methods.bootstrapped.BootstrappedMethod` says how. The target starts as a copy
    of the online encoder, where the authors' code draws it anew. Defaults are the authors' for WikiCS, their first data
    set.

    Args:
        prediction: Hidden width of the predictor.
        momentum: Of the target at the start of training.
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
        self,
        encoder: nn.Module,
        augmentation: Views = None,
        *,
        prediction: Count = 512,
        momentum: Share = 0.99,
        spectral: Spectral = None,
    ) -> None:
        super().__init__(encoder, augmentation, momentum=momentum, spectral=spectral)
        self.predictor = projection_head(self.width, prediction, "prelu")
