"""Graphs: their random views and their encoders."""

from sfa.graph.gcn import GCN
from sfa.graph.views import mask_features, random_views, remove_edges

__all__ = ["GCN", "mask_features", "random_views", "remove_edges"]
