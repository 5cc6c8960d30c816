"""Graphs: their random views and their encoders."""

from sfa.graph.gcn import GCN
from sfa.graph.gin import GIN
from sfa.graph.graph_encoder import GraphEncoder
from sfa.graph.graph_encoders import make_encoder
from sfa.graph.graph_views import (
    AUGMENTATIONS,
    Rates,
    augment,
    draw_choices,
    drop_nodes,
    mask_attributes,
    perturb_edges,
    subgraph,
)
from sfa.graph.pooled_gcn import PooledGCN
from sfa.graph.pooling import sum_pool
from sfa.graph.views import mask_features, random_views, remove_edges

__all__ = [
    "AUGMENTATIONS",
    "GCN",
    "GIN",
    "GraphEncoder",
    "PooledGCN",
    "Rates",
    "augment",
    "draw_choices",
    "drop_nodes",
    "make_encoder",
    "mask_attributes",
    "mask_features",
    "perturb_edges",
    "random_views",
    "remove_edges",
    "subgraph",
    "sum_pool",
]
