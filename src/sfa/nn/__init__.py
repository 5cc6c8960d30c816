"""Encoders and heads. Any ``nn.Module`` can take the place of an encoder: see :func:`as_encoder`."""

from sfa.graph.batches import sum_pool
from sfa.nn.adapt import as_encoder, materialize
from sfa.nn.gcn import GCN
from sfa.nn.gin import GIN, GraphEncoder
from sfa.nn.heads import graph_projector, mlp_head, projection_head
from sfa.nn.image_encoder import ImageEncoder
from sfa.nn.layers import BatchNorm, BatchNorm2d
from sfa.nn.mlp import MLP
from sfa.nn.pooled_gcn import PooledGCN
from sfa.nn.resnet import ResNet, resnet18, resnet18_imagenet, small, small_strided
from sfa.registry import import_modules

__all__ = [
    "GCN",
    "GIN",
    "MLP",
    "BatchNorm",
    "BatchNorm2d",
    "GraphEncoder",
    "ImageEncoder",
    "PooledGCN",
    "ResNet",
    "as_encoder",
    "graph_projector",
    "materialize",
    "mlp_head",
    "projection_head",
    "resnet18",
    "resnet18_imagenet",
    "small",
    "small_strided",
    "sum_pool",
]

import_modules(__name__, __path__)
