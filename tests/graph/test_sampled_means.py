"""Means over neighbors that are drawn at random: whom they are over, and how often each."""

import math

import torch

from sfa.data import build_graph
from sfa.graph.sampled_means import sampled_means


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
