"""Counts and ranks within the graphs of a batch, and nodes cut out of it."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise, permutations

import networkx as nx
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare
from torch import Tensor
from torch_geometric.data import Data

from sfa.errors import InputError
from sfa.graph.batches import (
    check_batch,
    check_rate,
    graph_of_nodes,
    induce,
    random_ranks,
    rank_in_group,
    rate_counts,
    sum_pool,
    undirected_edges,
)
from tests.graph.graph_batches import assert_sound, batches, mixed_batch, seeded, single_graphs, sizes_of, to_batch


class TestRateCounts:
    @given(percent=st.integers(0, 100), sizes=st.lists(st.integers(0, 6000), max_size=5))
    def test_floor_of_the_exact_product(self, percent: int, sizes: list[int]) -> None:
        """A rate of so many per cent is meant exactly, though no float is: 0.07 · 100 is 7.000000000000001."""
        expected = [int(Fraction(percent, 100) * size) for size in sizes]
        assert rate_counts(percent / 100, torch.tensor(sizes, dtype=torch.int64)).tolist() == expected

    def test_products_that_rounding_makes_too_small(self) -> None:
        assert 0.29 * 100 < 29
        assert rate_counts(0.29, torch.tensor([100, 99, 101])).tolist() == [29, 28, 29]

    def test_never_more_than_there_are(self) -> None:
        assert rate_counts(1.0, torch.tensor([20_000_000])).tolist() == [20_000_000]


@pytest.mark.parametrize("rate", [-0.1, 1.1, float("nan"), torch.tensor([0.5]), torch.tensor([0.1, 2.0])])
def test_wrong_rates_are_refused(rate: float) -> None:
    with pytest.raises(InputError, match="node_drop"):
        check_rate("node_drop", rate, 2)


class TestRandomRanks:
    @given(sizes=st.lists(st.integers(0, 7), min_size=1, max_size=8), seed=st.integers(0, 2**31))
    def test_each_group_has_every_rank_once(self, sizes: list[int], seed: int) -> None:
        size = torch.tensor(sizes)
        group = torch.arange(len(sizes)).repeat_interleave(size)
        ranks = random_ranks(group, size, seeded(seed))
        assert [sorted(part.tolist()) for part in ranks.split(sizes)] == [list(range(n)) for n in sizes]
        assert rank_in_group(group, size).tolist() == [place for n in sizes for place in range(n)]

    def test_every_order_is_as_likely_whatever_the_group(self) -> None:
        orders = {order: number for number, order in enumerate(permutations(range(3)))}
        sizes = torch.tensor([3, 1, 0, 3])
        group = torch.arange(4).repeat_interleave(sizes)
        generator = seeded()
        draws = [random_ranks(group, sizes, generator).tolist() for _ in range(3000)]
        for start in (0, 4):
            counts = torch.bincount(torch.tensor([orders[tuple(draw[start : start + 3])] for draw in draws]))
            assert chisquare(counts).pvalue > 1e-4
        together = torch.bincount(torch.tensor([6 * orders[tuple(d[:3])] + orders[tuple(d[4:])] for d in draws]))
        assert chisquare(together).pvalue > 1e-4


class TestInduced:
    @given(batch=batches(), seed=st.integers(0, 2**31), rate=st.sampled_from([0.0, 0.4, 0.8, 1.0]))
    def test_it_is_the_subgraph_of_each_graph(self, batch: Data, seed: int, rate: float) -> None:
        keep = torch.rand(batch.num_nodes, generator=seeded(seed)) < rate
        view = induce(batch, keep)
        assert_sound(view, batch)
        kept = keep.split(sizes_of(batch))
        for graph, part, mask in zip(single_graphs(batch), single_graphs(view), kept, strict=True):
            expected = graph.subgraph(mask.nonzero().squeeze(1).tolist())
            assert sorted(part.nodes) == list(part.nodes) == sorted(expected.nodes)
            assert all(torch.equal(part.nodes[v]["x"], expected.nodes[v]["x"]) for v in part)
            assert nx.utils.edges_equal(part.edges(data=True), expected.edges(data=True))

    def test_a_batch_of_no_edges_and_nothing_kept(self) -> None:
        batch = to_batch([nx.empty_graph(3), nx.empty_graph(0)])
        view = induce(batch, torch.zeros(3, dtype=torch.bool))
        assert_sound(view, batch)
        assert view.x.shape == (0, 3)


def test_undirected_edges_of_each_graph() -> None:
    assert undirected_edges(mixed_batch()).tolist() == [14, 0, 0, 0, 10, 15]


def test_one_graph_is_no_batch() -> None:
    check_batch(mixed_batch())
    with pytest.raises(InputError, match="ptr"):
        check_batch(Data(x=torch.ones(2, 1), edge_index=torch.tensor([[0, 1], [1, 0]])))


def test_no_graphs_at_all_have_no_ranks() -> None:
    nothing = torch.empty(0, dtype=torch.int64)
    assert random_ranks(nothing, nothing).tolist() == []


def test_sparse_features_are_refused() -> None:
    batch = mixed_batch()
    batch.x = batch.x.to_sparse()
    with pytest.raises(InputError, match="of graphs are sparse"):
        check_batch(batch)


def looped(h: Tensor, ptr: Tensor) -> Tensor:
    return torch.stack([h[start:stop].sum(0) for start, stop in pairwise(ptr.tolist())])


def begins(sizes: list[int]) -> Tensor:
    return torch.tensor([0, *sizes]).cumsum(0)


@given(sizes=st.lists(st.integers(0, 6), min_size=1, max_size=8), d=st.integers(1, 4))
def test_equals_a_loop(sizes: list[int], d: int) -> None:
    h = torch.randn(sum(sizes), d, generator=torch.Generator().manual_seed(d), dtype=torch.float64)
    pooled = sum_pool(h, begins(sizes))
    assert pooled.dtype == torch.float64
    torch.testing.assert_close(pooled, looped(h, begins(sizes)))


def test_gradients() -> None:
    h = torch.randn(6, 3, dtype=torch.float64, requires_grad=True)
    ptr = begins([2, 0, 3, 1])
    assert torch.autograd.gradcheck(lambda h: sum_pool(h, ptr), h)
    assert torch.autograd.gradgradcheck(lambda h: sum_pool(h, ptr).square(), h)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision_is_summed_in_single(dtype: torch.dtype) -> None:
    """300 ones are 256 if they are added one by one in bfloat16, and 4,000 are 2,048 in float16."""
    h = torch.ones(4300, 2, dtype=dtype, requires_grad=True)
    pooled = sum_pool(h, begins([300, 4000]))
    assert pooled.dtype == torch.float32
    assert pooled.tolist() == [[300, 300], [4000, 4000]]
    pooled.sum().backward()
    assert h.grad is not None
    assert h.grad.dtype == dtype
    assert bool((h.grad == 1).all())


def test_precision_does_not_depend_on_the_graphs_before() -> None:
    h = torch.tensor([[1e8], [1.0], [2.0], [3.0]])
    assert sum_pool(h, begins([1, 3])).tolist() == [[1e8], [6.0]]


@pytest.mark.parametrize("ptr", [[0, 2], [0, 4], [1, 3], [0, 4, 3]], ids=str)
def test_a_ptr_that_does_not_fit_is_refused(ptr: list[int]) -> None:
    with pytest.raises(InputError, match="0 to the number"):
        sum_pool(torch.ones(3, 2), torch.tensor(ptr))


def test_graph_of_nodes() -> None:
    assert graph_of_nodes(begins([2, 0, 1]), 3).tolist() == [0, 0, 2]
