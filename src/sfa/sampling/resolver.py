"""From a name to a sampler."""

from __future__ import annotations

from sfa.errors import unknown_name
from sfa.sampling.base import Sampler
from sfa.sampling.clusters import Clusters
from sfa.sampling.graphs import Graphs
from sfa.sampling.images import Images
from sfa.sampling.neighbours import Neighbours
from sfa.sampling.random_walks import RandomWalks
from sfa.sampling.starts import Starts
from sfa.sampling.whole import WholeGraph

SAMPLERS: dict[str, type[Sampler]] = {
    "whole": WholeGraph,
    "neighbours": Neighbours,
    "random-walks": RandomWalks,
    "clusters": Clusters,
    "starts": Starts,
    "graphs": Graphs,
    "images": Images,
}


def resolve(name: str) -> type[Sampler]:
    """The class of the sampler called ``name``."""
    if name not in SAMPLERS:
        raise unknown_name("sampler", name, SAMPLERS)
    return SAMPLERS[name]
