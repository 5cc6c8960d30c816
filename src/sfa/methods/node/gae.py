"""GAE: the graph auto-encoder (Kipf and Welling, 2016)."""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor
from torch_geometric.data import Data

from sfa.graph import GCN
from sfa.graph.non_edges import random_non_edges
from sfa.graph.pattern import pattern_of
from sfa.losses import reconstruction
from sfa.methods.base import Method, Observer
from sfa.ranges import Count
from sfa.spectral import SpectralMap


class GAE(Method):
    r"""Encode nodes so that inner products tell which of them are joined.

    .. math::
        \hat A = \sigma(Z Z^\top), \qquad Z = \mathrm{GCN}(X, A)

    As in the paper every node counts as joined to itself, and an edge weight is the encoder's affair only. All ones of
    the adjacency enter the loss, and a uniform sample of as many zeros, anew in every step, which keeps memory linear.
    The feature map that the spectral map sees is ``Z``, before the decoder. Features whose mean outweighs their
    differences draw all of ``Z`` into one direction: have their columns standardised (``feature_norm: standard``).

    Args:
        in_features: Number of node features.
        hidden: Width of the embeddings; the layer before has twice as many units.
        spectral: The map applied to the feature map while training.
    """

    defaults: ClassVar = {
        "training.epochs": 200,
        "training.lr": 0.01,
        "training.weight_decay": 0.0,
        "training.patience": None,
        "feature_norm": "none",
    }
    rows_are_nodes = True
    samplers = ("whole", "random-walks", "clusters")

    def __init__(self, in_features: int, *, hidden: Count = 16, spectral: SpectralMap | None = None) -> None:
        super().__init__(spectral, hidden)
        self.encoder = GCN(in_features, hidden, layers=2, widths="halving", activation="relu", activate_last=False)

    def forward(self, graph: Data, generator: torch.Generator | None = None, observe: Observer | None = None) -> Tensor:
        z = self.encoder(graph, generator)
        (z_tilde,) = self.augmented(z, generator=generator, observe=observe, views=1)
        return reconstruction(z_tilde, *ones_and_zeros(graph, generator))

    def embeddings(self, graph: Data) -> Tensor:
        embeddings: Tensor = self.encoder.embed(graph)
        return embeddings


def ones_and_zeros(graph: Data, generator: torch.Generator | None) -> tuple[Tensor, Tensor]:
    """All pairs that are one in ``A + I``, ``(2, m + n)``, and as many drawn among those that are zero."""
    pattern = pattern_of(graph.edge_index, graph.num_nodes)
    row = torch.arange(pattern.num_nodes, device=pattern.col.device).repeat_interleave(pattern.rowptr.diff())
    return torch.stack([row, pattern.col]), random_non_edges(pattern, len(row), generator)
