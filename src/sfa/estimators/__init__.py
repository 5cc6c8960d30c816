"""Embeddings the scikit-learn way: ``fit``, ``transform``, ``save``, ``load``."""

from sfa.estimators.embedders import GraphEmbedder, ImageEmbedder, NodeEmbedder

__all__ = ["GraphEmbedder", "ImageEmbedder", "NodeEmbedder"]
