"""BGRL (Thakoor et al., 2022) where a row is a graph."""

from __future__ import annotations

from sfa.augment.graph import A_FIFTH
from sfa.methods.bgrl import BGRL
from sfa.registry import register


@register("method", "graph-bgrl")
class GraphBGRL(BGRL):
    """Predict, from one view of a graph, what a slowly following encoder makes of another; no negatives.

    It is :class:`~sfa.methods.BGRL` with pooled feature maps, and takes its arguments. Nobody has published it for
    these sets: the predictor and the target's momentum are BGRL's, encoder and training GraphCL's, and so are the
    views, both of them augmented and at a ratio of 0.2 as in GraphCL's semi-supervised experiments.
    """

    level = "graph"
    defaults = {"augmentation": A_FIFTH}
