"""Encoders and heads. Any ``nn.Module`` can take the place of an encoder: see :func:`as_encoder`."""

# isort: off
from sfa.graph.batches import sum_pool as sum_pool
from sfa.nn.adapt import as_encoder as as_encoder, materialize as materialize
from sfa.nn.gin import GIN as GIN, GraphEncoder as GraphEncoder, PooledGCN as PooledGCN
from sfa.nn.heads import graph_projector as graph_projector, mlp_head as mlp_head, projection_head as projection_head
from sfa.nn.image_encoder import ImageEncoder as ImageEncoder, ResNet as ResNet, resnet18 as resnet18
from sfa.nn.image_encoder import resnet18_imagenet as resnet18_imagenet, small as small, small_strided as small_strided
from sfa.nn.layers import BatchNorm as BatchNorm, BatchNorm2d as BatchNorm2d
from sfa.nn.node_encoders import GCN as GCN, MLP as MLP
from sfa.registry import import_modules

import_modules(__name__, __path__)
