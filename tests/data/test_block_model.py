from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from sfa.data import build_graph, fingerprint, stochastic_block_model
from sfa.errors import InputError

SMALL: dict[str, Any] = {"nodes": 600, "edges": 3000, "features": 16, "classes": 5}


def same_class(graph: Any) -> float:
    source, target = graph.edge_index
    return float((graph.y[source] == graph.y[target]).double().mean())


def test_sizes_and_homophily_are_exactly_those_asked_for(subtests: pytest.Subtests) -> None:
    for homophily in [0, 0.2, 0.65, 1]:
        for spread in [0, 1.5]:
            with subtests.test(f"{homophily}, {spread}"):
                graph = stochastic_block_model(**SMALL, homophily=homophily, degree_spread=spread)
                assert tuple(graph.x.shape) == (600, 16)
                assert tuple(graph.edge_index.shape) == (2, 6000)
                assert torch.bincount(graph.y).tolist() == [120] * 5
                assert same_class(graph) == pytest.approx(homophily, abs=1e-12)
                assert graph.name == "block-model"


def test_it_is_a_graph_as_build_graph_makes_it() -> None:
    graph = stochastic_block_model(**SMALL)
    assert (graph.edge_index[0] != graph.edge_index[1]).all()
    keys = graph.edge_index[0] * 600 + graph.edge_index[1]
    assert (keys.diff() > 0).all()
    assert fingerprint(graph) == fingerprint(build_graph(graph.x, graph.edge_index.flip(0), y=graph.y))


def test_the_seed_decides_everything() -> None:
    state = np.random.get_state()[1].tolist()  # noqa: NPY002
    prints = [fingerprint(stochastic_block_model(**SMALL, seed=seed)) for seed in (0, 0, 1)]
    assert prints[0] == prints[1] != prints[2]
    assert np.random.get_state()[1].tolist() == state  # noqa: NPY002


def test_edges_between_classes_favour_no_pair_of_classes() -> None:
    graph = stochastic_block_model(4000, 60_000, 2, 4, homophily=0.4, degree_spread=0)
    counts = torch.zeros(4, 4).index_put(tuple(graph.y[graph.edge_index]), torch.ones(120_000), accumulate=True)
    within, between = counts.diagonal(), counts[~torch.eye(4, dtype=torch.bool)]
    assert (within / 12_000 - 1).abs().max() < 0.06  # 6000 pairs each, standard deviation about 1.2 %
    assert (between / 6_000 - 1).abs().max() < 0.06


@pytest.mark.parametrize("spread", [0, 0.5, 1])
def test_degrees_spread_as_asked(spread: float) -> None:
    graph = stochastic_block_model(20_000, 200_000, 1, 10, degree_spread=spread)
    degree = torch.bincount(graph.edge_index[0], minlength=20_000).double()
    assert degree.mean() == 20
    # A Poisson degree of log-normal mean: variance = mean + mean² (exp(σ²) - 1).
    wanted = 20 + 400 * (np.exp(spread**2) - 1)
    assert degree.var() == pytest.approx(wanted, rel=0.25 if spread == 1 else 0.06)


def test_features_are_a_centre_and_noise() -> None:
    graph = stochastic_block_model(20_000, 40_000, 64, 4, signal=3)
    residuals = torch.empty_like(graph.x)
    for label in range(4):
        rows = graph.x[graph.y == label]
        assert rows.mean(0).norm() == pytest.approx(3, abs=0.1)
        residuals[graph.y == label] = rows - rows.mean(0)
    covariance = residuals.T @ residuals / 20_000
    assert (covariance - torch.eye(64)).abs().max() < 0.06


def test_the_place_of_a_node_says_nothing_of_its_class() -> None:
    graph = stochastic_block_model(5000, 9000, 2, 2)
    assert abs(int(graph.y[:2500].sum()) - 1250) < 150
    assert abs(float((graph.y[1:] == graph.y[:-1]).double().mean()) - 0.5) < 0.05


def test_neighbours_know_more_than_a_node_itself() -> None:
    graph = stochastic_block_model(4000, 28_000, 32, 8)
    source, target = graph.edge_index
    mixed = graph.x.index_add(0, source, graph.x[target])
    mixed /= 1 + torch.bincount(source, minlength=4000)[:, None]
    scores = {}
    for name, h in (("own", graph.x), ("mixed", mixed)):
        centres = torch.stack([h[graph.y == label].mean(0) for label in range(8)])
        scores[name] = float((torch.cdist(h, centres).argmin(1) == graph.y).double().mean())
    assert 0.3 < scores["own"] < 0.8 < scores["mixed"]


def test_what_cannot_be_drawn_is_said(subtests: pytest.Subtests) -> None:
    for change, says in [
        ({"classes": 1}, "at least 2 classes.*1 classes, 600 nodes"),
        ({"nodes": 9}, "2 nodes a class.*9 nodes"),
        ({"features": 0}, "0 features"),
        ({"edges": 0}, "0 edges"),
        ({"homophily": 1.01}, "homophily is 1.01.*from 0 to 1"),
        ({"homophily": float("nan")}, "homophily is nan"),
        ({"degree_spread": -0.1}, "degree_spread is -0.1.*from 0 to 2"),
        ({"nodes": 20, "edges": 30, "homophily": 1}, "30 edges within classes.*20 nodes in 5 classes have 30 such"),
        ({"nodes": 20, "edges": 100, "homophily": 0}, "100 edges between classes.* 160 such"),
    ]:
        with subtests.test(says), pytest.raises(InputError, match=says):
            stochastic_block_model(**SMALL | change)
