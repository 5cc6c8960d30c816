"""Barlow Twins and BGRL where a row is a graph."""

from typing import Any

from torch import nn

from sfa.augment.graph import A_FIFTH
from sfa.methods.base import Views
from sfa.methods.bgrl import BGRL
from sfa.methods.g_bt import GBT
from sfa.nn.heads import graph_projector
from sfa.registry import register


@register("method", "graph-bt")
class GraphBT(GBT):
    """Decorrelate the columns of the projected embeddings across two random views of every graph; no negatives.

    It is :class:`~sfa.methods.GBT` behind the projector of GraphCL, and takes its arguments. Nobody has published it
    for these sets: encoder and training are GraphCL's, and so are the views, both of them augmented and at a ratio of
    0.2 as in GraphCL's semi-supervised experiments.
    """

    task = "graph"
    defaults = {"augmentation": A_FIFTH}

    def __init__(self, encoder: nn.Module, augmentation: Views = None, **options: Any) -> None:
        super().__init__(encoder, augmentation, **options)
        self.head = graph_projector(self.width)


@register("method", "graph-bgrl")
class GraphBGRL(BGRL):
    """Predict, from one view of a graph, what a slowly following encoder makes of another; no negatives.

    It is :class:`~sfa.methods.BGRL` with pooled feature maps, and takes its arguments. Nobody has published it for
    these sets: the predictor and the target's momentum are BGRL's, encoder and training GraphCL's, and so are the
    views, both of them augmented and at a ratio of 0.2 as in GraphCL's semi-supervised experiments.
    """

    task = "graph"
    defaults = {"augmentation": A_FIFTH}
