"""Centralities against NetworkX and against dense solvers."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch_geometric.data import Data

from sfa.augment import adaptive
from sfa.augment.adaptive import CENTRALITIES


def degree(edges: Tensor, nodes: int, weight: Tensor | None = None) -> Tensor:
    return adaptive.degree(Data(edge_index=edges, num_nodes=nodes, edge_weight=weight))


def pagerank(edges: Tensor, nodes: int, weight: Tensor | None = None, **options: float) -> Tensor:
    return adaptive.pagerank(Data(edge_index=edges, num_nodes=nodes, edge_weight=weight), **options)


def eigenvector_centrality(edges: Tensor, nodes: int, weight: Tensor | None = None, **options: int) -> Tensor:
    return adaptive.eigenvector_centrality(Data(edge_index=edges, num_nodes=nodes, edge_weight=weight), **options)


def edges_of(graph: nx.Graph) -> tuple[Tensor, int, Tensor]:
    """Both directions of every edge in no particular order, the number of nodes, the weights (1 if there are none)."""
    pairs = [(a, b, w) for a, b, w in graph.edges(data="weight", default=1.0)]
    pairs += [(b, a, w) for a, b, w in pairs]
    edge_index = torch.tensor([[a, b] for a, b, _ in pairs], dtype=torch.int64).reshape(-1, 2).T
    return edge_index, graph.number_of_nodes(), torch.tensor([w for *_, w in pairs], dtype=torch.float32)


def values(centrality: dict[int, float], graph: nx.Graph) -> Tensor:
    return torch.tensor([centrality[node] for node in range(graph.number_of_nodes())], dtype=torch.float64)


def weighted(graph: nx.Graph, seed: int = 0) -> nx.Graph:
    rng = np.random.default_rng(seed)
    for _, _, data in graph.edges(data=True):
        data["weight"] = int(rng.integers(1, 9)) / 4  # exact in float32
    return graph


def with_isolated_nodes(graph: nx.Graph, count: int) -> nx.Graph:
    size = graph.number_of_nodes()
    graph.add_nodes_from(range(size, size + count))
    return graph


def numbered(graph: nx.Graph) -> nx.Graph:
    return nx.convert_node_labels_to_integers(graph)


GRAPHS = {
    "random": nx.gnp_random_graph(40, 0.15, seed=0),
    "weighted": weighted(nx.gnp_random_graph(40, 0.15, seed=1)),
    "isolated": with_isolated_nodes(nx.gnp_random_graph(30, 0.2, seed=2), 3),
    "weighted isolated": with_isolated_nodes(weighted(nx.gnp_random_graph(30, 0.2, seed=2)), 3),
    "star": nx.star_graph(9),
    "bipartite": numbered(nx.complete_bipartite_graph(3, 7)),
    "disconnected": numbered(nx.disjoint_union(nx.complete_graph(5), nx.cycle_graph(6))),
}


def adjacency(graph: nx.Graph) -> np.ndarray:
    matrix: np.ndarray = nx.to_numpy_array(graph, nodelist=range(graph.number_of_nodes()))
    return matrix


@pytest.mark.parametrize("graph", GRAPHS.values(), ids=GRAPHS)
class TestAgainstReferences:
    def test_degree(self, graph: nx.Graph) -> None:
        assert degree(*edges_of(graph)).tolist() == adjacency(graph).sum(1).tolist()
        counts = degree(*edges_of(graph)[:2])
        assert counts.tolist() == (adjacency(graph) > 0).sum(1).tolist()

    @pytest.mark.parametrize("damping", [0.85, 0.3])
    def test_pagerank_is_networkx_s(self, graph: nx.Graph, damping: float) -> None:
        expected = values(nx.pagerank(graph, alpha=damping, tol=1e-13, max_iter=1000), graph)
        found = pagerank(*edges_of(graph), damping=damping)
        torch.testing.assert_close(found, expected, rtol=0, atol=1e-9)
        assert float(found.sum()) == pytest.approx(1, abs=1e-12)

    def test_pagerank_solves_its_equation(self, graph: nx.Graph) -> None:
        """(I - α M) p = (1 - α) / n, with the columns of isolated nodes spread over all."""
        a = adjacency(graph)
        n, sums = len(a), a.sum(0)
        m = np.where(sums > 0, a / np.where(sums > 0, sums, 1), 1 / n)
        expected = np.linalg.solve(np.eye(n) - 0.85 * m, np.full(n, 0.15 / n))
        found = pagerank(*edges_of(graph), tolerance=1e-13)
        torch.testing.assert_close(found, torch.from_numpy(expected), rtol=0, atol=1e-12)

    def test_eigenvector_centrality_is_networkx_s(self, graph: nx.Graph) -> None:
        expected = nx.eigenvector_centrality(graph, max_iter=100_000, tol=1e-13, weight="weight")
        torch.testing.assert_close(eigenvector_centrality(*edges_of(graph)), values(expected, graph), rtol=0, atol=1e-8)

    def test_eigenvector_centrality_is_the_leading_eigenvector(self, graph: nx.Graph) -> None:
        eigenvalues, vectors = np.linalg.eigh(adjacency(graph))
        leading = np.abs(vectors[:, -1])
        assert eigenvalues[-1] > eigenvalues[-2] + 0.1, "a tie has no one leading eigenvector"
        found = eigenvector_centrality(*edges_of(graph))
        torch.testing.assert_close(found, torch.from_numpy(leading), rtol=0, atol=1e-8)


@settings(max_examples=25)
@given(st.integers(0, 2**32), st.integers(2, 25), st.floats(0.02, 0.6))
def test_any_graph_has_a_pagerank(seed: int, nodes: int, density: float) -> None:
    graph = weighted(nx.gnp_random_graph(nodes, density, seed=seed % 2**31), seed)
    expected = values(nx.pagerank(graph, tol=1e-13, max_iter=1000), graph)
    torch.testing.assert_close(pagerank(*edges_of(graph)), expected, rtol=0, atol=1e-9)


@settings(max_examples=40)
@given(st.integers(0, 2**32), st.integers(2, 15), st.floats(0.05, 0.6))
def test_any_graph_has_an_eigenvector_centrality(seed: int, nodes: int, density: float) -> None:
    """Unit length, not negative and, unless there is no edge, as long as the largest eigenvalue after one product."""
    graph = weighted(nx.gnp_random_graph(nodes, density, seed=seed % 2**31), seed)
    a = adjacency(graph)
    found = eigenvector_centrality(*edges_of(graph)).numpy()
    assert np.linalg.norm(found) == pytest.approx(1)
    assert (found >= 0).all()
    assert np.linalg.norm(a @ found) == pytest.approx(np.linalg.eigvalsh(a)[-1], rel=1e-5)


def test_tied_components_share_the_centrality() -> None:
    """Two stars, both of eigenvalue 2: equal values lie as much in the eigenvector of the one as of the other."""
    star = nx.star_graph(4)
    graph = numbered(nx.disjoint_union(star, star))
    alone = values(nx.eigenvector_centrality(star, max_iter=10_000, tol=1e-13), star)
    expected = torch.cat([alone, alone]) / 2**0.5
    torch.testing.assert_close(eigenvector_centrality(*edges_of(graph)), expected, rtol=0, atol=1e-8)


@pytest.mark.parametrize("scale", [1e-6, 1e6])
def test_the_unit_of_the_weights_does_not_matter(scale: float) -> None:
    edges, nodes, weight = edges_of(GRAPHS["weighted"])
    for centrality in (pagerank, eigenvector_centrality):
        expected = centrality(edges, nodes, weight.double())
        torch.testing.assert_close(centrality(edges, nodes, scale * weight.double()), expected, rtol=0, atol=1e-9)


def test_isolated_nodes() -> None:
    edges, nodes, weight = edges_of(with_isolated_nodes(nx.star_graph(3), 2))
    assert degree(edges, nodes, weight).tolist() == [3, 1, 1, 1, 0, 0]
    assert (pagerank(edges, nodes)[4:] > 0).all()
    assert (eigenvector_centrality(edges, nodes)[4:] < 1e-9).all()


@pytest.mark.parametrize("weight", [None, torch.empty(0)])
def test_a_graph_without_edges_has_equal_nodes(weight: Tensor | None) -> None:
    none = torch.empty(2, 0, dtype=torch.int64)
    assert degree(none, 4, weight).tolist() == [0] * 4
    assert pagerank(none, 4, weight).tolist() == pytest.approx([1 / 4] * 4)
    assert eigenvector_centrality(none, 4, weight).tolist() == pytest.approx([1 / 2] * 4)
    assert all(
        len(centrality(Data(edge_index=none, num_nodes=0, edge_weight=weight))) == 0
        for centrality in CENTRALITIES.values()
    )


def test_edges_of_weight_zero_do_not_count() -> None:
    edges, nodes, weight = edges_of(nx.cycle_graph(4))
    between = (edges.sum(0) == 1) | (edges.sum(0) == 5)  # 0–1 and 2–3 stay
    weight = weight * between
    assert degree(edges, nodes, weight).tolist() == [1] * 4
    assert eigenvector_centrality(edges, nodes, 0 * weight).tolist() == pytest.approx([1 / 2] * 4)
    assert pagerank(edges, nodes, 0 * weight).tolist() == pytest.approx([1 / 4] * 4)


def test_a_nearly_tied_graph_ends_after_the_given_steps() -> None:
    edges, nodes, _ = edges_of(nx.path_graph(300))
    found = eigenvector_centrality(edges, nodes, iterations=50)
    assert float(torch.linalg.vector_norm(found)) == pytest.approx(1)
    assert float((found - eigenvector_centrality(edges, nodes, iterations=51)).abs().max()) > 1e-10
