"""Pairs that are not joined: exactly those of the dense matrix, each as likely."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from sfa.data import build_graph
from sfa.graph.structure import CSRStructure, csr_structure
from sfa.graph.walks import below, distinct_below, random_non_edges, sampled_means


@pytest.fixture
def generator() -> torch.Generator:
    return torch.Generator().manual_seed(0)


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


@given(nodes=st.integers(2, 12), edges=st.integers(1, 60), seed=st.integers(0, 2**31))
def test_only_zeros_off_the_diagonal_are_drawn(nodes: int, edges: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    pairs = np.concatenate([rng.integers(0, nodes, (2, edges)), [[0], [1]]], axis=1)
    graph = build_graph(np.eye(nodes), pairs)
    row, col = random_non_edges(csr_structure(graph.edge_index, nodes), 50, seeded(seed))
    adjacency = torch.eye(nodes)
    adjacency[graph.edge_index[0], graph.edge_index[1]] = 1
    assert len(row) == (50 if (adjacency == 0).any() else 0)
    assert not adjacency[row, col].any()


def test_every_one_is_as_likely() -> None:
    """Node 0 is joined to all, node 5 to it alone: drawing a node and then a stranger would not be uniform."""
    edges = torch.tensor([[0, 0, 0, 0, 0, 1, 1, 2, 2, 3, 4, 5], [1, 2, 3, 4, 5, 0, 2, 0, 1, 0, 0, 0]])
    row, col = random_non_edges(CSRStructure(edges, 6), 18_000, seeded())
    counts = torch.bincount(row * 6 + col, minlength=36)
    zeros = torch.ones(6, 6) - torch.eye(6)
    zeros[edges[0], edges[1]] = 0
    assert counts[zeros.flatten() == 0].sum() == 0
    assert chisquare(counts[zeros.flatten() == 1]).pvalue > 1e-4


def test_a_complete_graph_has_none() -> None:
    edges = torch.tensor([[0, 0, 1, 1, 2, 2], [1, 2, 0, 2, 0, 1]])
    assert random_non_edges(CSRStructure(edges, 3), 5).shape == (2, 0)


def test_a_generator_decides() -> None:
    pattern = CSRStructure(torch.tensor([[0, 1], [1, 0]]), 30)
    one, again, other = (random_non_edges(pattern, 20, seeded(seed)) for seed in (0, 0, 1))
    assert torch.equal(one, again)
    assert not torch.equal(one, other)


def test_means_are_over_a_node_and_its_neighbors() -> None:
    """Node 0 in the middle of 1, 2 and 3, and node 4 alone."""
    graph = build_graph(torch.eye(5).numpy(), torch.tensor([[0, 0, 0], [1, 2, 3]]).numpy())
    generator = torch.Generator().manual_seed(0)
    h = torch.eye(5, dtype=torch.float64)
    means = sampled_means(h, graph, 5, 4000, generator)
    expected = torch.zeros(5, 5, dtype=torch.float64)
    expected[0, :4] = 1 / 4
    for leaf in (1, 2, 3):
        expected[leaf, [0, leaf]] = 1 / 2
    expected[4, 4] = 1
    torch.testing.assert_close(means, expected, rtol=0, atol=5 * 0.5 / math.sqrt(4000))
    assert torch.equal(means > 0, expected > 0)
    few = sampled_means(h, graph, 2, 3, generator)
    assert few.shape == (2, 5)
    assert ((3 * few).round() - 3 * few).abs().max() < 1e-12
    torch.testing.assert_close(few.sum(1), torch.ones(2, dtype=torch.float64))


REPEATS = 20_000


@pytest.mark.parametrize("bound", [1, 2, 7])
def test_each_number_below_is_as_likely(bound: int, generator: torch.Generator) -> None:
    drawn = below(torch.full((REPEATS,), bound), generator)
    counts = drawn.bincount(minlength=bound)
    assert len(counts) == bound
    assert bound == 1 or chisquare(counts).pvalue > 0.001


def test_bounds_of_any_shape_and_size(generator: torch.Generator) -> None:
    bounds = torch.tensor([[1, 2, 3], [2**40, 2**62, 2**63 - 1]])
    drawn = torch.stack([below(bounds, generator) for _ in range(200)])
    assert bool((drawn >= 0).all())
    assert bool((drawn < bounds).all())
    assert bool((drawn.amax(0)[1] > bounds[1] // 10 * 9).all())


@pytest.mark.slow
@pytest.mark.parametrize(("bound", "count"), [(6, 1), (6, 3), (5, 4), (4, 4)])
def test_each_set_is_as_likely(bound: int, count: int, generator: torch.Generator) -> None:
    picks = distinct_below(torch.full((REPEATS,), bound), count, generator).sort(0).values
    number = {subset: i for i, subset in enumerate(combinations(range(bound), count))}
    seen = torch.tensor([number[tuple(subset)] for subset in picks.T.tolist()]).bincount(minlength=len(number))
    assert len(number) == 1 or chisquare(seen).pvalue > 0.001


@given(bounds=st.lists(st.integers(5, 9) | st.integers(2**40, 2**50), min_size=1, max_size=6), seed=st.integers(0, 99))
def test_distinct_whatever_the_bounds_and_at_no_cost_of_theirs(bounds: list[int], seed: int) -> None:
    picks = distinct_below(torch.tensor(bounds), 5, torch.Generator().manual_seed(seed))
    assert picks.shape == (5, len(bounds))
    for bound, column in zip(bounds, picks.T.tolist(), strict=True):
        assert len(set(column)) == 5
        assert all(0 <= pick < bound for pick in column)
