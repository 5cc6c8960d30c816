"""Propagate against a dense computation, on other graphs, and as a run without training."""

from __future__ import annotations

import copy
import math
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch_geometric.data import Data

import sfa
from sfa.data import build_graph
from sfa.errors import InputError
from sfa.evaluate.baselines import propagated_features
from sfa.methods.propagate import Propagate, weighting_of
from sfa.run import Recipe, embed_run, evaluate_run, open_run, report_run, train_run
from sfa.train import LambdaCallback, RunFolder, train
from tests.cases import each


def graph_of(n: int = 40, d: int = 12, *, seed: int = 0, directed: bool = False) -> Data:
    generator = torch.Generator().manual_seed(seed)
    x = (torch.rand(n, d, generator=generator) < 0.3).float() * torch.randint(1, 4, (n, d), generator=generator)
    x[:, 0] = 0
    x[3] = 0
    graph = build_graph(x, torch.randint(n, (2, 2 * n), generator=generator))
    if directed:
        graph.directed = True
        graph.edge_weight = 0.1 + torch.rand(graph.num_edges, generator=generator)
    return graph


def dense_adjacency(graph: Data) -> Tensor:
    a = torch.eye(graph.num_nodes, dtype=torch.float64)
    weight = graph.get("edge_weight")
    source, target = graph.edge_index
    a[target, source] = torch.ones(len(source)).double() if weight is None else weight.double()
    scale = a.sum(1).rsqrt()
    return scale[:, None] * a * scale


def dense_blocks(graph: Data, weighting: str, hops: int, alpha: float, like: Data | None = None) -> Tensor:
    """All blocks written out, with the weights of another graph's features if that is given."""
    seen, x = (like or graph).x.to_dense().double(), graph.x.to_dense().double()
    if weighting == "idf":
        x = x * (len(seen) / (seen != 0).sum(0).clamp(min=1)).log()
    if weighting == "standard":
        deviation = seen.std(0, correction=0)
        x = (x - seen.mean(0)) / deviation.where(deviation > 0, torch.inf)
    a = dense_adjacency(graph)
    blocks = [torch.linalg.matrix_power(a, hop) @ x for hop in range(hops + 1)]
    if alpha:
        steps = [alpha * (1 - alpha) ** k * torch.linalg.matrix_power(a, k) for k in range(10)]
        blocks.append((sum(steps) + (1 - alpha) ** 10 * torch.linalg.matrix_power(a, 10)) @ x)
    return torch.cat([nn.functional.normalize(block) for block in blocks], dim=1)


def fitted(graph: Data, **options: Any) -> Propagate:
    method = Propagate(graph.num_features, **options).double()
    method.before_training(graph)
    return method


def sparse(graph: Data) -> Data:
    changed = copy.copy(graph)
    changed.x = graph.x.to_sparse_csr()
    return changed


@each("weighting", ["idf", "standard", "none"])
@each(("hops", "alpha"), [(2, 0.1), (0, 0.0), (3, 0.0), (0, 0.5)])
@each("power", [0.0, 1.0, 2.0])
@each("directed", [False, True])
def test_embeddings_are_those_of_a_dense_decomposition(
    weighting: Any, hops: int, alpha: float, power: float, directed: bool
) -> None:
    graph = graph_of(directed=directed)
    options: dict[str, Any] = {"weighting": weighting, "hops": hops, "alpha": alpha, "power": power}
    z = fitted(graph, hidden=6, drop_leading=2, iterations=60, **options).embed(graph)
    u, sigma, _ = torch.linalg.svd(dense_blocks(graph, weighting, hops, alpha), full_matrices=False)
    expected = (u * (sigma / sigma[2]) ** power * sigma[2])[:, 2:8]
    sign = (z * expected).sum(0).sign()
    torch.testing.assert_close(z, sign * expected, rtol=0, atol=1e-5)


@each("weighting", ["idf", "standard", "none"])
def test_sparse_features_and_chunks_of_columns_change_nothing(weighting: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = graph_of()
    expected = fitted(graph, hidden=6, weighting=weighting)
    monkeypatch.setattr("sfa.matrices.CHUNK_BYTES", 4 * 40 * 5)  # 5 columns
    for other in (graph, sparse(graph)):
        method = fitted(other, hidden=6, weighting=weighting)
        torch.testing.assert_close(method.projection, expected.projection)
        torch.testing.assert_close(method.embed(other), expected.embed(graph))


def test_another_graph_is_projected_as_the_first() -> None:
    """Weights, directions and singular values are those of the graph that was looked at."""
    graph, other = graph_of(), graph_of(25, seed=5)
    method = fitted(graph, hidden=6, drop_leading=1, power=2.0, iterations=60)
    _, sigma, v = torch.linalg.svd(dense_blocks(graph, "idf", 2, 0.1), full_matrices=False)
    expected = dense_blocks(other, "idf", 2, 0.1, like=graph) @ (v[1:7].mT * sigma[1:7] / sigma[1])
    z = method.embed(other)
    torch.testing.assert_close(z, (z * expected).sum(0).sign() * expected, rtol=0, atol=1e-5)


def test_without_pagerank_and_reduction_it_is_the_baseline_of_propagated_features() -> None:
    graph = graph_of()
    options: dict[str, Any] = {"weighting": "none", "alpha": 0.0, "power": 1.0, "drop_leading": 0}
    z, expected = fitted(graph, hidden=36, **options).embed(graph), propagated_features(graph).double()
    torch.testing.assert_close(z @ z.T, expected @ expected.T, rtol=0, atol=1e-5)


@each(
    ("x", "expected"),
    [
        (torch.eye(4), "idf"),
        (3 * torch.eye(4), "idf"),
        (torch.eye(4).to_sparse_csr(), "idf"),
        (0.3 * torch.eye(4), "none"),
        (0.3 * torch.eye(4).to_sparse_csr(), "none"),
        (-torch.eye(4), "standard"),
        (torch.arange(8.0).view(4, 2), "standard"),
    ],
)
def test_weights_and_directions_to_drop_by_the_data(x: Tensor, expected: Any) -> None:
    assert weighting_of(x) == expected
    graph = build_graph(x.to_dense(), torch.tensor([[0, 1, 2], [1, 2, 3]]))
    by_hand = fitted(graph, hidden=2, weighting=expected, drop_leading=int(expected == "idf"))
    assert torch.equal(fitted(graph, hidden=2).projection, by_hand.projection)
    said = {"idf": "inverse document frequency", "standard": "columns standardized", "none": "one length"}[expected]
    assert said in by_hand.describe_weights(graph)


def test_columns_beyond_the_rank_are_zero() -> None:
    graph = graph_of(5, 3)
    z = fitted(graph, hidden=20, power=0.5).embed(graph)
    assert z.shape == (5, 20)
    assert z.isfinite().all()
    assert (z[:, 4:] == 0).all()
    empty = build_graph(torch.zeros(4, 3), torch.tensor([[0], [1]]))
    assert (fitted(empty, hidden=2).embed(empty) == 0).all()


def test_scales_that_do_not_square() -> None:
    graph, huge = graph_of(), graph_of()
    huge.x = 1e30 * huge.x
    methods = [Propagate(graph.num_features, hidden=4) for _ in range(2)]
    for method, one in zip(methods, (graph, huge), strict=True):
        method.before_training(one)
    torch.testing.assert_close(methods[1].embed(huge), methods[0].embed(graph), rtol=0, atol=1e-3)


def test_the_loss_is_nothing_and_weights_there_are_none() -> None:
    method = fitted(graph_of(), hidden=4)
    assert method(graph_of()) == 0
    assert not list(method.parameters())


@each(
    ("options", "message"),
    [
        ({"hidden": 0}, "hidden must be a whole number, 1 or more, not 0."),
        ({"hops": -1}, "hops must be a whole number, 0 or more, not -1."),
        ({"power": math.inf}, "power must be a number, 0 or more, not inf."),
        ({"alpha": 1.5}, "alpha must be a number, 0 or more and at most 1, not 1.5."),
    ],
)
def test_what_cannot_be_is_refused_in_a_sentence(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as error:
        Propagate(3, **options)
    assert str(error.value) == message


class TestWithoutTraining:
    def test_the_loop_calls_the_ends_alone_and_a_finished_run_stays(self, tmp_path: Path) -> None:
        graph, method = graph_of(), Propagate(12, hidden=4)
        folder = RunFolder.create(tmp_path / "run", {}, {})
        called: list[str] = []
        names = ("on_train_start", "on_step_start", "on_epoch_end", "on_train_end")
        hooks = LambdaCallback(**{name: lambda _, name=name: called.append(name) for name in names})
        progress = train(method, graph, epochs=3, folder=folder, callbacks=[hooks], restore_best=True)
        assert called == ["on_train_start", "on_train_end"]
        assert (progress.finished, progress.epoch) == (True, 3)
        assert folder.read_metrics() == []

        other = Propagate(12, hidden=4)
        again = train(other, graph_of(seed=9), epochs=3, folder=folder, resume=True, callbacks=[hooks])
        assert again == progress
        assert len(called) == 2
        assert torch.equal(other.projection, method.projection)

    def test_runs_are_scored_embedded_resumed_and_shown(self, tmp_path: Path, planted: Data) -> None:
        run = train_run(planted, method="propagate", hidden=5, out=tmp_path / "run", report=True)
        assert run.name == "propagate"
        assert run.recipe.encoder is None
        assert run.scores is not None
        names = [score.name for score in run.scores.of["honest-10-10-80"]]
        assert names == ["raw features", "propagated features", "propagate"]
        opened = open_run(tmp_path / "run", data=planted)
        assert torch.equal(opened.method.embed(opened.data), run.method.embed(run.data))
        assert embed_run(opened).z.shape == (60, 5)
        assert len(evaluate_run(opened, protocol=["clustering"]).of["clustering"]) == 3
        assert report_run(opened, out=tmp_path / "page.html")
        assert "epochs" in repr(opened)
        assert opened._repr_html_()

    def test_an_embedder_keeps_the_projection(self, tmp_path: Path) -> None:
        graph, other = graph_of(), graph_of(25, seed=5)
        embedder = sfa.NodeEmbedder("propagate", hidden=6, random_state=0).fit(graph)
        assert embedder.history_ == []
        embedder.save(tmp_path / "kept.safetensors")
        loaded = sfa.NodeEmbedder.load(tmp_path / "kept.safetensors")
        for one in (graph, other):
            assert (loaded.transform(one) == embedder.transform(one)).all()
        as_object = sfa.NodeEmbedder(Propagate(12, hidden=6)).fit(graph)
        assert (as_object.embedding_ == embedder.embedding_).all()

    def test_the_features_are_those_of_the_recipe(self) -> None:
        """The method looks at the data as they are embedded, not as they were read."""
        graph = graph_of()
        recipe = Recipe.parse({"method": {"name": "propagate", "hidden": 4}, "feature_norm": "row"})
        method, prepared = recipe.build_for(graph), recipe.prepare(graph)
        train(method, prepared)
        expected = Propagate(12, hidden=4)
        expected.before_training(prepared)
        assert torch.equal(method.projection, expected.projection)

    @each(
        ("given", "message"),
        [
            ({"encoder": "gcn"}, "propagate learns nothing and has no encoder: leave out encoder."),
            ({"augmentation": "uniform"}, "propagate makes no views of its data: leave out augmentation."),
            ({"sampler": "neighbours"}, "propagate works with the sampler whole, not with neighbours."),
        ],
    )
    def test_parts_that_only_training_has_are_refused(self, given: dict[str, Any], message: str) -> None:
        with pytest.raises(InputError) as error:
            Recipe.parse({"method": "propagate", **given})
        assert str(error.value) == message

    def test_spectral_maps_act_in_training_and_so_there_is_none(self) -> None:
        assert Recipe.parse({"method": "propagate", "spectral": "sfa"}).spectral == {"name": "none"}
        assert Recipe.parse({"method": "grace"}).updated({"method.name": "propagate"}).spectral_name == "none"
