"""Embeddings the scikit-learn way: ``fit``, ``transform``, ``save``, ``load``."""

from sfa.estimators.graph import GraphEmbedder
from sfa.estimators.image import ImageEmbedder
from sfa.estimators.node import NodeEmbedder

__all__ = ["GraphEmbedder", "ImageEmbedder", "NodeEmbedder"]
