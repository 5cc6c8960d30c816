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

    It is :class:`~sfa.methods.GBT`, whose arguments it takes, behind the projector of GraphCL. Nobody has published it
    for these sets: encoder, training and views are GraphCL's, both views at its rate of 0.2 for semi-supervised ones.
    """

    task = "graph"
    defaults = {"augmentation": A_FIFTH}

    def __init__(self, encoder: nn.Module, augmentation: Views = None, **options: Any) -> None:
        super().__init__(encoder, augmentation, **options)
        self.head = graph_projector(self.width)


@register("method", "graph-bgrl")
class GraphBGRL(BGRL):
    """Predict, from one view of a graph, the embedding of another by a slowly following encoder; no negatives.

    It is :class:`~sfa.methods.BGRL`, whose arguments it takes, with pooled feature maps. Nobody has published it for
    these sets: encoder, training and views are those of :class:`~sfa.methods.GraphBT`.
    """

    task = "graph"
    defaults = {"augmentation": A_FIFTH}
