"""Embeddings of the data alone, beside which those of a method are shown."""

from __future__ import annotations

from torch import Tensor
from torch_geometric.data import Data

from sfa.evaluation.protocols import Embedder
from sfa.graph.untrained import UNTRAINED as OF_GRAPHS
from sfa.levels import Level


def raw_features(graph: Data) -> Tensor:
    """What the nodes have."""
    features: Tensor = graph.x
    return features


UNTRAINED: dict[Level, dict[str, Embedder]] = {"node": {"raw features": raw_features}, "graph": OF_GRAPHS}
"""For nodes, and for graphs, by name."""
