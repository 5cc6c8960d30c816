"""Spectral position features against all eigenvectors of the dense matrix."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from sfa.data import build_graph
from sfa.data import structural as positions
from sfa.data.structural import spectral_features

GRAPHS = {
    "karate": nx.karate_club_graph(),
    "pair": nx.path_graph(2),
    "path": nx.path_graph(9),
    "star": nx.star_graph(60),
    "complete": nx.complete_graph(12),
    "grid": nx.convert_node_labels_to_integers(nx.grid_2d_graph(11, 13)),
    "random": nx.gnm_random_graph(300, 900, seed=1),
    "pieces": nx.disjoint_union_all(
        [nx.gnm_random_graph(60, 150, seed=2), *[nx.cycle_graph(9)] * 5, nx.empty_graph(4)]
    ),
    "matching": nx.disjoint_union_all([nx.path_graph(2)] * 30),
}


def weighted_edges(graph: nx.Graph, weighted: bool) -> tuple[NDArray[np.int64], NDArray[np.float32] | None]:
    made = build_graph(
        None,
        np.array(graph.edges).T,
        edge_weight=np.random.default_rng(0).uniform(0.5, 2, graph.number_of_edges()) if weighted else None,
        num_nodes=graph.number_of_nodes(),
        node_features="degree",
    )
    return made.edge_index.numpy(), None if made.edge_weight is None else made.edge_weight.numpy()


def dense_matrix(edges: NDArray[np.int64], weight: NDArray[np.float32] | None, n: int) -> NDArray[np.float64]:
    """D^(-1/2) A D^(-1/2), where a node without neighbours has a row of zeros."""
    a = np.zeros((n, n))
    a[tuple(edges)] = 1 if weight is None else weight
    scale = np.array([0 if row.sum() == 0 else row.sum() ** -0.5 for row in a])
    return scale[:, None] * a * scale


@pytest.fixture(params=["all at once", "iterated"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both ways to the eigenvectors, whatever the size."""
    monkeypatch.setattr(positions, "DENSE_NODES", 1000 if request.param == "all at once" else 1)


@pytest.mark.usefixtures("way")
def test_they_are_the_leading_eigenvectors_of_each_component_but_the_first(subtests: pytest.Subtests) -> None:
    for width in [4, 32]:
        for name in GRAPHS:
            for weighted in [False, True]:
                with subtests.test(f"{name}, {weighted}, {width}"):
                    graph = GRAPHS[name]
                    n = graph.number_of_nodes()
                    edges, weight = weighted_edges(graph, weighted)
                    x = spectral_features(edges, weight, n, width)
                    assert x.shape == (n, width)
                    assert x.dtype == np.float32
                    matrix = dense_matrix(edges, weight, n)
                    for part in nx.connected_components(graph):
                        nodes = sorted(part)
                        a, count = matrix[np.ix_(nodes, nodes)], min(width, len(nodes) - 1)
                        assert not x[nodes, count:].any()
                        u = x[nodes, :count].astype(np.float64) / np.sqrt(len(nodes))
                        np.testing.assert_allclose(u.T @ u, np.eye(count), atol=1e-5)
                        eigenvalues = np.sort(np.linalg.eigvalsh(a))[::-1][1 : count + 1]
                        np.testing.assert_allclose(a @ u, u * eigenvalues, atol=1e-4)


def test_they_are_the_same_on_every_call_with_any_number_of_threads(subtests: pytest.Subtests) -> None:
    for name in GRAPHS:
        with subtests.test(name):
            n = GRAPHS[name].number_of_nodes()
            edges, _ = weighted_edges(GRAPHS[name], False)
            with threadpool_limits(limits=2, user_api="blas"):
                first = spectral_features(edges, None, n, 8)
            with threadpool_limits(limits=1, user_api="blas"):
                again = spectral_features(edges, None, n, 8)
            assert np.array_equal(first, again)


@pytest.mark.parametrize("name", ["karate", "path", "grid", "random"])
def test_the_first_of_the_largest_entries_is_positive(name: str) -> None:
    n = GRAPHS[name].number_of_nodes()
    x = spectral_features(weighted_edges(GRAPHS[name], False)[0], None, n, 6)
    for column in x.T:
        largest = np.abs(column).max()
        assert next(value for value in column if abs(value) > largest * (1 - 1e-5)) > 0


def test_communities_lie_apart() -> None:
    """Two cliques with one edge between them are told apart by the first column alone."""
    graph = nx.barbell_graph(10, 0)
    x = spectral_features(weighted_edges(graph, False)[0], None, 20, 3)
    assert len(set(np.sign(x[:10, 0]))) == 1
    assert np.sign(x[0, 0]) == -np.sign(x[15, 0])


def test_a_long_path_ends_soon_at_what_is_nearly_an_eigenvector() -> None:
    edges, _ = weighted_edges(nx.path_graph(3000), False)
    u = spectral_features(edges, None, 3000, 8).astype(np.float64) / np.sqrt(3000)
    np.testing.assert_allclose(u.T @ u, np.eye(8), atol=1e-5)
    assert (np.diff(u, axis=0) ** 2).sum(0).max() < 1e-3, "neighbours lie near each other"
