"""What a run tells of itself without labels: a table beside features, and sentences about what looks wrong."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from torch_geometric.data import Data

from sfa.data import build_graph
from sfa.evaluate.health import AUC, NEAR, RANK, measure_health
from sfa.run import evaluate_run, open_run, train_run
from sfa.run.health import Health

TINY: dict[str, Any] = {"hidden": 8, "epochs": 3}


@pytest.fixture
def bare() -> Data:
    """Two communities of 100 nodes, whose features tell little of them, without labels."""
    rng = np.random.default_rng(0)
    side = np.arange(200) % 2
    linked = rng.random((200, 200)) < np.where(side[:, None] == side, 0.1, 0.005)
    x = rng.standard_normal((200, 16)) + 0.3 * side[:, None]
    return build_graph(x, np.stack(np.triu(linked, 1).nonzero()), name="bare")


@pytest.fixture
def bare_file(bare: Data, tmp_path: Path) -> Path:
    np.savez(tmp_path / "bare.npz", x=bare.x.numpy(), edge_index=bare.edge_index.numpy())
    return tmp_path / "bare.npz"


@pytest.fixture(autouse=True)
def workplace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_the_neighbors_among_the_nearest_are_those_of_a_slow_search(bare: Data) -> None:
    z = torch.randn(200, 4, generator=torch.Generator().manual_seed(1))
    table, _alike, _links, most = measure_health(lambda graph: z, bare, hide=False)
    joined = set(zip(*bare.edge_index.tolist(), strict=True))
    cosine = torch.cosine_similarity(z[:, None], z, dim=2).fill_diagonal_(-2)
    degree = [sum((i, j) in joined for j in range(200)) for i in range(200)]
    hits = [
        sum((i, int(j)) in joined for j in cosine[i].argsort(descending=True)[:10]) for i in range(200) if degree[i]
    ]
    assert table.loc["embedding", NEAR] == pytest.approx(10 * np.mean(hits))
    assert table.loc["random embedding", NEAR] == pytest.approx(100 * np.mean([d for d in degree if d]) / 199)
    assert most == pytest.approx(10 * np.mean([min(d, 10) for d in degree if d]))
    assert math.isnan(table.loc["embedding", AUC])


def test_the_graph_that_is_embedded_lacks_the_links_of_the_auc(bare: Data) -> None:
    seen: list[Data] = []

    def side(graph: Data) -> torch.Tensor:
        seen.append(graph)
        return torch.eye(2)[torch.arange(200) % 2] + 1e-6

    table, _alike, links, _most = measure_health(side, bare)
    edges = bare.num_edges // 2
    assert seen[0].num_edges // 2 == edges - links
    assert links == pytest.approx(0.1 * edges, abs=1)
    within = 0.1 / 0.105  # share of the links that stay on one side; half of the other pairs do
    assert table.loc["embedding", AUC] == pytest.approx(100 * (0.5 + (within - 0.5) / 2), abs=8)
    assert table.loc["embedding", RANK] == pytest.approx(2, abs=1e-3)


def test_an_embedding_of_neighbors_is_near_them_and_a_constant_one_is_alike(bare: Data) -> None:
    adjacency = torch.eye(200)
    adjacency[bare.edge_index[0], bare.edge_index[1]] = 1
    good = measure_health(lambda graph: adjacency, bare, hide=False)[0]
    constant, alike, _, _ = measure_health(lambda graph: torch.ones(200, 3), bare)
    assert good.loc["embedding", NEAR] > 5 * good.loc["random embedding", NEAR]
    assert alike == pytest.approx(1)
    assert constant.loc["embedding", RANK] == pytest.approx(1, abs=1e-4)
    assert constant.loc["embedding", AUC] == pytest.approx(50)


def test_a_graph_with_hardly_a_link_has_no_auc() -> None:
    graph = build_graph(np.random.default_rng(0).standard_normal((12, 3)), np.array([[0], [1]]))
    table, _alike, links, _most = measure_health(lambda graph: graph.x, graph)
    assert links == 0
    assert math.isnan(table.loc["embedding", AUC])
    assert "nan" not in repr(train_run(graph, method="propagate", epochs=1).scores)


def test_a_large_graph_is_sampled() -> None:
    rng = np.random.default_rng(0)
    graph = build_graph(rng.standard_normal((30_000, 4)), rng.integers(0, 30_000, (2, 60_000)))
    z = torch.randn(30_000, 8, generator=torch.Generator().manual_seed(0))
    table, _alike, _links, _most = measure_health(lambda graph: z, graph)
    assert table.loc["embedding", NEAR] == pytest.approx(table.loc["random embedding", NEAR], abs=0.1)
    assert table.loc["embedding", AUC] == pytest.approx(50, abs=2)


def test_a_training_without_labels_ends_with_the_table(bare_file: Path, run_sfa: Callable[..., Any]) -> None:
    trained = run_sfa("train", bare_file, epochs=40, out="run")
    assert trained.code == 0
    assert "No scores: " in trained.err
    for words in (
        "random embedding",
        "raw features",
        "propagated features",
        "neighbor-contrast",
        "by chance",
        "links were taken",
    ):
        assert words in trained.out
    again = run_sfa("evaluate", "run")
    assert (again.code, again.out) == (0, trained.out)
    values = json.loads(run_sfa("evaluate", "run", "--json").out)
    assert values["health"]["neighbor-contrast"][AUC] > 50
    assert run_sfa("evaluate", "run", protocol="knn").code == 2, "a protocol that was named needs its labels"
    assert run_sfa("train", bare_file, "--no-evaluate", epochs=1, out="quick").out == ""


def test_a_run_that_failed_says_so_and_what_to_try(bare: Data) -> None:
    run = train_run(bare, method="grace", spectral="none", feature_norm="row", lr=5.0, epochs=30)
    assert isinstance(run.scores, Health)
    collapse, chance = (
        [told for told in run.scores.warnings if words in told] for words in ("collapsed", "chance level")
    )
    assert collapse or chance
    assert all("--" in told for told in run.scores.warnings)


def test_with_labels_only_what_looks_wrong_is_said(
    planted_file: Path, run_sfa: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    told = Health(pd.DataFrame({RANK: [1.0]}, index=["x"]), ["The embedding has collapsed."], ["a remark"])
    monkeypatch.setattr("sfa.run.run.health_of", lambda run: told)
    result = run_sfa("train", planted_file, epochs=1, out="run")
    assert "Note: The embedding has collapsed." in result.err
    assert "a remark" not in result.out + result.err


def test_methods_of_one_graph_hide_no_links(bare: Data) -> None:
    run = train_run(bare, method="deepwalk", epochs=1)
    assert math.isnan(run.health().frame[AUC].iloc[-1])
    assert not any("links were taken" in told for told in run.health().remarks)
    assert evaluate_run(open_run(run.path, data=bare)).as_dict() == run.health().as_dict()


def test_sets_are_told_that_they_need_labels(molecules: Data) -> None:
    run = train_run(molecules, epochs=1, hidden=4, evaluate=False)
    with pytest.raises(Exception, match="nodes of one graph"):
        run.health()


@pytest.mark.parametrize(
    ("method", "options"),
    [("grace", {}), ("costa", {"method.ratio": 0.3}), ("signa", {}), ("dgi", {}), ("gae", {})],
)
def test_the_chance_level_is_the_loss_of_features_that_are_all_alike(
    bare: Data, method: str, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """For losses of cosines, alike means orthogonal or the same; for those of scores, scores of 0."""
    run = train_run(bare, method=method, spectral="none", epochs=1, evaluate=False, set=options)
    chance = run.method.chance_loss(200)
    with torch.no_grad():
        for weight in run.method.parameters():
            weight.zero_()
    if method == "signa":  # the cosine of rows of length 0 is 0
        monkeypatch.setattr(torch.nn.functional, "layer_norm", lambda x, *_: 0 * x)
    loss = run.method.train()(run.data, torch.Generator().manual_seed(0)).item()
    assert loss == pytest.approx(chance, rel=1e-4)
