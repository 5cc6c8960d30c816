"""Samplers: each cuts an epoch over a graph, or a set of graphs or images, into steps and gives a batch for each."""

# Samplers register when they are imported, and `sfa list samplers` shows them in this order.
# isort: off
from sfa.sampling.base import Sampler
from sfa.sampling.whole import WholeGraph
from sfa.sampling.neighbours import Neighbours
from sfa.sampling.random_walks import RandomWalks
from sfa.sampling.clusters import Clusters
from sfa.sampling.starts import Starts
from sfa.sampling.graphs import Graphs
from sfa.sampling.images import Images

__all__ = ["Clusters", "Graphs", "Images", "Neighbours", "RandomWalks", "Sampler", "Starts", "WholeGraph"]
