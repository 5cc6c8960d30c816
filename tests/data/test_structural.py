"""Features of graphs that have none."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits
from torch_geometric.data import Data

from sfa.data import NodeFeatures, as_graph, build_graph, fingerprint, load, read_graph, structural
from sfa.data.structural import KINDS, degree_features, spectral_features
from sfa.errors import InputError

EDGES = np.array([[0, 0, 0, 2], [1, 2, 3, 3]])


def slow_bin(degree: int, width: int) -> int:
    """Which of the intervals 0, 1, 2, 3, 4–5, 6–7, 8–11, … a degree lies in, found by walking through them."""
    starts, step = [0, 1], 1
    while len(starts) < width:
        starts += [2 * step, 3 * step]
        step *= 2
    return max(i for i, start in enumerate(starts[:width]) if degree >= start)


@given(st.lists(st.integers(0, 300), min_size=1, max_size=8), st.integers(2, 40))
def test_degrees_are_binned_as_the_docs_say(degrees: list[int], width: int) -> None:
    rows = np.repeat(np.arange(len(degrees)), degrees)
    features = degree_features(np.stack([rows, rows]), None, len(degrees), width)
    assert features.sum(1).tolist() == [1] * len(degrees)
    assert features.argmax(1).tolist() == [slow_bin(degree, width) for degree in degrees]


def test_the_last_bin_takes_all_beyond() -> None:
    assert [slow_bin(d, 33) for d in (65_535, 65_536, 10**6)] == [31, 32, 32]
    assert degree_features(np.zeros((2, 70_000), int), None, 1, 33).argmax() == 32


def test_degrees_count_neighbours_and_not_how_often_or_how_heavy() -> None:
    edges = np.array([[0, 1, 0, 0, 2, 0], [1, 0, 1, 0, 0, 3]])
    data = build_graph(None, edges, edge_weight=[3, 5, 4, 1, 9, 2], num_nodes=5, node_features="degree")
    assert data.x.to_dense().argmax(1).tolist() == [3, 1, 1, 1, 0]


def test_random_features_are_normal_and_always_the_same() -> None:
    first, again = (build_graph(None, EDGES, num_nodes=n, node_features="random").x for n in (2000, 3000))
    assert first.shape == (2000, 64)
    assert torch.equal(first, again[:2000])
    assert abs(float(first.mean())) < 0.02
    assert abs(float(first.std()) - 1) < 0.02
    assert len({tuple(row) for row in first.tolist()}) == 2000


@pytest.mark.parametrize("kind", KINDS)
def test_every_way_in_gives_the_same_graph(kind: str, tmp_path: Path) -> None:
    """Node 4 is isolated; every source but the edge list says that it is there."""
    wanted = build_graph(None, EDGES, num_nodes=5, node_features=kind)
    adjacency = np.zeros((5, 5))
    adjacency[tuple(EDGES)] = 1
    net = nx.empty_graph(5)
    net.add_edges_from(EDGES.T.tolist())
    nx.write_gml(net, tmp_path / "g.gml")
    np.savez(tmp_path / "g.npz", edge_index=EDGES, node_ids=range(5))
    torch.save(Data(edge_index=torch.tensor(EDGES), num_nodes=5), tmp_path / "g.pt")
    (tmp_path / "g.csv").write_text("source,target\n3,2\n0,3\n0,2\n1,0\n")
    (tmp_path / "labels.csv").write_text("id,label\n4,\n")
    graphs = [
        as_graph((None, adjacency), node_features=kind),
        as_graph(net, node_features=kind),
        as_graph(Data(edge_index=torch.tensor(EDGES), num_nodes=5), node_features=kind),
        read_graph(tmp_path / "g.gml", node_features=kind),
        read_graph(tmp_path / "g.npz", node_features=kind),
        read_graph(tmp_path / "g.pt", node_features=kind),
        load(tmp_path / "g.csv", labels=tmp_path / "labels.csv", node_features=kind),
    ]
    assert {fingerprint(graph) for graph in graphs} == {fingerprint(wanted)}
    assert all(graph.node_ids == [0, 1, 2, 3, 4] for graph in graphs)
    four = [
        as_graph((None, EDGES), node_features=kind),
        as_graph(Data(edge_index=torch.tensor(EDGES)), node_features=kind),
        load(tmp_path / "g.csv", node_features=kind),
    ]
    assert [graph.num_nodes for graph in four] == [4, 4, 4]


def test_how_many_nodes_there_are_is_what_the_first_of_many_things_says() -> None:
    def count(**given: Any) -> int:
        return int(build_graph(None, EDGES, node_features="degree", **given).num_nodes)

    assert count() == 4
    assert count(y=[0] * 5) == 5
    assert count(node_ids=list("abcdef")) == 6
    assert count(num_nodes=7) == 7


@pytest.mark.parametrize(
    ("header", "rows"),
    [
        ("", "b,a\na,c\n"),
        ("source,target\n", "b,a\na,c\n"),
        ("", "b,a,1\na,c,1\n"),
        ("who,whom,weight\n", "b,a,1\na,c,1\n"),
        ("who,whom,how much\n", "b,a,1\na,c,1\n"),
    ],
)
def test_nodes_named_by_text_come_in_the_order_of_their_edges(header: str, rows: str, tmp_path: Path) -> None:
    (tmp_path / "e.csv").write_text(header + rows)
    graph = read_graph(tmp_path / "e.csv", node_features="degree")
    assert graph.node_ids == ["b", "a", "c"]
    assert graph.edge_index.tolist() == [[0, 1, 1, 2], [1, 0, 2, 1]]


@pytest.mark.parametrize("header", ["", "paper,cites\n", "u,v\n"])
def test_nodes_named_by_numbers_come_in_ascending_order(header: str, tmp_path: Path) -> None:
    (tmp_path / "e.csv").write_text(header + "30,7\n7,100\n")
    (tmp_path / "labels.csv").write_text("8,x\n30,y\n")
    graph = read_graph(tmp_path / "e.csv", labels=tmp_path / "labels.csv", node_features="degree")
    assert graph.node_ids == [7, 8, 30, 100]
    assert graph.edge_index.tolist() == [[0, 0, 2, 3], [2, 3, 0, 0]]
    assert graph.y.tolist() == [-1, 0, 1, -1]


def test_a_first_row_that_may_be_either_is_asked_about(tmp_path: Path) -> None:
    (tmp_path / "e.csv").write_text("who,whom\nann,bob\nbob,cat\n")
    with pytest.raises(InputError, match="'who' and 'whom', which"):
        read_graph(tmp_path / "e.csv", node_features="degree")


def test_a_width_is_part_of_the_name() -> None:
    assert str(NodeFeatures.parse("degree")) == "degree features, 33 columns"
    assert str(NodeFeatures.parse("spectral:7")) == "spectral features, 7 columns"
    assert build_graph(None, EDGES, node_features="random:3").x.shape == (4, 3)


@pytest.mark.parametrize("text", ["spectral:", "random:1", "random:-4", "degree:many", "random:2.5", "random:99999999"])
def test_a_width_that_is_none_is_said(text: str) -> None:
    with pytest.raises(InputError, match=f"'{text}' have no usable width.*2 to 65536"):
        NodeFeatures.parse(text)


def test_what_is_missing_or_too_much_is_said(tmp_path: Path) -> None:
    edges = torch.tensor(EDGES)
    (tmp_path / "e.csv").write_text("a,b\nb,c\n")
    np.savez(tmp_path / "g.npz", edge_index=EDGES)
    cases: list[tuple[Any, str]] = [
        (lambda: build_graph(None, EDGES), "no node features.*node_features='degree'.*--node-features"),
        (lambda: as_graph(Data(edge_index=edges)), "no node features.*data.x.*node_features='degree'"),
        (lambda: as_graph((None, EDGES)), "no node features.*X of a pair.*node_features='degree'"),
        (lambda: as_graph((None, None), node_features="degree"), "None for the adjacency A"),
        (
            lambda: as_graph((None, np.ones((3, 4))), node_features="degree"),
            r"shape \[3, 4\], but it must be .*\[n, n\]",
        ),
        (lambda: as_graph(nx.path_graph(3)), "no node features.*set_node_attributes.*node_features='degree'"),
        (lambda: read_graph(tmp_path / "e.csv"), "no node features.*edge list.*node_features='degree'"),
        (lambda: read_graph(tmp_path / "g.npz"), "no node features.*node_features='degree'"),
        (lambda: build_graph(np.eye(4), EDGES, node_features="degree"), "features already.*leave out node_features"),
        (lambda: load("cora", node_features="degree"), "cora has its own features"),
        (lambda: build_graph(None, EDGES, node_features="degre"), "Unknown kind of node features 'degre'.*'degree'"),
        (lambda: build_graph(None, EDGES, num_nodes=1, node_features="degree"), "has 1 node; at least 2"),
        (lambda: build_graph(None, EDGES, num_nodes=3, node_features="degree"), "node 3, but there are 3 nodes"),
    ]
    for call, says in cases:
        with pytest.raises(InputError, match=says) as caught:
            call()
        assert "\n" not in str(caught.value)


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
    monkeypatch.setattr(structural, "DENSE_NODES", 1000 if request.param == "all at once" else 1)


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
