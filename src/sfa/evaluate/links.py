"""Edges held out of a graph, and pairs of nodes that are none, to tell apart."""

from __future__ import annotations

import copy
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Data

from sfa.errors import InputError
from sfa.graph.structure import csr_structure


@dataclass(frozen=True)
class Pairs:
    """Pairs of nodes ``(2, m)``, and which of them are edges ``(m,)``."""

    nodes: Tensor
    is_edge: Tensor

    @classmethod
    def of(cls, edges: Tensor, others: Tensor) -> Pairs:
        is_edge = torch.cat([torch.ones(edges.shape[1]), torch.zeros(others.shape[1])]).bool()
        return cls(torch.cat([edges, others], 1), is_edge)


@dataclass(frozen=True)
class LinkSplit:
    """A graph without the edges held out, and the pairs of the three parts.

    ``train`` has edges of it and as many pairs that it does not join. Those may be edges held out: a classifier that
    knew they are not would know of the test part. ``validation`` and ``test`` have edges held out, and as many pairs
    that the whole graph does not join.
    """

    graph: Data
    train: Pairs
    validation: Pairs
    test: Pairs


def hold_out(graph: Data, *, validation: float, test: float, most: int, rng: np.random.Generator) -> LinkSplit:
    """Draw the held-out edges uniformly.

    Args:
        graph: Undirected, each edge in both directions.
        validation: Share of the edges in the validation part.
        test: Share in the test part.
        most: Of the training edges at most so many are among the pairs to learn from; all stay in the graph. On a graph
            with few pairs to set against them they are fewer.
        rng: Source of randomness.
    """
    n, (edge_of, count) = graph.num_nodes, csr_structure(graph.edge_index, graph.num_nodes).undirected
    sizes = round(validation * count), round(test * count)
    _check(n, count, sizes)
    order = torch.from_numpy(rng.permutation(count))
    held_validation, held_test, left = torch.split(order, [*sizes, count - sum(sizes)])
    upper = graph.edge_index[0] < graph.edge_index[1]
    edges = torch.empty(2, count, dtype=torch.int64)
    edges[:, edge_of[upper]] = graph.edge_index[:, upper]

    others = _unjoined(edges, n, sum(sizes), rng)
    kept = torch.zeros(count, dtype=torch.bool)
    kept[left] = True
    rest = copy.copy(graph)
    rest.edge_index = graph.edge_index[:, kept[edge_of]]
    if graph.edge_weight is not None:
        rest.edge_weight = graph.edge_weight[kept[edge_of]]
    learned = left[: min(most, n * (n - 1) // 2 - len(left))]
    return LinkSplit(
        graph=rest,
        train=Pairs.of(edges[:, learned], _unjoined(edges[:, left], n, len(learned), rng)),
        validation=Pairs.of(edges[:, held_validation], others[:, : sizes[0]]),
        test=Pairs.of(edges[:, held_test], others[:, sizes[0] :]),
    )


def check_edges(graph: Data, validation: float, test: float) -> None:
    """Raise if the graph has too few edges, or too few pairs without one, to hold some out."""
    count = csr_structure(graph.edge_index, graph.num_nodes).undirected[1]
    _check(graph.num_nodes, count, (round(validation * count), round(test * count)))


def _check(nodes: int, edges: int, held_out: tuple[int, int]) -> None:
    if min(held_out) < 2:
        raise InputError(
            f"{edges} edges are too few to hold some out: {held_out[0]} would validate and {held_out[1]} test, "
            "and at least 2 of each are needed."
        )
    unjoined = nodes * (nodes - 1) // 2 - edges
    if unjoined < sum(held_out):
        raise InputError(
            f"The graph has {unjoined} pairs without an edge, too few to set against {sum(held_out)} edges held out."
        )


def _unjoined(edges: Tensor, nodes: int, count: int, rng: np.random.Generator) -> Tensor:
    """Draw ``count`` different pairs ``(2, count)`` that are not among these edges, uniformly."""
    joined = np.sort((edges[0] * nodes + edges[1]).numpy())
    total = nodes * (nodes - 1) // 2
    if total <= 4 * (len(joined) + count):  # most draws would hit an edge or each other: list what is left
        low, high = np.triu_indices(nodes, 1)
        keys = np.setdiff1d(low * nodes + high, joined, assume_unique=True)
        found = rng.choice(keys, count, replace=False)
    else:
        found = np.empty(0, np.int64)
        while len(found) < count:
            a, b = rng.integers(nodes, size=(2, 2 * (count - len(found)) + 8))
            keys = (np.minimum(a, b) * nodes + np.maximum(a, b))[a != b]
            keys = np.concatenate([found, keys[~np.isin(keys, joined)]])
            found = keys[np.sort(np.unique(keys, return_index=True)[1])]  # the first of each, in the order drawn
    return torch.from_numpy(np.stack(np.divmod(found[:count], nodes)))
