"""Embeddings of graphs that nothing was trained for: what a trained encoder has to beat."""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor
from torch_geometric.data import Data

from sfa.graph.histograms import degree_histogram, label_histogram
from sfa.graph.weisfeiler_lehman import weisfeiler_lehman

UNTRAINED: dict[str, Callable[[Data], Tensor]] = {
    "label histogram": label_histogram,
    "degree histogram": degree_histogram,
    "WL subtree counts": weisfeiler_lehman,
}
"""Functions of a graph set, by the name that tables give them, to ``(G, d)``: dense or CSR."""
