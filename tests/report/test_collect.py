"""What a report shows is what the run folder and the protocols say."""

from __future__ import annotations

import base64
import copy
import json
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import yaml
from torch_geometric.data import Data
from torch_geometric.utils import degree

from sfa.errors import InputError
from sfa.evaluate import Score, paired_difference, part
from sfa.explore import cluster
from sfa.registry import resolve
from sfa.report import ReportedRun, collect, report_data
from sfa.report.collect import LOOKS, command_line, data_rows
from sfa.run import Recipe
from sfa.run.run import Run
from sfa.run.train_recipe import record_of, train_recipe
from sfa.train import RunFolder

KNN = resolve("protocol", "knn").with_splits(3)
KINDS = {"float32": "<f4", "int32": "<i4", "uint8": "|u1"}


def decoded(given: dict[str, Any]) -> np.ndarray:
    values: np.ndarray = np.frombuffer(base64.b64decode(given["base64"]), KINDS[given["dtype"]])
    return values.reshape(given["shape"])


def trained(graph: Data, path: Path, **changes: Any) -> Run:
    small = {"method.hidden": 8, "method.projection": 8, "training.epochs": 4, "training.diagnose_every": 2}
    recipe = Recipe.parse({"method": "grace"}).updated({**small, **changes})
    folder = RunFolder.create(path, recipe.as_dict(), record_of(recipe, graph, {"data": "planted"}))
    return train_recipe(recipe, graph, folder, device="cpu", resume=False)


def shown(run: Run, name: str = "a") -> ReportedRun:
    embeddings = {"raw features": run.data.x, run.name: run.method.embed(run.data)}
    return ReportedRun(name, run, [KNN.evaluate(z, run.data, name=key) for key, z in embeddings.items()])


@pytest.fixture
def run(planted: Data, tmp_path: Path) -> Run:
    return trained(planted, tmp_path / "run")


def of_one(run: Run, **options: Any) -> dict[str, Any]:
    data = report_data([shown(run)], protocol=KNN, **options)
    json.dumps(data, allow_nan=False)
    (found,) = data["runs"]
    return dict(found)


def test_summary_and_recipe(run: Run) -> None:
    told: list[str] = []
    made = datetime(2026, 1, 2, 3, 4, tzinfo=timezone.utc)
    data = report_data([shown(run)], protocol=KNN, commands=["sfa report a"], made=made, tell=told.append)
    assert (data["title"], data["items"]) == ("planted, grace + sfa (64 passes)", "nodes")
    assert data["made"] == "2026-01-02 03:04 UTC"
    assert data["commands"] == ["sfa report a"]
    assert data["protocol"] == {"name": "knn", "description": KNN.description}
    assert "comparison" not in data
    (found,) = data["runs"]
    assert {key: found[key] for key in ("name", "method", "spectral", "seed", "epochs", "planned", "state")} == {
        "name": "a",
        "method": "grace",
        "spectral": "sfa (64 passes)",
        "seed": 0,
        "epochs": 4,
        "planned": 4,
        "state": "finished",
    }
    assert found["remarks"] == []
    assert yaml.safe_load(found["recipe"]) == run.recipe.as_dict()
    assert found["versions"] == run.folder.record["versions"]
    assert found["data"]["name"] == "planted"
    assert len(told) == 2
    assert all(line.startswith("a: ") for line in told)


def test_curves_and_spectra_are_those_of_the_log(run: Run) -> None:
    rows = run.folder.read_metrics()
    found = of_one(run)
    assert found["seconds"] == rows[-1]["seconds"]
    assert decoded(found["curve"]["epoch"]).tolist() == [1, 2, 3, 4]
    np.testing.assert_allclose(decoded(found["curve"]["loss"]), [row["loss"] for row in rows], rtol=1e-6)
    looks = {row["epoch"]: row["diagnostics"] for row in rows if "diagnostics" in row}
    diagnostics = found["diagnostics"]
    assert diagnostics["epochs"] == list(looks) == [1, 2, 4]
    assert diagnostics["spectral_map"] is True
    for key, name in {
        "effective_rank_before": "effective_rank",
        "effective_rank_after": "effective_rank_tilde",
        "alignment_before": "alignment",
        "alignment_after": "alignment_tilde",
        "relative_alignment": "alignment_relative",
        "relative_alignment_after": "alignment_relative_tilde",
        "uniformity": "uniformity",
        "uniformity_after": "uniformity_tilde",
    }.items():
        assert diagnostics[key] == [look[name] for look in looks.values()]
    for key, name in {"spectrum_before": "sigma", "spectrum_after": "sigma_tilde"}.items():
        for values, look in zip(diagnostics[key], looks.values(), strict=True):
            np.testing.assert_allclose(values, look[name], rtol=1e-4)


def test_a_long_log_is_thinned_from_its_first_look_to_its_last(run: Run) -> None:
    look = run.folder.read_metrics()[0]["diagnostics"]
    rows = [{"epoch": epoch, "seconds": 1, "loss": 1, "diagnostics": look} for epoch in range(1, 1001)]
    run.folder.metrics.write_text("".join(json.dumps(row) + "\n" for row in rows))
    epochs = of_one(run)["diagnostics"]["epochs"]
    assert len(epochs) == LOOKS
    assert (epochs[0], epochs[-1]) == (1, 1000)
    assert max(np.diff(epochs)) <= 10


def test_without_diagnostics_the_rest_is_there(planted: Data, tmp_path: Path) -> None:
    found = of_one(trained(planted, tmp_path / "run", **{"training.diagnose_every": 0}))
    assert found["diagnostics"] == {"epochs": []}
    assert decoded(found["curve"]["loss"]).shape == (4,)


def test_a_method_of_one_view_has_no_alignment(planted: Data, tmp_path: Path) -> None:
    recipe = Recipe.parse({"method": {"name": "gae", "hidden": 8}, "spectral": "none"})
    recipe = recipe.updated({"training.epochs": 2, "training.diagnose_every": 1})
    folder = RunFolder.create(tmp_path / "gae", recipe.as_dict(), record_of(recipe, planted, {"data": "planted"}))
    diagnostics = of_one(train_recipe(recipe, planted, folder, device="cpu", resume=False))["diagnostics"]
    assert diagnostics["alignment_before"] == diagnostics["relative_alignment_after"] == []
    assert len(diagnostics["effective_rank_before"]) == 2
    assert diagnostics["spectral_map"] is False


def test_scores_predictions_and_confusion(run: Run) -> None:
    reported = shown(run)
    found = of_one(run)
    assert [(row["embedding"], row["metric"], row["own"]) for row in found["scores"]] == [
        ("raw features", "accuracy", False),
        ("grace + sfa (64 passes)", "accuracy", True),
    ]
    for row, score in zip(found["scores"], reported.scores, strict=True):
        assert (tuple(row["values"]), row["mean"], row["std"]) == (score.of(), score.mean(), score.std())
    y, predicted, part = (decoded(found[key]) for key in ("labels", "predicted", "part"))
    assert y.tolist() == run.data.y.tolist()
    assert found["class_names"] == ["0", "1", "2"]
    matrix = np.zeros((3, 3), int)
    for label, told, where in zip(y, predicted, part, strict=True):
        matrix[label, told] += where == 2
    assert found["confusion"]["matrix"] == matrix.tolist()
    assert found["confusion"]["accuracy"] == pytest.approx(reported.scores[-1].of()[0])
    assert found["confusion"]["of"] == "48 test nodes of split 1"
    assert "6 training nodes" in found["how_predicted"]


def test_a_map_and_ids_of_all_nodes(run: Run) -> None:
    found = of_one(run)
    x, y = (decoded(found["map"][key]) for key in "xy")
    assert (x.shape, y.shape) == ((60,), (60,))
    assert np.isfinite(x).all()
    assert x.std() >= y.std() > 0
    assert found["map"]["how"] == "t-SNE of 60 nodes"
    assert found["ids"] == {"range": 60}
    assert of_one(run)["map"] == found["map"]
    run.data.node_ids = [f"n{i}" for i in range(60)]
    assert of_one(run)["ids"] == run.data.node_ids


def test_without_labels_there_are_map_and_curves_and_the_reason(run: Run) -> None:
    del run.data.y
    (found,) = report_data([ReportedRun("a", run, no_scores="There are no labels.")])["runs"]
    assert (found["scores"], found["no_scores"]) == ([], "There are no labels.")
    assert not {"labels", "class_names", "predicted", "part", "confusion", "how_predicted", "health"} & found.keys()
    assert decoded(found["map"]["x"]).shape == (60,)


def test_without_labels_the_map_has_clusters_and_degrees(run: Run, molecules: Data) -> None:
    del run.data.y
    (found,) = report_data([ReportedRun("a", run)])["runs"]
    clusters, silhouette = cluster(run.embedding())
    assert decoded(found["cluster"]).tolist() == clusters.tolist()
    assert f"{silhouette:.2f}" in found["how_clustered"]
    assert decoded(found["degree"]).tolist() == degree(run.data.edge_index[0], 60).tolist()
    del molecules.y
    assert "degree" not in collect._items(molecules, torch.randn(40, 3))


def test_the_health_of_a_run_and_its_loss_by_chance(run: Run) -> None:
    health = run.health()
    (found,) = report_data([ReportedRun("a", run, health=health)])["runs"]
    json.dumps(found, allow_nan=False)
    assert found["chance"] == pytest.approx(np.log(2 * 60 - 1))
    assert found["health"]["columns"] == list(health.frame)
    names = ["random embedding", "raw features", "propagated features", run.name]
    assert [name for name, *_ in found["health"]["rows"]] == names
    assert found["health"]["rows"][-1][1:] == health.frame.loc[run.name].tolist()
    assert found["health"]["warnings"] == list(health.warnings)


def test_a_protocol_that_predicts_nothing_says_so(run: Run) -> None:
    clustering = resolve("protocol", "clustering").with_splits(2)
    score = clustering.evaluate(run.data.x, run.data, name=run.name)
    (found,) = report_data([ReportedRun("a", run, [score])], protocol=clustering)["runs"]
    assert [row["metric"] for row in found["scores"]] == ["nmi", "ari", "accuracy"]
    assert found["no_predictions"] == "clustering scores without predicting labels."
    assert "labels" in found
    assert "predicted" not in found


def test_of_too_many_classes_there_is_no_matrix(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collect, "MOST_CLASSES", 2)
    found = of_one(run)
    assert "confusion" not in found
    assert found["no_confusion"].startswith("3 classes")
    assert "predicted" in found


def test_several_runs_are_compared_with_the_first_and_their_maps_lie_alike(planted: Data, tmp_path: Path) -> None:
    runs = [trained(planted, tmp_path / str(seed), **{"training.seed": seed}) for seed in (0, 1)]
    first, second = (shown(one, name) for one, name in zip(runs, "ab", strict=True))
    data = report_data([first, second, replace(first, name="c")], protocol=KNN, note="mind the seed")
    assert data["title"] == "planted, 3 runs"
    assert data["comparison_note"] == "mind the seed"
    a, b, c = data["comparison"]
    expected = paired_difference(second.scores[-1], first.scores[-1])
    assert (a["run"], a["difference"], a["p"]) == ("a", None, None)
    assert b == {
        "run": "b",
        "metric": "accuracy",
        "mean": second.scores[-1].mean(),
        "std": second.scores[-1].std(),
        "difference": [expected.mean, expected.low, expected.high],
        "p": expected.p_value,
    }
    assert (c["difference"], c["p"]) == ([0, 0, 0], 1)
    maps = [np.stack([decoded(one["map"][key]) for key in "xy"], 1) for one in data["runs"]]
    np.testing.assert_allclose(maps[2], maps[0], atol=1e-4)
    for turn in (np.diag([-1, 1]), np.diag([1, -1]), np.diag([-1, -1]), np.array([[0, 1], [1, 0]])):
        assert np.linalg.norm(maps[1] @ turn - maps[0]) >= np.linalg.norm(maps[1] - maps[0]) - 1e-3


def test_of_a_single_split_there_is_neither_deviation_nor_interval(run: Run) -> None:
    scores = [Score("x", "knn", {"accuracy": (value,)}) for value in (60.0, 62.5)]
    runs = [ReportedRun(name, run, [score]) for name, score in zip("ab", scores, strict=True)]
    data = report_data(runs, protocol=KNN)
    assert data["runs"][0]["scores"][0]["std"] is None
    assert data["comparison"][1]["difference"] == [2.5, None, None]
    assert data["comparison"][1]["p"] is None


@pytest.mark.parametrize(
    ("epoch", "finished", "state", "words"),
    [(3, True, "stopped early", "epoch 3 of 4: no progress"), (2, False, "unfinished", "epoch 2 of 4")],
)
def test_how_far_a_run_came(run: Run, epoch: int, finished: bool, state: str, words: str) -> None:
    found = of_one(replace(run, progress=replace(run.progress, epoch=epoch, finished=finished)))
    assert (found["state"], found["epochs"], found["planned"]) == (state, epoch, 4)
    (remark,) = found["remarks"]
    assert words in remark


def test_embeddings_that_are_no_numbers_are_refused(run: Run) -> None:
    with torch.no_grad():
        next(run.method.parameters()).fill_(torch.inf)
    with pytest.raises(InputError, match="of a are not finite"):
        report_data([ReportedRun("a", run)])


def test_rows_of_data(planted: Data, molecules: Data, pictures: Data) -> None:
    planted.y[:3] = -1
    assert data_rows(planted) == [
        ["nodes", "60"],
        ["edges", str(planted.edge_index.shape[1] // 2)],
        ["features", "8"],
        ["classes", "3"],
        ["labelled", "57"],
    ]
    assert [row[0] for row in data_rows(molecules)] == ["graphs", "nodes", "edges", "features", "classes"]
    assert data_rows(molecules)[0] == ["graphs", "40"]
    assert dict(data_rows(pictures)) == {
        "images": "60",
        "pixels": "12 × 12",
        "channels": "3",
        "to train on": "45",
        "to test on": "15",
        "classes": "3",
    }


def test_a_command_is_shown_as_it_would_be_typed() -> None:
    assert command_line(["/opt/bin/sfa", "train", "my graph.npz"]) == "sfa train 'my graph.npz'"
    assert command_line(["/lib/sfa/__main__.py", "demo"]) == "python -m sfa demo"
    assert command_line([]) == ""


@pytest.mark.parametrize("labels", [True, False])
def test_a_page_shows_some_nodes_of_a_large_graph(
    labels: bool, planted: Data, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = trained(planted, tmp_path / "run")
    whole = shown(run)
    monkeypatch.setattr(part, "LARGE", 59)
    monkeypatch.setattr(part, "NODES", 40)
    monkeypatch.setattr(collect, "NODES", 40)
    if not labels:
        whole = replace(whole, scores=[], run=replace(run, data=copy.copy(run.data)))
        del whole.run.data.y
    (row,) = report_data([whole], protocol=KNN if labels else None)["runs"]
    assert len(decoded(row["map"]["x"])) == len(row["ids"]) == 40
    assert any("40 of the 60 nodes" in told for told in row["remarks"])
    if labels:
        assert decoded(row["labels"]).tolist() == planted.y[row["ids"]].tolist()
        assert len(decoded(row["predicted"])) == 40
    else:
        assert decoded(row["degree"]).tolist() == degree(planted.edge_index[0], 60)[row["ids"]].tolist()
