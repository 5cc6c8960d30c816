"""Graph augmentation A_G: random views of a graph by removing edges and masking features."""

from __future__ import annotations

import torch
from torch import Tensor
from torch_geometric.data import Data

from sfa.errors import InputError
from sfa.graph.pattern import pattern_of


def random_views(
    graph: Data,
    edge_drop: tuple[float, float],
    feature_drop: tuple[float, float],
    generator: torch.Generator | None = None,
) -> tuple[Data, Data]:
    """Two corrupted views ``(X~, A~)`` of a graph, alpha and beta: the same nodes, each view with its own rates.

    A view shares its graph's features and edges and says what is gone: ``feature_mask`` ``(d,)`` is 0 for the masked
    columns of ``x``, ``edge_weight`` ``(m,)`` is 0 for the removed edges. Nothing of their size is copied.
    """

    def view(edges: float, features: float) -> Data:
        feature_mask = mask_features(graph.num_features, features, device=graph.x.device, generator=generator)
        edge_weight = remove_edges(
            graph.edge_index, graph.num_nodes, edges, edge_weight=graph.edge_weight, generator=generator
        )
        return Data(x=graph.x, feature_mask=feature_mask, edge_index=graph.edge_index, edge_weight=edge_weight)

    return view(edge_drop[0], feature_drop[0]), view(edge_drop[1], feature_drop[1])


def remove_edges(
    edge_index: Tensor,
    num_nodes: int,
    rate: float,
    *,
    edge_weight: Tensor | None = None,
    generator: torch.Generator | None = None,
) -> Tensor | None:
    """Remove each undirected edge with probability ``rate``; its two directions go or stay together.

    Args:
        edge_index: ``(2, m)``, every undirected edge given in both directions.
        num_nodes: Number of nodes.
        rate: Probability of removal, from 0 to 1.
        edge_weight: ``(m,)`` weights of the edges; 1 if not given.
        generator: Source of randomness.

    Returns:
        The weights ``(m,)`` with 0 for removed edges; ``edge_weight`` itself if the rate is 0.
    """
    _check_rate("edge_drop", rate)
    if rate == 0:
        return edge_weight
    edge_of, edges = pattern_of(edge_index, num_nodes).undirected
    keep = torch.rand(edges, generator=generator, device=edge_index.device) >= rate
    kept = keep[edge_of]
    return kept.to(torch.get_default_dtype()) if edge_weight is None else edge_weight * kept


def mask_features(
    features: int, rate: float, *, device: torch.device | str = "cpu", generator: torch.Generator | None = None
) -> Tensor | None:
    """A mask ``(features,)`` that is False, with probability ``rate``, for a column to mask; ``None`` if none is."""
    _check_rate("feature_drop", rate)
    if rate == 0:
        return None
    return torch.rand(features, generator=generator, device=device) >= rate


def _check_rate(name: str, rate: float) -> None:
    if not 0 <= rate <= 1:
        raise InputError(f"{name} is a probability from 0 to 1, not {rate}.")
