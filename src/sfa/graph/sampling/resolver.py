"""From a name to a sampler."""

from __future__ import annotations

from sfa.errors import unknown_name
from sfa.graph.sampling.base import Sampler
from sfa.graph.sampling.clusters import Clusters
from sfa.graph.sampling.graphs import Graphs
from sfa.graph.sampling.neighbours import Neighbours
from sfa.graph.sampling.random_walks import RandomWalks
from sfa.graph.sampling.starts import Starts
from sfa.graph.sampling.whole import WholeGraph

SAMPLERS: dict[str, type[Sampler]] = {
    "whole": WholeGraph,
    "neighbours": Neighbours,
    "random-walks": RandomWalks,
    "clusters": Clusters,
    "starts": Starts,
    "graphs": Graphs,
}


def resolve(name: str) -> type[Sampler]:
    """The class of the sampler called ``name``."""
    if name not in SAMPLERS:
        raise unknown_name("sampler", name, SAMPLERS)
    return SAMPLERS[name]
