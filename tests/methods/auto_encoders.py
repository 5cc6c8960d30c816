"""The dense formulas of graph auto-encoders, and small ones."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor
from torch_geometric.data import Data

from sfa.graph import draws as non_edges
from sfa.methods import GAE, VGAE
from sfa.nn import GCN
from sfa.spectral import SpectralMap


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def build(method_class: type[GAE] | type[VGAE], spectral: SpectralMap | None = None) -> Any:
    """One whose embeddings are 4 wide."""
    torch.manual_seed(0)
    if method_class is GAE:
        return GAE(GCN(8, 4, activate_last=False), spectral=spectral)
    return VGAE(GCN(8, 8, widths="constant", activate_last=False), spectral=spectral)


def ones_of(graph: Data) -> Tensor:
    """The adjacency with ones on the diagonal."""
    adjacency = torch.eye(graph.num_nodes)
    adjacency[graph.edge_index[0], graph.edge_index[1]] = 1
    return adjacency


def weighted_cross_entropy(z: Tensor, adjacency: Tensor) -> Tensor:
    """Over all n² entries: ones weighted by zeros over ones, the mean scaled by n² over twice the zeros."""
    n2, ones = adjacency.numel(), adjacency.sum()
    predicted = torch.sigmoid(z @ z.T)
    weight = (n2 - ones) / ones
    entries = -(weight * adjacency * predicted.log() + (1 - adjacency) * (1 - predicted).log())
    return n2 / (2 * (n2 - ones)) * entries.mean()


def take_all_zeros(monkeypatch: pytest.MonkeyPatch, graph: Data) -> None:
    """In place of a sample of the zeros, take all of them."""
    zeros = (ones_of(graph) == 0).nonzero().T
    monkeypatch.setattr(non_edges, "random_non_edges", lambda pattern, count, generator: zeros)
