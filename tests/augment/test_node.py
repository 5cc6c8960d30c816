"""Random views of a graph."""

import pytest
import torch
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.utils import is_undirected, to_undirected

from sfa.augment.node import mask_features, random_views, remove_edges
from sfa.errors import InputError


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


@pytest.fixture
def edges() -> Tensor:
    edges = to_undirected(torch.randint(0, 300, (2, 4000), generator=seeded()))
    return edges[:, edges[0] != edges[1]]


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
        with pytest.raises(InputError, match=r"4 of them, not a tensor of shape \(5,\)"):
            mask_features(4, torch.zeros(5))


def test_two_views_have_their_own_rates_and_draws(edges: Tensor) -> None:
    graph = Data(x=torch.ones(300, 2000), edge_index=edges)
    alpha, beta = random_views(graph, (0.1, 0.6), (0.0, 0.5), seeded())
    assert alpha.edge_weight.sum() > 1.5 * beta.edge_weight.sum()
    assert "feature_mask" not in alpha
    assert 800 < int((~beta.feature_mask).sum()) < 1200
    again, _ = random_views(graph, (0.1, 0.6), (0.0, 0.5), seeded())
    assert torch.equal(alpha.edge_weight, again.edge_weight)
    same_rates = random_views(graph, (0.5, 0.5), (0.0, 0.0), seeded())
    assert not torch.equal(same_rates[0].edge_weight, same_rates[1].edge_weight)


def test_views_share_the_features_and_edges_of_their_graph(edges: Tensor) -> None:
    graph = Data(x=torch.ones(300, 20), edge_index=edges)
    for view in random_views(graph, (0.3, 0.6), (0.2, 0.5), seeded()):
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
