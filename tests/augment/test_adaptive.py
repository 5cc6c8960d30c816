"""GCA's adaptive views against its formulas, node by node and edge by edge."""

from __future__ import annotations

import gc
import math
import warnings
from collections.abc import Callable
from typing import Any, get_args
from unittest.mock import patch

import networkx as nx
import pytest
import torch
from torch import Tensor
from torch_geometric.data import Data

from sfa.augment import adaptive as module
from sfa.augment.adaptive import CENTRALITIES, AdaptiveDrop, Centrality, Importance, edge_weights, feature_weights
from sfa.augment.node import UniformDrop
from sfa.data import build_graph
from sfa.errors import InputError


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def make(graph: nx.Graph, x: Tensor | None = None) -> Data:
    x = torch.rand(graph.number_of_nodes(), 7, generator=seeded()) if x is None else x
    edges = list(graph.edges(data="weight", default=1.0))
    index = torch.tensor([[a, b] for a, b, _ in edges]).T
    return build_graph(x.numpy(), index.numpy(), edge_weight=[w for *_, w in edges])


@pytest.fixture
def graph() -> Data:
    return make(nx.barabasi_albert_graph(60, 3, seed=0))


def to_csr(x: Tensor) -> Tensor:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return x.to_sparse_csr()


def adaptive_views(
    graph: Data,
    edge_drop: tuple[float, float],
    feature_drop: tuple[float, float],
    generator: torch.Generator | None = None,
    **options: Any,
) -> tuple[Data, Data]:
    return AdaptiveDrop(edge_drop, feature_drop, **options)(graph, generator)


def slow_importance(phi: Any, edge_index: Tensor, importance: Importance) -> list[float]:
    """``s`` of each edge: the authors' logarithm of the sink's centrality, or that of both nodes."""
    edges = [(float(phi[a]), float(phi[b])) for a, b in edge_index.T.tolist()]
    if importance == "sink":
        return [math.log(sink) for _, sink in edges]
    return [math.log(1 + (source + sink) / 2) for source, sink in edges]


def slow_rates(s: list[float], rate: float, cut_off: float) -> list[float]:
    mean = sum(s) / len(s)
    return [min((max(s) - one) / (max(s) - mean) * rate, cut_off) for one in s]


IMPORTANCES = pytest.mark.parametrize("importance", get_args(Importance))


def rates_given(graph: Data, *args: Any, **options: Any) -> list[tuple[Any, Any]]:
    """The rates of edges and of features that views alpha and beta are drawn with."""
    given: list[tuple[Any, Any]] = []

    def note(data: Data, edge_drop: Any, feature_drop: Any, generator: Any, *, directed: bool) -> Data:
        given.append((edge_drop, feature_drop))
        return data

    with patch.object(module, "random_view", note):
        adaptive_views(graph, *args, seeded(), **options)
    return given


class TestEdgeWeights:
    @IMPORTANCES
    def test_equal_the_formula(self, graph: Data, importance: Importance) -> None:
        phi = 0.1 + torch.rand(60, generator=seeded(1), dtype=torch.float64)
        s = slow_importance(phi, graph.edge_index, importance)
        weights = edge_weights(graph.edge_index, phi, importance)
        assert weights.tolist() == pytest.approx(slow_rates(s, 1, math.inf), rel=1e-6)

    def test_of_the_sink_equal_the_code_of_the_authors(self, graph: Data) -> None:
        """``degree_drop_weights`` and ``drop_edge_weighted`` of GCA, line by line, with lists for tensors."""
        degrees = [0] * 60
        for _, b in graph.edge_index.T.tolist():
            degrees[b] += 1
        s_col = [math.log(degrees[b]) for _, b in graph.edge_index.T.tolist()]
        s_max, s_mean = max(s_col), sum(s_col) / len(s_col)
        weights = [(s_max - s) / (s_max - s_mean) for s in s_col]
        phi = CENTRALITIES["degree"](graph)
        assert edge_weights(graph.edge_index, phi, "sink").tolist() == pytest.approx(weights, abs=1e-6)
        mean = sum(weights) / len(weights)
        rates = [min(weight / mean * 0.4, 0.7) for weight in weights]
        assert max(rates) == 0.7, "some are cut off"
        given = rates_given(graph, (0.4, 0.4), (0.0, 0.0))
        assert given[0][0].tolist() == pytest.approx(rates, abs=1e-6)

    def test_of_the_sink_differ_between_the_directions(self) -> None:
        """Of a star, the edges to the hub never go, and those to the leaves always do at twice the mean rate."""
        star = make(nx.star_graph(5))
        phi = CENTRALITIES["degree"](star)
        to_hub = star.edge_index[1] == 0
        weights = edge_weights(star.edge_index, phi, "sink")
        assert weights[to_hub].tolist() == [0] * 5
        assert weights[~to_hub].tolist() == pytest.approx([2] * 5)
        assert edge_weights(star.edge_index, phi, "mean").tolist() == [1] * 10
        view = AdaptiveDrop((0.5, 0.5), (0.0, 0.0), cut_off=1.0).view(star)
        assert torch.equal(view.edge_weight, to_hub.float())
        assert view.directed

    def test_of_both_nodes_are_those_from_before(self, graph: Data) -> None:
        """``edge_weights`` of ``sfa.graph.adaptive_views``, which had no directions."""
        phi = torch.rand(60, generator=seeded(1), dtype=torch.float64)
        s = torch.log1p((phi[graph.edge_index[0]] + phi[graph.edge_index[1]]) / 2)
        below = s.max() - s
        assert torch.equal(edge_weights(graph.edge_index, phi, "mean"), below / below.mean())

    @IMPORTANCES
    def test_the_most_important_edge_never_goes_and_the_mean_is_one(self, graph: Data, importance: Importance) -> None:
        phi = torch.rand(60, generator=seeded(1), dtype=torch.float64)
        weights = edge_weights(graph.edge_index, phi, importance)
        assert float(weights.mean()) == pytest.approx(1)
        source, sink = phi[graph.edge_index]
        important = (sink if importance == "sink" else source + sink).argmax()
        assert weights[important] == 0

    @IMPORTANCES
    @pytest.mark.parametrize("task", [0.0, 0.3, 1.0, 1e9])
    def test_equal_centralities_give_equal_rates(self, graph: Data, task: float, importance: Importance) -> None:
        phi = torch.full((60,), task, dtype=torch.float64)
        assert edge_weights(graph.edge_index, phi, importance).tolist() == [1] * graph.num_edges
        noise = 1e-14 * task * torch.rand(60, generator=seeded(), dtype=torch.float64)
        assert edge_weights(graph.edge_index, phi + noise, importance).tolist() == [1] * graph.num_edges

    @IMPORTANCES
    def test_no_edges(self, importance: Importance) -> None:
        assert edge_weights(torch.empty(2, 0, dtype=torch.int64), torch.ones(3), importance).shape == (0,)

    def test_nodes_without_centrality(self, graph: Data) -> None:
        """The logarithm of 0 is not taken: those of eigenvectors may be 0."""
        phi = torch.rand(60, generator=seeded(1), dtype=torch.float64)
        phi[:30] = 0
        weights = edge_weights(graph.edge_index, phi, "sink")
        assert weights.isfinite().all()
        assert bool((weights[phi[graph.edge_index[1]] == 0] == weights.max()).all())


class TestFeatureWeights:
    def test_sparse_features_count_nodes_that_have_them(self) -> None:
        """Whatever their scale, and stored as zeros or not at all."""
        x = torch.rand(50, 9, generator=seeded()) * (torch.rand(50, 9, generator=seeded(1)) < 0.3)
        phi = 3 * torch.rand(50, generator=seeded(2), dtype=torch.float64)
        s = [math.log(1 + sum(float(phi[u]) for u in range(50) if x[u, i] != 0)) for i in range(9)]
        expected = pytest.approx(slow_rates(s, 1, math.inf))
        assert feature_weights(x, phi).tolist() == expected
        assert feature_weights(-5 * x, phi).tolist() == expected
        with_stored_zeros = x.clone()
        with_stored_zeros[x == 0] = 7
        stored = to_csr(with_stored_zeros)
        stored.values()[stored.values() == 7] = 0
        for csr in (to_csr(x), stored):
            assert feature_weights(csr, phi).tolist() == expected

    @pytest.mark.parametrize("layout", [torch.strided, torch.sparse_csr], ids=str)
    def test_dense_features_count_with_their_absolute_values(self, layout: torch.layout) -> None:
        x = torch.randn(50, 9, generator=seeded()) * torch.linspace(0.1, 3, 9)
        phi = 3 * torch.rand(50, generator=seeded(2), dtype=torch.float64)
        s = [math.log(1 + sum(abs(float(x[u, i])) * float(phi[u]) for u in range(50))) for i in range(9)]
        stored = x if layout == torch.strided else to_csr(x)
        assert feature_weights(stored, phi).tolist() == pytest.approx(slow_rates(s, 1, math.inf))

    def test_rows_are_read_in_chunks(self) -> None:
        x, phi = torch.rand(50, 9, generator=seeded()), torch.rand(50, generator=seeded(2), dtype=torch.float64)
        expected = feature_weights(x, phi)
        with patch("sfa.matrices.CHUNK_BYTES", 4 * 9 * 7):
            torch.testing.assert_close(feature_weights(x, phi), expected)

    def test_features_that_are_all_alike_have_equal_rates(self) -> None:
        assert feature_weights(torch.ones(5, 4), torch.rand(5, dtype=torch.float64)).tolist() == [1] * 4
        assert feature_weights(torch.zeros(5, 4), torch.rand(5, dtype=torch.float64)).tolist() == [1] * 4


@IMPORTANCES
@pytest.mark.parametrize("centrality", CENTRALITIES)
def test_the_rates_equal_the_formula(centrality: Centrality, importance: Importance) -> None:
    """With NetworkX's centralities, cut off at 0.45."""
    nxg = nx.barabasi_albert_graph(25, 2, seed=0)
    x = (torch.rand(25, 8, generator=seeded()) < torch.linspace(0.05, 0.6, 8)).float()
    graph = make(nxg, x)
    options = {"centrality": centrality, "cut_off": 0.45, "importance": importance}
    alpha, beta = rates_given(graph, (0.1, 0.4), (0.2, 0.3), **options)
    phi = {
        "degree": lambda: dict(nxg.degree()),
        "pagerank": lambda: {node: 25 * share for node, share in nx.pagerank(nxg, tol=1e-12).items()},
        "eigenvector": lambda: nx.eigenvector_centrality(nxg, max_iter=10_000, tol=1e-12),
    }[centrality]()
    s = slow_importance(phi, graph.edge_index, importance)
    for (rates, _), rate in ((alpha, 0.1), (beta, 0.4)):
        assert rates.tolist() == pytest.approx(slow_rates(s, rate, 0.45), abs=1e-6)
    s = [math.log(1 + sum(phi[u] for u in range(25) if x[u, i] != 0)) for i in range(8)]
    for (_, rates), rate in ((alpha, 0.2), (beta, 0.3)):
        assert rates.tolist() == pytest.approx(slow_rates(s, rate, 0.45), abs=1e-6)
    assert beta[0].max() == beta[1].max() == pytest.approx(0.45)


@IMPORTANCES
def test_edges_and_features_go_at_their_rates(graph: Data, importance: Importance) -> None:
    generator, augmentation = seeded(7), AdaptiveDrop((0.1, 0.4), (0.2, 0.3), importance=importance)
    phi = CENTRALITIES["degree"](graph)
    edges, features = torch.zeros(graph.num_edges), torch.zeros(graph.num_features)
    for _ in range(400):
        beta = augmentation.view(graph, generator, 1)
        edges += (beta.edge_weight == 0) / 400
        features += ~beta.feature_mask / 400
    rates = (0.4 * edge_weights(graph.edge_index, phi, importance)).clamp_max(0.7)
    assert edges.tolist() == pytest.approx(rates.tolist(), abs=0.11)
    assert float((edges - rates).mean()) == pytest.approx(0, abs=0.01)
    assert features.tolist() == pytest.approx((0.3 * feature_weights(graph.x, phi)).clamp_max(0.7).tolist(), abs=0.11)


@IMPORTANCES
def test_a_regular_graph_has_uniform_views(importance: Importance) -> None:
    graph = make(nx.random_regular_graph(4, 30, seed=0), torch.ones(30, 50))
    for centrality in CENTRALITIES:
        for drawn, expected in zip(
            adaptive_views(graph, (0.2, 0.9), (0.3, 0.8), seeded(3), centrality=centrality, importance=importance),
            UniformDrop((0.2, 0.7), (0.3, 0.7), directed=importance == "sink")(graph, seeded(3)),
            strict=True,
        ):
            assert torch.equal(drawn.edge_weight, expected.edge_weight)
            assert torch.equal(drawn.feature_mask, expected.feature_mask)


@IMPORTANCES
def test_views_share_their_graph_and_keep_weights(importance: Importance) -> None:
    nxg = nx.barabasi_albert_graph(60, 3, seed=0)
    for number, (_, _, data) in enumerate(nxg.edges(data=True)):
        data["weight"] = 1 + number % 3
    graph = make(nxg)
    views = adaptive_views(graph, (0.3, 0.5), (0.2, 0.4), seeded(), importance=importance)
    assert not torch.equal(views[0].edge_weight, views[1].edge_weight)
    for view in views:
        assert view.x is graph.x
        assert view.edge_index is graph.edge_index
        dense = torch.sparse_coo_tensor(view.edge_index, view.edge_weight, (60, 60), check_invariants=False).to_dense()
        assert torch.equal(dense, dense.T) == (importance == "mean")
        assert bool(view.get("directed")) == (importance == "sink")
        kept = view.edge_weight > 0
        assert 0 < int(kept.sum()) < graph.num_edges
        assert torch.equal(view.edge_weight[kept], graph.edge_weight[kept])


def test_rates_of_zero_leave_the_graph_whole(graph: Data) -> None:
    for view in adaptive_views(graph, (0.0, 0.0), (0.0, 0.0), seeded()):
        assert view.edge_weight is None
        assert view.get("feature_mask") is None


def counted(name: str) -> tuple[list[None], Callable[..., Tensor]]:
    calls: list[None] = []
    real = getattr(module, name)

    def count(*args: Tensor) -> Tensor:
        calls.append(None)
        return real(*args)  # type: ignore[no-any-return]

    return calls, count


class TestMemory:
    def test_importance_is_worked_out_once_for_a_graph(self, graph: Data, monkeypatch: pytest.MonkeyPatch) -> None:
        calls, count = counted("edge_weights")
        monkeypatch.setattr(module, "edge_weights", count)
        for seed in range(3):
            adaptive_views(graph, (0.3, 0.5), (0.2, 0.4), seeded(seed))
        assert len(calls) == 1

    @pytest.mark.parametrize("change", ["centrality", "importance", "x", "x in place", "weight", "edges in place"])
    def test_and_anew_when_anything_has_changed(
        self, graph: Data, change: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        calls, count = counted("edge_weights")
        monkeypatch.setattr(module, "edge_weights", count)
        centrality: Centrality = "pagerank" if change == "centrality" else "degree"
        adaptive_views(graph, (0.3, 0.5), (0.2, 0.4), seeded())
        if change == "x":
            graph.x = graph.x.clone()
        elif change == "x in place":
            graph.x[0, 0] += 1
        elif change == "weight":
            graph.edge_weight = torch.ones(graph.num_edges)
        elif change == "edges in place":
            graph.edge_index.copy_(graph.edge_index.clone())
        importance = "mean" if change == "importance" else "sink"
        adaptive_views(graph, (0.3, 0.5), (0.2, 0.4), seeded(), centrality=centrality, importance=importance)
        assert len(calls) == 2

    def test_a_graph_that_is_gone_is_forgotten(self) -> None:
        graph = make(nx.cycle_graph(9))
        before = len(module._WEIGHTS._known)
        adaptive_views(graph, (0.3, 0.5), (0.2, 0.4), seeded())
        assert len(module._WEIGHTS._known) == before + 1
        del graph
        gc.collect()
        assert len(module._WEIGHTS._known) == before

    def test_tensors_made_in_inference_mode_are_taken(self) -> None:
        with torch.inference_mode():
            graph = make(nx.barabasi_albert_graph(20, 2, seed=0))
            graph.x = graph.x + 1
        alpha, _ = adaptive_views(graph, (0.3, 0.5), (0.2, 0.4), seeded())
        assert 0 < int((alpha.edge_weight == 0).sum()) < graph.num_edges


def test_wrong_values_are_refused(graph: Data) -> None:
    with pytest.raises(InputError, match="number, 0 or more"):
        adaptive_views(graph, (0.1, 0.1), (0.1, 0.1), cut_off=1.2)
    with pytest.raises(InputError, match="did you mean 'sink'"):
        AdaptiveDrop(importance="sinks")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="did you mean 'pagerank'"):
        adaptive_views(graph, (0.1, 0.1), (0.1, 0.1), centrality="pagerang")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="edge_drop"):
        adaptive_views(graph, (-0.1, 0.1), (0.1, 0.1))
    with pytest.raises(InputError, match="edge_drop is a probability"):
        adaptive_views(graph, (0.1, 1.5), (0.1, 0.1))
    with pytest.raises(InputError, match="feature_drop"):
        adaptive_views(graph, (0.1, 0.1), (0.1, float("nan")))
