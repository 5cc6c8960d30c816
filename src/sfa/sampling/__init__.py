"""Samplers: each cuts an epoch over a graph, or a set of graphs or images, into steps and gives a batch for each."""

# Samplers register when they are imported, and `sfa list samplers` shows them in this order.
# isort: off
from sfa.sampling.base import Sampler, WholeGraph
from sfa.sampling.neighbor import Clusters, Neighbors, RandomWalks
from sfa.sampling.items import Graphs, Images, Starts

__all__ = ["Clusters", "Graphs", "Images", "Neighbors", "RandomWalks", "Sampler", "Starts", "WholeGraph"]
