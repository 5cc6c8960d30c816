"""Samplers for graphs larger than one batch: each cuts an epoch into steps and gives a subgraph for each."""

from sfa.graph.sampling.base import Sampler
from sfa.graph.sampling.clusters import Clusters
from sfa.graph.sampling.neighbours import Neighbours
from sfa.graph.sampling.random_walks import RandomWalks
from sfa.graph.sampling.resolver import SAMPLERS, resolve
from sfa.graph.sampling.starts import Starts
from sfa.graph.sampling.whole import WholeGraph

__all__ = ["SAMPLERS", "Clusters", "Neighbours", "RandomWalks", "Sampler", "Starts", "WholeGraph", "resolve"]
