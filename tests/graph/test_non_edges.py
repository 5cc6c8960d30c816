"""Pairs that are not joined: exactly those of the dense matrix, each as likely."""

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from sfa.data import build_graph
from sfa.graph.non_edges import random_non_edges
from sfa.graph.pattern import Pattern, pattern_of


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


@given(nodes=st.integers(2, 12), edges=st.integers(1, 60), seed=st.integers(0, 2**31))
def test_only_zeros_off_the_diagonal_are_drawn(nodes: int, edges: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    pairs = np.concatenate([rng.integers(0, nodes, (2, edges)), [[0], [1]]], axis=1)
    graph = build_graph(np.eye(nodes), pairs)
    row, col = random_non_edges(pattern_of(graph.edge_index, nodes), 50, seeded(seed))
    adjacency = torch.eye(nodes)
    adjacency[graph.edge_index[0], graph.edge_index[1]] = 1
    assert len(row) == (50 if (adjacency == 0).any() else 0)
    assert not adjacency[row, col].any()


def test_every_one_is_as_likely() -> None:
    """Node 0 is joined to all, node 5 to it alone: drawing a node and then a stranger would not be uniform."""
    edges = torch.tensor([[0, 0, 0, 0, 0, 1, 1, 2, 2, 3, 4, 5], [1, 2, 3, 4, 5, 0, 2, 0, 1, 0, 0, 0]])
    row, col = random_non_edges(Pattern(edges, 6), 18_000, seeded())
    counts = torch.bincount(row * 6 + col, minlength=36)
    zeros = torch.ones(6, 6) - torch.eye(6)
    zeros[edges[0], edges[1]] = 0
    assert counts[zeros.flatten() == 0].sum() == 0
    assert chisquare(counts[zeros.flatten() == 1]).pvalue > 1e-4


def test_a_complete_graph_has_none() -> None:
    edges = torch.tensor([[0, 0, 1, 1, 2, 2], [1, 2, 0, 2, 0, 1]])
    assert random_non_edges(Pattern(edges, 3), 5).shape == (2, 0)


def test_a_generator_decides() -> None:
    pattern = Pattern(torch.tensor([[0, 1], [1, 0]]), 30)
    one, again, other = (random_non_edges(pattern, 20, seeded(seed)) for seed in (0, 0, 1))
    assert torch.equal(one, again)
    assert not torch.equal(one, other)
