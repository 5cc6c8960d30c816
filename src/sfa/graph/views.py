"""Graph augmentation A_G: random views of a graph by removing edges and masking features."""

from __future__ import annotations

import torch
from torch import Tensor
from torch_geometric.data import Data

from sfa.errors import InputError
from sfa.graph.pattern import pattern_of

Rate = float | Tensor
"""A probability from 0 to 1, one for all or one for each."""


def random_views(
    graph: Data,
    edge_drop: tuple[Rate, Rate],
    feature_drop: tuple[Rate, Rate],
    generator: torch.Generator | None = None,
) -> tuple[Data, Data]:
    """Two corrupted views ``(X~, A~)`` of a graph, alpha and beta: the same nodes, each view with its own rates."""
    alpha = random_view(graph, edge_drop[0], feature_drop[0], generator)
    return alpha, random_view(graph, edge_drop[1], feature_drop[1], generator)


def random_view(graph: Data, edge_drop: Rate, feature_drop: Rate, generator: torch.Generator | None = None) -> Data:
    """A corrupted view ``(X~, A~)`` of a graph: the same nodes with fewer edges (:func:`remove_edges`) and features.

    A view shares its graph's features and edges and says what is gone: ``feature_mask`` ``(d,)`` is 0 for the masked
    columns of ``x``, ``edge_weight`` ``(m,)`` is 0 for the removed edges. Nothing of their size is copied.
    """
    feature_mask = mask_features(graph.num_features, feature_drop, device=graph.x.device, generator=generator)
    edge_weight = remove_edges(
        graph.edge_index, graph.num_nodes, edge_drop, edge_weight=graph.edge_weight, generator=generator
    )
    return Data(x=graph.x, feature_mask=feature_mask, edge_index=graph.edge_index, edge_weight=edge_weight)


def remove_edges(
    edge_index: Tensor,
    num_nodes: int,
    rate: Rate,
    *,
    edge_weight: Tensor | None = None,
    generator: torch.Generator | None = None,
) -> Tensor | None:
    """Remove each undirected edge with probability ``rate``; its two directions go or stay together.

    Args:
        edge_index: ``(2, m)``, every undirected edge given in both directions.
        num_nodes: Number of nodes.
        rate: Probability of removal, from 0 to 1; or one for each edge, ``(m,)``, the same in both directions.
        edge_weight: ``(m,)`` weights of the edges; 1 if not given.
        generator: Source of randomness.

    Returns:
        The weights ``(m,)`` with 0 for removed edges; ``edge_weight`` itself if no rate is above 0.
    """
    check_rate("edge_drop", rate, edge_index.shape[1])
    if _is_nothing(rate):
        return edge_weight
    edge_of, edges = pattern_of(edge_index, num_nodes).undirected
    if isinstance(rate, Tensor):
        of_each = rate
        rate = rate.new_empty(edges).index_copy_(0, edge_of, of_each)
        if not torch.equal(rate[edge_of], of_each):
            raise InputError("The rates of removal are not the same in both directions of every edge.")
    keep = torch.rand(edges, generator=generator, device=edge_index.device) >= rate
    kept = keep[edge_of]
    return kept.to(torch.get_default_dtype()) if edge_weight is None else edge_weight * kept


def mask_features(
    features: int, rate: Rate, *, device: torch.device | str = "cpu", generator: torch.Generator | None = None
) -> Tensor | None:
    """A mask ``(features,)`` that is False, with probability ``rate``, for a column to mask; ``None`` if none is.

    The rate is one for all columns, or one for each, ``(features,)``.
    """
    check_rate("feature_drop", rate, features)
    if _is_nothing(rate):
        return None
    return torch.rand(features, generator=generator, device=device) >= rate


def _is_nothing(rate: Rate) -> bool:
    return not bool((rate > 0).any()) if isinstance(rate, Tensor) else rate == 0


def check_rate(name: str, rate: Rate, number: int) -> None:
    """``rate`` is a probability, or so many of them."""
    if not isinstance(rate, Tensor):
        if not 0 <= rate <= 1:
            raise InputError(f"{name} is a probability from 0 to 1, not {rate}.")
        return
    if rate.shape != (number,):
        raise InputError(f"{name} is one probability or {number} of them, not a tensor of shape {tuple(rate.shape)}.")
    wrong = rate[~((rate >= 0) & (rate <= 1))]
    if len(wrong):
        raise InputError(f"{name} are probabilities from 0 to 1, not {wrong[0]}.")
