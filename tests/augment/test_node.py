"""Random views of a graph."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from scipy.stats import chisquare
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.utils import is_undirected, to_undirected

from sfa.augment import Augmentation, DropEdges, ShuffleFeatures, UniformDrop, node
from sfa.augment.node import mask_features, random_view
from sfa.errors import InputError
from sfa.matrices import csr_matrix


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


@pytest.fixture
def edges() -> Tensor:
    edges = to_undirected(torch.randint(0, 300, (2, 4000), generator=seeded()))
    return edges[:, edges[0] != edges[1]]


def remove_edges(
    edges: Tensor, nodes: int, rate: float | Tensor, *, edge_weight: Tensor | None = None, **options: Any
) -> Tensor | None:
    return node.remove_edges(Data(edge_index=edges, edge_weight=edge_weight, num_nodes=nodes), rate, **options)


def as_set(edge_index: Tensor) -> set[tuple[int, int]]:
    return {(a, b) for a, b in edge_index.T.tolist()}


class TestRemoveEdges:
    @pytest.mark.parametrize("rate", [0.2, 0.7])
    @pytest.mark.parametrize("shuffled", [False, True])
    def test_both_directions_go_together_at_the_given_rate(self, edges: Tensor, rate: float, shuffled: bool) -> None:
        if shuffled:
            edges = edges[:, torch.randperm(edges.shape[1], generator=seeded(5))]
        weight = remove_edges(edges, 300, rate, generator=seeded())
        assert weight is not None
        assert set(weight.unique().tolist()) == {0.0, 1.0}
        assert is_undirected(edges[:, weight > 0])
        assert float(weight.mean()) == pytest.approx(1 - rate, abs=0.04)

    def test_extremes(self, edges: Tensor) -> None:
        weight = torch.ones(edges.shape[1])
        assert remove_edges(edges, 300, 0.0) is None
        assert remove_edges(edges, 300, 0.0, edge_weight=weight) is weight
        gone = remove_edges(edges, 300, 1.0)
        assert gone is not None
        assert not gone.any()
        none = remove_edges(torch.empty(2, 0, dtype=torch.long), 3, 0.5)
        assert none is not None
        assert none.shape == (0,)

    def test_weights_stay_with_their_edges(self, edges: Tensor) -> None:
        weight = (edges[0] * 1000 + edges[1]).float()
        after = remove_edges(edges, 300, 0.5, edge_weight=weight, generator=seeded())
        assert after is not None
        assert torch.equal(after[after > 0], weight[after > 0])
        assert torch.equal(after > 0, remove_edges(edges, 300, 0.5, generator=seeded()) == 1)

    def test_every_edge_can_go_and_can_stay(self) -> None:
        triangle = to_undirected(torch.tensor([[0, 1, 2], [1, 2, 0]]))
        generator = seeded()
        weights = [remove_edges(triangle, 3, 0.5, generator=generator) for _ in range(200)]
        seen = {frozenset(as_set(triangle[:, weight > 0])) for weight in weights if weight is not None}
        assert len(seen) == 2**3

    @pytest.mark.parametrize("shuffled", [False, True])
    def test_edges_can_have_rates_of_their_own(self, edges: Tensor, shuffled: bool) -> None:
        if shuffled:
            edges = edges[:, torch.randperm(edges.shape[1], generator=seeded(5))]
        group = edges.sum(0) % 4  # 0 never goes, 3 always
        rates = torch.tensor([0.0, 0.2, 0.7, 1.0])
        weight = remove_edges(edges, 300, rates[group], generator=seeded())
        assert weight is not None
        assert is_undirected(edges[:, weight > 0])
        for number, rate in enumerate(rates.tolist()):
            tolerance = 0 if rate in (0, 1) else 0.07
            assert float(weight[group == number].mean()) == pytest.approx(1 - rate, abs=tolerance)

    def test_equal_rates_of_all_edges_are_one_rate(self, edges: Tensor) -> None:
        weight = torch.rand(300, generator=seeded(3))[edges.sum(0) % 300]
        of_each = remove_edges(edges, 300, torch.full((edges.shape[1],), 0.3), edge_weight=weight, generator=seeded())
        of_all = remove_edges(edges, 300, 0.3, edge_weight=weight, generator=seeded())
        assert of_each is not None
        assert of_all is not None
        assert torch.equal(of_each, of_all)
        assert remove_edges(edges, 300, torch.zeros(edges.shape[1]), edge_weight=weight) is weight

    def test_rates_that_differ_by_direction_are_refused(self, edges: Tensor) -> None:
        with pytest.raises(InputError, match="not the same in both directions"):
            remove_edges(edges, 300, torch.rand(edges.shape[1], generator=seeded()))
        with pytest.raises(InputError, match=f"{edges.shape[1]} of them, not a tensor of shape"):
            remove_edges(edges, 300, torch.rand(5))

    def test_one_direction_only_is_refused(self) -> None:
        with pytest.raises(InputError, match="one direction only"):
            remove_edges(torch.tensor([[0, 1], [1, 2]]), 3, 0.5)


class TestMaskFeatures:
    def test_columns_go_at_the_given_rate(self) -> None:
        mask = mask_features(5000, 0.3, generator=seeded(1))
        assert mask is not None
        assert mask.shape == (5000,)
        assert float(mask.float().mean()) == pytest.approx(0.7, abs=0.02)

    def test_extremes(self) -> None:
        assert mask_features(4, 0.0) is None
        gone = mask_features(4, 1.0)
        assert gone is not None
        assert not gone.any()

    def test_columns_can_have_rates_of_their_own(self) -> None:
        rates = torch.tensor([0.0, 0.3, 1.0]).repeat_interleave(4000)
        mask = mask_features(12000, rates, generator=seeded(1))
        assert mask is not None
        kept = mask.view(3, 4000).float().mean(1)
        assert kept.tolist() == [1, pytest.approx(0.7, abs=0.03), 0]
        assert mask_features(5, torch.zeros(5)) is None
        with pytest.raises(InputError, match="4 of them, not"):
            mask_features(4, torch.zeros(5))


def test_two_views_have_their_own_rates_and_draws(edges: Tensor) -> None:
    graph = Data(x=torch.ones(300, 2000), edge_index=edges)
    alpha, beta = UniformDrop((0.1, 0.6), (0.0, 0.5))(graph, seeded())
    assert alpha.edge_weight.sum() > 1.5 * beta.edge_weight.sum()
    assert "feature_mask" not in alpha
    assert 800 < int((~beta.feature_mask).sum()) < 1200
    again, _ = UniformDrop((0.1, 0.6), (0.0, 0.5))(graph, seeded())
    assert torch.equal(alpha.edge_weight, again.edge_weight)
    same_rates = UniformDrop((0.5, 0.5), (0.0, 0.0))(graph, seeded())
    assert not torch.equal(same_rates[0].edge_weight, same_rates[1].edge_weight)


def test_views_share_the_features_and_edges_of_their_graph(edges: Tensor) -> None:
    graph = Data(x=torch.ones(300, 20), edge_index=edges)
    for view in UniformDrop((0.3, 0.6), (0.2, 0.5))(graph, seeded()):
        assert view.x is graph.x
        assert view.edge_index is graph.edge_index


@pytest.mark.parametrize("rate", [-0.1, 1.5, float("nan")])
def test_rates_outside_zero_to_one_are_refused(rate: float, edges: Tensor) -> None:
    with pytest.raises(InputError, match="edge_drop is a probability"):
        remove_edges(edges, 300, rate)
    with pytest.raises(InputError, match="feature_drop is a probability"):
        mask_features(2, rate)
    with pytest.raises(InputError, match="edge_drop are probabilities"):
        remove_edges(edges, 300, torch.full((edges.shape[1],), rate))
    with pytest.raises(InputError, match="feature_drop are probabilities"):
        mask_features(2, torch.tensor([0.5, rate]))


class TestDirected:
    """Each direction of an edge drawn for itself."""

    def test_the_directions_are_independent_and_go_at_the_rate(self, edges: Tensor) -> None:
        """Of the pairs of directions, both stay, one goes or both go as often as independent draws say."""
        twin = twins_of(edges)
        generator, counts = seeded(), torch.zeros(4)
        for _ in range(20):
            weight = remove_edges(edges, 300, 0.3, generator=generator, directed=True)
            assert weight is not None
            assert set(weight.unique().tolist()) == {0.0, 1.0}
            one = edges[0] < edges[1]
            counts += torch.bincount((2 * weight + weight[twin])[one].long(), minlength=4)
        expected = torch.tensor([0.3 * 0.3, 0.3 * 0.7, 0.7 * 0.3, 0.7 * 0.7]) * counts.sum()
        assert chisquare(counts, expected).pvalue > 1e-4

    def test_directions_can_have_rates_of_their_own(self, edges: Tensor) -> None:
        rates = (edges[0] < edges[1]).float()  # from the smaller to the larger number always, back never
        weight = remove_edges(edges, 300, rates, generator=seeded(), directed=True)
        assert weight is not None
        assert torch.equal(weight, 1 - rates)

    def test_weights_and_extremes(self, edges: Tensor) -> None:
        weight = 1 + (edges.sum(0) % 3).float()
        assert remove_edges(edges, 300, 0.0, edge_weight=weight, directed=True) is weight
        after = remove_edges(edges, 300, 0.5, edge_weight=weight, generator=seeded(), directed=True)
        assert after is not None
        assert torch.equal(after[after > 0], weight[after > 0])
        assert not is_undirected(edges[:, after > 0])
        gone = remove_edges(edges, 300, 1.0, directed=True)
        assert gone is not None
        assert not gone.any()

    @pytest.mark.parametrize("augmentation", [DropEdges(0.4, directed=True), UniformDrop(directed=True)])
    def test_views_say_that_they_are_directed(self, edges: Tensor, augmentation: Augmentation) -> None:
        graph = Data(x=torch.ones(300, 20), edge_index=edges)
        for view in augmentation(graph, seeded()):
            assert view.directed
            assert not is_undirected(edges[:, view.edge_weight > 0])
        assert "directed" not in graph
        for view in UniformDrop()(graph, seeded()):
            assert "directed" not in view


def twins_of(edges: Tensor) -> Tensor:
    """Where the other direction of each edge stands."""
    place = {pair: number for number, pair in enumerate(map(tuple, edges.T.tolist()))}
    return torch.tensor([place[b, a] for a, b in edges.T.tolist()])


class TestUniformDrop:
    def test_it_draws_one_random_view_after_the_other(self, edges: Tensor) -> None:
        graph, generator = Data(x=torch.ones(300, 50), edge_index=edges), seeded()
        drawn = UniformDrop((0.1, 0.6), (0.3, 0.5))(graph, seeded())
        for view, rates in zip(drawn, ((0.1, 0.3), (0.6, 0.5)), strict=True):
            expected = random_view(graph, *rates, generator)
            assert torch.equal(view.edge_weight, expected.edge_weight)
            assert torch.equal(view.feature_mask, expected.feature_mask)

    def test_rates_of_zero_leave_the_graph_whole(self, edges: Tensor) -> None:
        graph, generator = Data(x=torch.ones(300, 50), edge_index=edges), seeded()
        for view in UniformDrop((0, 0), (0, 0))(graph, generator):
            assert view is not graph
            assert view.edge_weight is None
            assert "feature_mask" not in view
        assert torch.equal(generator.get_state(), seeded().get_state())


class TestShuffleFeatures:
    @pytest.mark.parametrize("layout", ["dense", "csr"])
    def test_beta_has_the_same_rows_in_another_order(self, edges: Tensor, layout: str) -> None:
        x = torch.rand(300, 4, generator=seeded(1))
        rows = csr_matrix(torch.arange(301) * 4, torch.arange(4).repeat(300), x.flatten(), (300, 4))
        graph = Data(x=rows if layout == "csr" else x, edge_index=edges)
        alpha, beta = ShuffleFeatures()(graph, seeded())
        assert alpha is graph
        assert beta.edge_index is edges
        assert beta.x.layout == graph.x.layout
        assert graph.x is (rows if layout == "csr" else x)
        order = torch.randperm(300, generator=seeded())
        assert torch.equal(beta.x.to_dense(), x[order])
        assert not torch.equal(order, torch.arange(300))

    def test_the_first_view_is_the_graph_and_the_second_its_corruption(self, edges: Tensor) -> None:
        graph = Data(x=torch.rand(300, 4, generator=seeded(1)), edge_index=edges)
        assert ShuffleFeatures().view(graph, seeded()) is graph
        assert torch.equal(ShuffleFeatures().view(graph, seeded(), 1).x, ShuffleFeatures()(graph, seeded())[1].x)

    def test_every_order_is_as_likely(self) -> None:
        graph, generator = Data(x=torch.arange(3.0)[:, None], edge_index=torch.empty(2, 0, dtype=torch.long)), seeded()
        orders = [tuple(ShuffleFeatures()(graph, generator)[1].x[:, 0].tolist()) for _ in range(1200)]
        counts = [orders.count(order) for order in set(orders)]
        assert len(counts) == 6
        assert chisquare(counts).pvalue > 1e-4


def as_csr(x: torch.Tensor) -> torch.Tensor:
    rowptr = torch.cat([torch.zeros(1, dtype=torch.long), (x != 0).sum(1).cumsum(0)])
    return csr_matrix(rowptr, x.nonzero()[:, 1], x[x != 0], (x.shape[0], x.shape[1]))


@pytest.mark.parametrize("sparse", [False, True])
def test_shuffling_moves_rows_and_nothing_else(planted: Data, sparse: bool) -> None:
    dense = planted.x * (planted.x > 0)
    planted.x = as_csr(dense) if sparse else dense
    given = planted.x
    view, corrupted = ShuffleFeatures()(planted, seeded(1))
    assert view is planted
    assert planted.x is given
    assert corrupted.x.layout == given.layout
    assert corrupted.edge_index is planted.edge_index
    rows = corrupted.x.to_dense()
    assert torch.equal(rows, dense[torch.randperm(60, generator=seeded(1))])
    assert not torch.equal(rows, dense)
    assert sorted(map(tuple, rows.tolist())) == sorted(map(tuple, dense.tolist()))
    assert not torch.equal(ShuffleFeatures().view(planted, seeded(2)).x.to_dense(), rows)
