"""COSTA: covariance-preserving feature augmentation for graph contrastive learning (Zhang et al., 2022)."""

from typing import Annotated, Any, Literal

import torch
from annotated_types import Interval
from torch import Tensor, nn
from torch_geometric.data import Data

from sfa.errors import InputError
from sfa.methods.base import Observer, Views
from sfa.methods.grace import GRACE
from sfa.ranges import Width
from sfa.registry import register
from sfa.spectral import Costa


@register("method", "costa")
class COSTA(GRACE):
    r"""Contrast random combinations of nodes that keep the covariance of the features on average.

    From `"COSTA: Covariance-Preserving Feature Augmentation for Graph Contrastive Learning"
    <https://arxiv.org/abs/2206.04726>`_ (Zhang et al., 2022). It is :class:`~sfa.methods.GRACE` on sketches
    :math:`P H_\alpha, P H_\beta` (:func:`sfa.spectral.costa`) with one random ``P`` for both views, drawn anew at each
    step, behind the spectral map. ``single`` contrasts the sketch of one view with itself, as in the authors' figure.
    Defaults are the authors' for Cora; their code masks the features of both views at the first view's rate.

    Args:
        views: Number of views of the graph, ``multi`` (two) or ``single``.
        ratio: Combinations for each node, above 0 and at most 1.
        projection: Hidden width of the head.
        intraview: Use negatives from the anchor's own view too, which the authors do without.
    """

    defaults = {
        "encoder": {"hidden": 256, "widths": "constant"},
        "augmentation": {"feature_drop": (0.3, 0.3)},
        "training": {"lr": 1e-4, "epochs": 700, "weight_decay": 0.0, "patience": None},
    }
    spans_processes = False

    def __init__(
        self,
        encoder: nn.Module,
        augmentation: Views = None,
        *,
        views: Literal["multi", "single"] = "multi",
        ratio: Annotated[float, Interval(gt=0, le=1)] = 0.5,
        projection: Width = 256,
        intraview: bool = False,
        **options: Any,
    ) -> None:
        if views not in ("multi", "single"):
            raise InputError(f"The views of COSTA are 'multi' or 'single', not {views!r}.")
        super().__init__(encoder, augmentation, projection=projection, intraview=intraview, **options)
        self.sketch, self.views, self.ratio = Costa(ratio), views, ratio

    def forward(self, data: Data, generator: torch.Generator | None = None, observe: Observer | None = None) -> Tensor:
        augmentation, is_multi = self.augmentation, self.views == "multi"
        views = augmentation(data, generator) if is_multi else [augmentation.view(data, generator)]
        maps = self.encode(self.encoder, views, data, generator)
        tilde = self.apply_spectral(*maps, generator=generator, observe=observe, views=len(maps))
        z = [self.head(h) for h in self.sketch.forward_all(*tilde, generator=generator)]
        return self.loss(z[0], z[-1])

    def chance_loss(self, rows: int) -> float | None:
        return super().chance_loss(max(1, round(self.ratio * rows)))
