"""Embeddings of the data alone, beside which those of a method are shown."""

from __future__ import annotations

from torch import Tensor
from torch_geometric.data import Data

from sfa.evaluation.protocols import Embedder
from sfa.graph.histograms import degree_histogram, label_histogram
from sfa.graph.weisfeiler_lehman import weisfeiler_lehman
from sfa.levels import Level


def raw_features(graph: Data) -> Tensor:
    """What the nodes have."""
    features: Tensor = graph.x
    return features


UNTRAINED: dict[Level, dict[str, Embedder]] = {
    "node": {"raw features": raw_features},
    "graph": {
        "label histogram": label_histogram,
        "degree histogram": degree_histogram,
        "WL subtree counts": weisfeiler_lehman,
    },
}
"""For nodes, and for graphs, by the name that tables give them: dense rows or CSR."""
