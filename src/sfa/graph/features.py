"""Normalisation of node features, the same for every graph a model sees."""

from __future__ import annotations

import copy
from typing import Literal

from torch import Tensor
from torch_geometric.data import Data

FeatureNormalisation = Literal["row", "none"]


def normalise_features(graph: Data, how: FeatureNormalisation) -> Data:
    """A graph whose feature rows sum to one in absolute value (``row``), or the graph as it is (``none``).

    Rows are treated one by one, so that a node's features do not depend on the graph it comes with.
    """
    if how == "none":
        return graph
    x: Tensor = graph.x
    length = x.abs().sum(1, keepdim=True)
    normalised = copy.copy(graph)
    normalised.x = x / length.where(length > 0, 1)
    return normalised
