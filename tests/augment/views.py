"""Views of a graph for tests."""

from __future__ import annotations

import torch
from torch_geometric.data import Data

from sfa.augment import UniformDrop


def random_views(
    graph: Data, edge_drop: tuple[float, float], feature_drop: tuple[float, float], generator: torch.Generator
) -> tuple[Data, Data]:
    """Two views, alpha and beta, each with its own rates."""
    return UniformDrop(edge_drop, feature_drop)(graph, generator)
