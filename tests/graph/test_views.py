"""Random views of a graph."""

import pytest
import torch
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.utils import is_undirected, to_undirected

from sfa.errors import InputError
from sfa.graph import mask_features, random_views, remove_edges


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


@pytest.fixture
def edges() -> Tensor:
    return to_undirected(torch.randint(0, 300, (2, 4000), generator=seeded()))


def as_set(edge_index: Tensor) -> set[tuple[int, int]]:
    return {(a, b) for a, b in edge_index.T.tolist()}


class TestRemoveEdges:
    @pytest.mark.parametrize("rate", [0.2, 0.7])
    def test_both_directions_go_together_at_the_given_rate(self, edges: Tensor, rate: float) -> None:
        kept, _ = remove_edges(edges, rate, generator=seeded())
        assert is_undirected(kept)
        assert as_set(kept) < as_set(edges)
        assert kept.shape[1] / edges.shape[1] == pytest.approx(1 - rate, abs=0.04)

    def test_extremes(self, edges: Tensor) -> None:
        assert remove_edges(edges, 0.0)[0] is edges
        assert remove_edges(edges, 1.0)[0].shape == (2, 0)
        assert remove_edges(torch.empty(2, 0, dtype=torch.long), 0.5)[0].shape == (2, 0)

    def test_order_is_kept_and_weights_follow_their_edges(self, edges: Tensor) -> None:
        weight = (edges[0] * 1000 + edges[1]).float()
        kept, kept_weight = remove_edges(edges, 0.5, edge_weight=weight, generator=seeded())
        assert kept_weight is not None
        assert torch.equal(kept_weight, (kept[0] * 1000 + kept[1]).float())
        position = {edge: i for i, edge in enumerate(map(tuple, edges.T.tolist()))}
        places = [position[edge] for edge in map(tuple, kept.T.tolist())]
        assert places == sorted(places)

    def test_every_edge_can_go_and_can_stay(self) -> None:
        triangle = to_undirected(torch.tensor([[0, 1, 2], [1, 2, 0]]))
        generator = seeded()
        seen = {frozenset(as_set(remove_edges(triangle, 0.5, generator=generator)[0])) for _ in range(200)}
        assert len(seen) == 2**3


class TestMaskFeatures:
    def test_whole_columns_go_at_the_given_rate_and_the_rest_is_untouched(self) -> None:
        x = torch.rand(20, 5000, generator=seeded()) + 0.1
        masked = mask_features(x, 0.3, generator=seeded(1))
        gone = (masked == 0).all(0)
        assert torch.equal(masked[:, ~gone], x[:, ~gone])
        assert float(gone.float().mean()) == pytest.approx(0.3, abs=0.02)

    def test_extremes(self) -> None:
        x = torch.ones(3, 4)
        assert mask_features(x, 0.0) is x
        assert not mask_features(x, 1.0).any()


def test_two_views_have_their_own_rates_and_draws(edges: Tensor) -> None:
    graph = Data(x=torch.ones(300, 2000), edge_index=edges)
    alpha, beta = random_views(graph, (0.1, 0.6), (0.0, 0.5), seeded())
    assert alpha.edge_index.shape[1] > 1.5 * beta.edge_index.shape[1]
    assert alpha.x is graph.x
    assert 800 < int((beta.x == 0).all(0).sum()) < 1200
    again, _ = random_views(graph, (0.1, 0.6), (0.0, 0.5), seeded())
    assert torch.equal(alpha.edge_index, again.edge_index)
    same_rates = random_views(graph, (0.5, 0.5), (0.0, 0.0), seeded())
    assert not torch.equal(same_rates[0].edge_index, same_rates[1].edge_index)


@pytest.mark.parametrize("rate", [-0.1, 1.5, float("nan")])
def test_rates_outside_zero_to_one_are_refused(rate: float, edges: Tensor) -> None:
    with pytest.raises(InputError, match="edge_drop is a probability"):
        remove_edges(edges, rate)
    with pytest.raises(InputError, match="feature_drop is a probability"):
        mask_features(torch.ones(2, 2), rate)
