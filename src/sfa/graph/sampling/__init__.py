"""Samplers: each cuts an epoch over a graph, or over a set of graphs, into steps and gives a batch for each."""

from sfa.graph.sampling.base import Sampler
from sfa.graph.sampling.clusters import Clusters
from sfa.graph.sampling.graphs import Graphs
from sfa.graph.sampling.neighbours import Neighbours
from sfa.graph.sampling.random_walks import RandomWalks
from sfa.graph.sampling.resolver import SAMPLERS, resolve
from sfa.graph.sampling.starts import Starts
from sfa.graph.sampling.whole import WholeGraph

__all__ = ["SAMPLERS", "Clusters", "Graphs", "Neighbours", "RandomWalks", "Sampler", "Starts", "WholeGraph", "resolve"]
