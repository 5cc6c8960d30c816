"""Make features of nodes that have none: of the graph's structure, or of chance."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from torch_geometric.data import Data

from sfa.data.positions import spectral_features
from sfa.errors import InputError, unknown_name
from sfa.levels import level_of
from sfa.seeding import derive_seed

Edges = NDArray[np.int64]
Weights = NDArray[np.float32] | None
Features = NDArray[np.float32]

OR_MAKE_THEM = "or have some made with node_features='degree', 'random' or 'spectral' (--node-features)"
"""What else can be done where there are no features, for the end of an error's sentence."""


@dataclass(frozen=True)
class NodeFeatures:
    """A kind of features and how many columns they have, in one word: `degree`, or `spectral:64` for 64 columns."""

    name: str
    width: int

    @classmethod
    def parse(cls, text: str) -> NodeFeatures:
        """Return the kind and its width, which is the kind's own if none is given after a colon."""
        name, colon, width = str(text).partition(":")
        if name not in KINDS:
            raise unknown_name("kind of node features", name, KINDS)
        if not colon:
            return cls(name, KINDS[name].width)
        if not width.isdecimal() or not 2 <= int(width) <= 65536:
            raise InputError(
                f"The node features {text!r} have no usable width: after the colon comes a number from 2 to 65536, for "
                f"instance {name}:{KINDS[name].width}."
            )
        return cls(name, int(width))

    def make(self, edges: Edges, weight: Weights, num_nodes: int) -> Features:
        """Return features [n, width] of an undirected graph, its edges in both directions, without loops."""
        return KINDS[self.name].make(edges, weight, num_nodes, self.width)

    def __str__(self) -> str:
        return f"{self.name} features, {self.width} columns"


def remark(data: Data) -> str | None:
    """Say what the features of a graph or graph set were made of; None if it has its own.

    As in "No node features in this set: degree features, 33 columns".
    """
    made_of = getattr(data, "features_of", None)
    if made_of is None:
        return None
    what = "set" if level_of(data) == "graph" else "graph"
    return f"No node features in this {what}: {NodeFeatures(made_of, data.x.shape[1])}"


def degree_features(edges: Edges, weight: Weights, num_nodes: int, width: int) -> Features:
    """Return the one-hot number of neighbors, in bins that grow: 0, 1, 2, 3, 4–5, 6–7, 8–11, 12–15, 16–23, …

    There are two bins for each doubling, and the last takes all beyond; of 33, from 65,536 on. A bin means the same in
    every graph, so an encoder trained on one graph can embed another. Weights do not count.
    """
    degree = np.bincount(edges[0], minlength=num_nodes)
    octave = np.frexp(np.maximum(degree, 1))[1].astype(np.int64) - 1  # 2^octave <= degree, exactly
    upper_half = degree >= 3 * (1 << octave) / 2
    bins = np.where(degree < 2, degree, 2 * octave + upper_half).clip(max=width - 1)
    features = np.zeros((num_nodes, width), dtype=np.float32)
    features[np.arange(num_nodes), bins] = 1
    return features


def random_features(edges: Edges, weight: Weights, num_nodes: int, width: int) -> Features:
    """Return standard normal numbers, the same on every call: they tell nodes apart and say nothing of them.

    Row i is the same in every graph, whatever node stands there: what is learnt belongs to one graph.
    """
    rng = np.random.default_rng(derive_seed(0, 5))
    return rng.standard_normal((num_nodes, width), dtype=np.float32)


@dataclass(frozen=True)
class Kind:
    """A function that makes features, and how many columns they have unless a user says."""

    make: Callable[[Edges, Weights, int, int], Features]
    width: int


KINDS = {
    "degree": Kind(degree_features, 33),
    "random": Kind(random_features, 64),
    "spectral": Kind(spectral_features, 32),
}
