"""What a run tells of itself without labels: a table beside features, and sentences about what looks wrong."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import networkx
import numpy as np
import pandas as pd
import pytest
import torch
from torch_geometric.data import Data

from sfa.data import build_graph
from sfa.evaluate.baselines import BASELINES
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


def test_views_among_the_nearest_are_those_of_a_slow_search(molecules: Data) -> None:
    """Embeddings lose their mean first, as sums over graphs all point one way."""
    seen: list[Data] = []

    def sizes(graphs: Data) -> torch.Tensor:
        seen.append(graphs)
        return torch.stack([graphs.ptr.diff(), torch.arange(len(graphs.ptr) - 1) % 40], 1).float()

    table, _alike, items, _most = measure_health(sizes, molecules)
    (views,) = seen
    z = sizes(views) - sizes(views).mean(0)
    cosine = torch.cosine_similarity(z[:, None], z, dim=2).fill_diagonal_(-2)
    hits = [40 + i in cosine[i].argsort(descending=True)[:10] for i in range(40)]
    own = table.loc["embedding"]
    assert (len(views.ptr), items) == (81, 40)
    assert own["other view among 10 nearest, %"] == pytest.approx(100 * np.mean(hits))
    assert table.loc["random embedding"].tolist()[1:] == [pytest.approx(1000 / 79), 50]
    others = [cosine[i, 40 + (i - 1) % 40] for i in range(40)]
    larger = np.mean([float(cosine[i, 40 + i] > other) for i in range(40) for other in others])
    assert own["AUC of two views, %"] == pytest.approx(100 * larger, abs=1)
    assert list(table.index) == ["random embedding", *BASELINES["graph"], "embedding"]


def test_an_embedding_that_knows_an_item_finds_its_views_and_a_constant_one_none(pictures: Data) -> None:
    known, alike, _, _ = measure_health(lambda images: torch.eye(45).repeat(2, 1), pictures)
    constant, same, _, _ = measure_health(lambda images: torch.ones(90, 3), pictures)
    assert known.iloc[-1, 1:].tolist() == [100, 100]
    assert constant.iloc[-1, 2] == pytest.approx(50, abs=5)
    assert (same, alike < 0.1) == (pytest.approx(1), True)


def test_without_an_augmentation_the_views_are_those_of_the_task(molecules: Data, pictures: Data) -> None:
    for data, method in ((molecules, "infograph"), (molecules, "simgrace"), (pictures, "byol")):
        run = train_run(data, method=method, epochs=1, hidden=4, evaluate=False)
        assert list(run.health().frame.index)[-2:] == ["untrained encoder", run.name]
        assert "Loss" not in run.health().remarks[0] or method == "simgrace"


@pytest.mark.parametrize("kind", ["molecules", "pictures"])
def test_sets_that_have_collapsed_or_learned_nothing_say_so(kind: str, request: pytest.FixtureRequest) -> None:
    data = request.getfixturevalue(kind)
    del data.y
    run = train_run(data, epochs=1, hidden=8, spectral="none")
    assert isinstance(run.scores, Health)
    with torch.no_grad():
        for weight in run.method.parameters():
            weight.zero_()
    run.metrics[-1]["loss"] = run.method.chance_loss(40 if kind == "molecules" else 45)
    told = run.health().warnings
    items = "graphs" if kind == "molecules" else "images"
    assert any(f"no {items} apart" in warning for warning in told)
    assert any(f"{items} look alike" in warning for warning in told)
    assert all("--" in warning for warning in told)


@pytest.mark.parametrize(("kind", "method"), [("molecules", "graphcl"), ("molecules", "joao"), ("pictures", "simclr")])
def test_the_chance_level_of_a_set_is_the_loss_of_views_all_alike(
    kind: str, method: str, request: pytest.FixtureRequest
) -> None:
    data = request.getfixturevalue(kind)
    run = train_run(data, method=method, spectral="none", epochs=1, hidden=8, evaluate=False)
    z = torch.ones(40, 8)
    assert float(run.method.loss(z, z)) == pytest.approx(run.method.chance_loss(40), rel=1e-4)


def test_a_set_without_labels_ends_with_the_table_and_takes_labels_later(
    tmp_path: Path, run_sfa: Callable[..., Any]
) -> None:
    Path("graphs").mkdir()
    lines = {"labels.csv": ["id,label"], "amounts.csv": ["id,label"]}
    for i in range(40):
        graph = networkx.path_graph(5 + i % 7) if i % 2 else networkx.cycle_graph(5 + i % 7)
        networkx.write_gml(graph, f"graphs/g{i}.gml")
        lines["labels.csv"].append(f"g{i},{'path' if i % 2 else 'cycle'}")
        lines["amounts.csv"].append(f"g{i},{networkx.density(graph):.4f}")
    for name, rows in lines.items():
        Path(name).write_text("\n".join(rows))
    trained = run_sfa("train", "graphs", epochs=2, hidden=8, out="run")
    assert (trained.code, "WL subtree counts" in trained.out, "by chance" in trained.out) == (0, True, True)
    assert run_sfa("evaluate", "run").out == trained.out
    assert "accuracy" in run_sfa("evaluate", "run", labels="labels.csv", protocol="knn").out
    later = run_sfa("evaluate", "run", "--json", labels="amounts.csv")
    assert json.loads(later.out)["protocol"] == "ridge-60-20-20"
    compared = run_sfa("compare", "run", "run", labels="amounts.csv")
    assert ("rmse" in compared.out, "ridge-60-20-20" in compared.out) == (True, True)
    assert run_sfa("report", "run", labels="amounts.csv").code == 0
    refused = run_sfa("evaluate", "run", labels="amounts.csv", protocol="tu-svm-10fold")
    assert (refused.code, "--protocol ridge-60-20-20" in refused.err) == (2, True)


def test_images_without_labels_end_with_the_table_and_take_labels_later(
    pictures: Data, run_sfa: Callable[..., Any]
) -> None:
    np.save("pictures.npy", pictures.x.numpy())
    pd.DataFrame({"id": range(60), "label": pictures.y.numpy()}).to_csv("labels.csv", index=False)
    trained = run_sfa("train", "pictures.npy", epochs=1, hidden=8, out="run")
    assert (trained.code, "raw pixels" in trained.out, "by chance" in trained.out) == (0, True, True)
    assert json.loads(run_sfa("evaluate", "run", "--json").out)["health"].keys() >= {"raw pixels", "untrained encoder"}
    assert "accuracy" in run_sfa("evaluate", "run", labels="labels.csv").out
    assert run_sfa("report", "run", labels="labels.csv").code == 0


def test_molecules_with_amounts_are_scored_by_regression(run_sfa: Callable[..., Any]) -> None:
    rows = [
        f"{'C' * (1 + i % 9)}{end},{i % 9 + 0.5 * j - 2}"
        for i in range(9)
        for j, end in enumerate(("O", "N", "", "Cl"))
    ]
    Path("molecules.csv").write_text("\n".join(["smiles,logP", *rows]))
    trained = run_sfa("train", "molecules.csv", epochs=1, hidden=8, out="run")
    assert trained.code == 0
    for words in ("36 graphs", "labels from 'logP'", "scores are of regression"):
        assert words in trained.err
    assert ("r2" in trained.out, "rmse" in trained.out, "WL subtree counts" in trained.out) == (True, True, True)
    written = run_sfa("embed", "run", "--with-labels", out="z.csv")
    assert written.code == 0
    assert pd.read_csv("z.csv")[["label", "predicted"]].dtypes.tolist() == [np.float64, np.float64]
    page = run_sfa("report", "run")
    assert (page.code, "rmse" in Path("run/report.html").read_text()) == (0, True)


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
