"""Graph augmentation A_G: random views of a graph by removing edges and masking features."""

from __future__ import annotations

import torch
from torch import Tensor
from torch_geometric.data import Data

from sfa.errors import InputError


def random_views(
    graph: Data,
    edge_drop: tuple[float, float],
    feature_drop: tuple[float, float],
    generator: torch.Generator | None = None,
) -> tuple[Data, Data]:
    """Two corrupted views ``(X~, A~)`` of a graph, alpha and beta: the same nodes, each view with its own rates."""

    def view(edges: float, features: float) -> Data:
        x = mask_features(graph.x, features, generator=generator)
        edge_index, edge_weight = remove_edges(
            graph.edge_index, edges, edge_weight=graph.edge_weight, generator=generator
        )
        return Data(x=x, edge_index=edge_index, edge_weight=edge_weight)

    return view(edge_drop[0], feature_drop[0]), view(edge_drop[1], feature_drop[1])


def remove_edges(
    edge_index: Tensor,
    rate: float,
    *,
    edge_weight: Tensor | None = None,
    generator: torch.Generator | None = None,
) -> tuple[Tensor, Tensor | None]:
    """Remove each undirected edge with probability ``rate``; its two directions go or stay together.

    Args:
        edge_index: ``(2, m)``, every undirected edge given in both directions.
        rate: Probability of removal, from 0 to 1.
        edge_weight: ``(m,)`` weights that follow their edges.
        generator: Source of randomness.

    Returns:
        The remaining edges in their given order, and their weights.
    """
    _check_rate("edge_drop", rate)
    if rate == 0:
        return edge_index, edge_weight
    source, target = edge_index
    # Both directions look up the draw of one undirected edge: its rank among the edges sorted by (smaller, larger).
    nodes = int(edge_index.max()) + 1 if edge_index.numel() else 0
    undirected = torch.minimum(source, target) * nodes + torch.maximum(source, target)
    edges, edge_of = torch.unique(undirected, return_inverse=True)
    keep = torch.rand(edges.numel(), generator=generator, device=edge_index.device) >= rate
    kept = keep[edge_of]
    return edge_index[:, kept], None if edge_weight is None else edge_weight[kept]


def mask_features(x: Tensor, rate: float, *, generator: torch.Generator | None = None) -> Tensor:
    """Set each feature column of ``x`` ``(n, d)`` to zero with probability ``rate``, the same columns for all nodes."""
    _check_rate("feature_drop", rate)
    if rate == 0:
        return x
    keep = torch.rand(x.shape[1], generator=generator, device=x.device) >= rate
    return x * keep


def _check_rate(name: str, rate: float) -> None:
    if not 0 <= rate <= 1:
        raise InputError(f"{name} is a probability from 0 to 1, not {rate}.")
