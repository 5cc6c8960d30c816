"""Samplers: each cuts an epoch over a graph, or a set of graphs or images, into steps and gives a batch for each."""

from sfa.sampling.base import Sampler
from sfa.sampling.samplers import Clusters, Graphs, Images, Neighbors, RandomNodes, RandomWalks, Starts, WholeGraph

__all__ = ["Clusters", "Graphs", "Images", "Neighbors", "RandomNodes", "RandomWalks", "Sampler", "Starts", "WholeGraph"]
