"""The path of the commands: train, evaluate, embed."""

from __future__ import annotations

import errno
import json
import math
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from torch_geometric.data import Data

from sfa.data import build_graph
from sfa.nn.sparse import propagation_of
from sfa.registry import registered, resolve
from sfa.run import Recipe, load_recipe
from sfa.run.run import open_run
from sfa.run.source import Source
from sfa.train import RunFolder, load_tensors

RunSfa = Callable[..., Any]


@pytest.fixture(scope="module")
def named_graph(planted_arrays: dict[str, np.ndarray], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The planted graph as an edge list whose nodes have names, listed in another order than that of the edges."""
    folder = tmp_path_factory.mktemp("named")
    files = {name: folder / f"{name}.csv" for name in ("edges", "features", "labels")}
    names = [f"paper {chr(97 + i % 26)}{i:02d}" for i in range(60)]
    source, target = planted_arrays["edge_index"]
    pd.DataFrame({"source": [names[i] for i in source], "target": [names[i] for i in target]}).to_csv(
        files["edges"], index=False
    )
    order = np.random.default_rng(0).permutation(60)
    features = pd.DataFrame(planted_arrays["x"][order], columns=[f"f{i}" for i in range(8)])
    features.insert(0, "id", [names[i] for i in order])
    features.to_csv(files["features"], index=False)
    labels = ["abc"[i] for i in planted_arrays["y"]]
    pd.DataFrame({"id": names, "label": labels}).to_csv(files["labels"], index=False)
    return files


@pytest.fixture(scope="module")
def named_run(named_graph: dict[str, Path], tiny: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    from sfa.cli import main

    out = tmp_path_factory.mktemp("named") / "run"
    files = ["--features", str(named_graph["features"]), "--labels", str(named_graph["labels"])]
    with pytest.raises(SystemExit) as ended:
        main(["train", str(named_graph["edges"]), *files, "--epochs", "3", "--out", str(out), "-q", *tiny])
    assert not ended.value.code
    return out


def read_embeddings(path: Path) -> dict[str, np.ndarray]:
    """Node id to embedding."""
    if path.suffix == ".npz":
        with np.load(path, allow_pickle=False) as file:
            return dict(zip(file["node_ids"].tolist(), file["embeddings"], strict=True))
    if path.suffix == ".pt":
        loaded = torch.load(path, weights_only=True)
        return dict(zip(loaded["node_ids"], loaded["embeddings"].numpy(), strict=True))
    frame = (pd.read_parquet if path.suffix == ".parquet" else pd.read_csv)(path).set_index("node_id")
    return dict(zip(frame.index, frame.to_numpy(dtype=np.float32), strict=True))


@pytest.mark.parametrize("suffix", [".npz", ".parquet", ".csv", ".pt"])
def test_embeddings_go_with_the_ids_of_their_nodes(
    named_run: Path, named_graph: dict[str, Path], workplace: Path, run_sfa: RunSfa, suffix: str
) -> None:
    result = run_sfa("embed", named_run, out=f"z{suffix}")
    assert (result.code, result.out) == (0, "")
    assert f"z{suffix}" in result.err
    run = open_run(named_run)
    expected = dict(zip(run.data.node_ids, run.method.embed(run.data).numpy(), strict=True))
    found = read_embeddings(workplace / f"z{suffix}")
    assert list(found) == list(expected) == pd.read_csv(named_graph["features"])["id"].tolist()
    for name in expected:
        np.testing.assert_allclose(found[name], expected[name], rtol=1e-6, atol=0)
    assert [file.name for file in workplace.iterdir()] == [f"z{suffix}"]


def test_the_order_of_the_nodes_does_not_matter(
    named_run: Path, planted: Data, run_sfa: RunSfa, tmp_path: Path
) -> None:
    """The same graph from arrays, in the order of the arrays: node i is the one whose name ends in i."""
    np.savez(tmp_path / "same.npz", x=planted.x.numpy(), edge_index=planted.edge_index.numpy())
    assert run_sfa("embed", named_run, out="a.npz").code == 0
    assert run_sfa("embed", named_run, out="b.npz", data=tmp_path / "same.npz").code == 0
    by_name, by_number = read_embeddings(Path("a.npz")), read_embeddings(Path("b.npz"))
    assert list(by_number) == list(range(60))
    for name, z in by_name.items():
        np.testing.assert_allclose(z, by_number[int(name[-2:])], rtol=1e-4, atol=1e-6)


@pytest.mark.slow
def test_smoothing(planted_file: Path, run_sfa: RunSfa, tiny: list[str], tmp_path: Path) -> None:
    """Training goes as without, embeddings and scores do not; a run from before there were such steps has none."""
    for times in (0, 2):
        asked = ["--set", f"smoothing={times}", "--no-evaluate", "--epochs", "2", *tiny]
        assert run_sfa("train", planted_file, *asked, out=tmp_path / f"{times}").code == 0
    plain, smooth = (open_run(tmp_path / f"{times}") for times in (0, 2))
    weights = [run.method.state_dict() for run in (plain, smooth)]
    assert all(torch.equal(weights[0][key], weights[1][key]) for key in weights[0])
    spread = propagation_of(plain.data)
    expected = spread @ (spread @ plain.method.embed(plain.data))

    assert run_sfa("embed", tmp_path / "2", out="z.npz").code == 0
    np.testing.assert_allclose(list(read_embeddings(Path("z.npz")).values()), expected.numpy(), rtol=1e-5, atol=1e-7)
    result = run_sfa("evaluate", tmp_path / "2", "--json")
    assert result.code == 0, result.err
    said = {score["name"]: score["mean"] for score in json.loads(result.out)["scores"]}
    untrained = spread @ (spread @ plain.untrained.embed(plain.data))
    for name, z in ((smooth.name, expected), ("untrained encoder", untrained), ("raw features", plain.data.x)):
        assert said[name] == pytest.approx(resolve("protocol", "honest-10-10-80").evaluate(z, plain.data).mean())

    recipe = tmp_path / "0" / "recipe.yaml"
    text = recipe.read_text()
    assert "postprocess: []\n" in text
    recipe.write_text(text.replace("postprocess: []\n", ""))
    old = open_run(tmp_path / "0")
    assert old.method.postprocess == ()
    assert torch.equal(old.method.embed(old.data), plain.method.embed(plain.data))
    assert run_sfa("train", "--resume", "--no-evaluate", out=tmp_path / "0").code == 0


def test_another_graph_is_embedded_by_the_statistics_of_training(
    trained_run: Path, planted: Data, run_sfa: RunSfa, tmp_path: Path
) -> None:
    x, edges = planted.x.numpy()[:20] + 1, np.array([[0, 5, 19], [1, 6, 3]])
    np.savez(tmp_path / "other.npz", x=x, edge_index=edges)
    result = run_sfa("embed", trained_run, out="z.npz", data=tmp_path / "other.npz")
    assert result.code == 0
    assert "20 embeddings of width 8" in result.err
    run = open_run(trained_run)
    trained = planted.x.numpy().astype(np.float64)
    other = build_graph((x - trained.mean(0)) / trained.std(0), edges)
    with np.load("z.npz") as file:
        np.testing.assert_allclose(file["embeddings"], run.method.embed(other).numpy(), rtol=1e-5, atol=1e-6)


def test_evaluate(trained_run: Path, tmp_path: Path, run_sfa: RunSfa) -> None:
    run = Path(shutil.copytree(trained_run, tmp_path / "run"))
    result = run_sfa("evaluate", run, "--json", "--quiet")
    assert (result.code, result.err) == (0, "")
    printed = json.loads(result.out)
    assert printed["protocol"] == "honest-10-10-80"
    assert [score["name"] for score in printed["scores"]] == [
        "raw features",
        "propagated features",
        "untrained encoder",
        "grace + sfa (64 passes)",
    ]
    for score in printed["scores"]:
        test = score["values"]["accuracy"]
        assert len(test) == len(score["validation"]["accuracy"]) == len(score["chosen"]) == 20
        assert all(0 <= value <= 100 for value in test)
        assert score["mean"] == pytest.approx(np.mean(test))
        assert score["std"] == pytest.approx(np.std(test, ddof=1))
    assert json.loads((run / "scores-honest-10-10-80.json").read_text()) == printed

    table = run_sfa("evaluate", run)
    for score in printed["scores"]:
        assert f"{score['mean']:.2f} ± {score['std']:.2f}" in table.out
        assert score["name"] in table.out


def test_training_ends_with_the_scores(planted_file: Path, run_sfa: RunSfa, tiny: list[str], workplace: Path) -> None:
    result = run_sfa("train", planted_file, *tiny, "--evaluate", epochs=2)
    assert result.code == 0
    assert [path.name for path in (workplace / "runs").iterdir()] == ["planted-grace-sfa-64-passes"]
    run = workplace / "runs" / "planted-grace-sfa-64-passes"
    scores = json.loads((run / "scores-honest-10-10-80.json").read_text())["scores"]
    assert all(score["name"] in result.out for score in scores)
    assert "planted: 60 nodes, 168 edges, 8 features" in result.err
    assert "training  2/2" in result.err
    assert "embeddings of width 8 in runs/planted-grace-sfa-64-passes" in result.err
    assert "\x1b" not in result.err + result.out

    again = run_sfa("train", planted_file, *tiny, epochs=2)
    assert again.out == ""
    assert "runs/planted-grace-sfa-64-passes-2" in again.err


def test_every_spectral_map_trains_by_name(
    planted_file: Path, run_sfa: RunSfa, tiny: list[str], workplace: Path
) -> None:
    for name in registered("spectral"):
        result = run_sfa("train", planted_file, *tiny, "--spectral", name, epochs=2)
        assert result.code == 0, (name, result.err)
    made = {path.name.removeprefix("planted-grace-") for path in (workplace / "runs").iterdir()}
    assert made == {name.replace("*", "-star") for name in registered("spectral")}, "no name that a shell would expand"


def test_options_reach_the_recipe(planted_file: Path, run_sfa: RunSfa, tmp_path: Path) -> None:
    result = run_sfa(
        *("train", planted_file, "--no-evaluate", "--set", "method.edge_drop=[0.1, 0.3]", "--set", "training.warmup=1"),
        *("--set", "training.weight_decay=1e-3", "--set", "training.patience=null"),
        method="grace",
        spectral="sfa",
        iterations=3,
        epochs=2,
        hidden=4,
        lr=0.02,
        tau=0.7,
        seed=5,
        out=tmp_path / "run",
    )
    assert result.code == 0, result.err
    recipe = load_recipe(tmp_path / "run" / "recipe.yaml")
    expected = Recipe.parse(
        {
            "method": {"name": "grace", "edge_drop": [0.1, 0.3], "hidden": 4, "tau": 0.7},
            "spectral": {"name": "sfa", "iterations": 3},
            "training": {"epochs": 2, "lr": 0.02, "seed": 5, "warmup": 1, "weight_decay": 1e-3, "patience": None},
            "feature_norm": "standard",
        }
    )
    assert recipe == expected
    record = RunFolder.open(tmp_path / "run").record
    assert (record["seed"], record["in_features"], record["nodes"]) == (5, 8, 60)
    assert record["source"]["data"] == str(planted_file)


def test_a_recipe_file_and_an_option_over_it(planted_file: Path, run_sfa: RunSfa, tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text("method: {name: g-bt, hidden: 4}\ntraining: {epochs: 9, lr: 1e-3}\n")
    options = {"recipe": tmp_path / "mine.yaml", "epochs": 2, "out": tmp_path / "run"}
    assert run_sfa("train", planted_file, "--no-evaluate", **options).code == 0
    recipe = load_recipe(tmp_path / "run" / "recipe.yaml")
    assert (recipe.method["name"], recipe.encoder["hidden"]) == ("g-bt", 4)
    assert (recipe.training.epochs, recipe.training.lr) == (2, 0.001)
    assert len(RunFolder(tmp_path / "run").read_metrics()) == 2


def test_same_command_same_bits(planted_file: Path, run_sfa: RunSfa, tiny: list[str], tmp_path: Path) -> None:
    for name, seed in (("a", 3), ("b", 3), ("c", 4)):
        assert run_sfa("train", planted_file, *tiny, out=tmp_path / name, epochs=3, seed=seed).code == 0
    a, b, c = ((tmp_path / name / "checkpoint.safetensors").read_bytes() for name in "abc")
    assert a == b
    assert a != c


def test_quiet(planted_file: Path, trained_run: Path, run_sfa: RunSfa, tiny: list[str], tmp_path: Path) -> None:
    result = run_sfa("train", planted_file, *tiny, "--quiet", epochs=2, out=tmp_path / "run")
    assert (result.code, result.out, result.err) == (0, "", "")
    result = run_sfa("embed", trained_run, "-q", out="z.csv")
    assert (result.code, result.out, result.err) == (0, "", "")


def test_early_stop_is_said(planted_file: Path, run_sfa: RunSfa, tiny: list[str], tmp_path: Path) -> None:
    options = ["--set", "training.patience=1", "--set", "training.lr=1e-9"]
    result = run_sfa("train", planted_file, *tiny, *options, epochs=200, out=tmp_path / "run")
    assert result.code == 0
    epochs = len(RunFolder(tmp_path / "run").read_metrics())
    assert epochs < 200
    assert f"Stopped at epoch {epochs}" in result.err


def test_resuming_with_the_same_options(trained_run: Path, planted_file: Path, tmp_path: Path, run_sfa: RunSfa) -> None:
    run = Path(shutil.copytree(trained_run, tmp_path / "run"))
    before = {file.name: file.read_bytes() for file in run.iterdir()}
    result = run_sfa(
        *("train", planted_file, "--resume", "--no-evaluate"),
        out=run,
        method="grace",
        spectral="gentle",
        hidden=8,
        epochs=5,
    )
    assert result.code == 0, result.err
    assert {file.name: file.read_bytes() for file in run.iterdir()} == before


def test_a_data_set_is_recorded_by_its_name(workplace: Path, tmp_path: Path) -> None:
    """A folder that happens to be called like it, for instance a run's, is not what was read."""
    (workplace / "cora").mkdir()
    assert Source("cora").as_dict()["data"] == "cora"


def test_files_are_recorded_by_their_full_path(named_graph: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(named_graph["edges"].parent)
    recorded = Source("edges.csv", features=Path("features.csv")).as_dict()
    assert recorded["data"] == str(named_graph["edges"].resolve())
    assert recorded["features"] == str(named_graph["features"].resolve())
    assert recorded["labels"] is None


def test_a_graphs_own_name_does_not_decide_where_files_go(
    planted: Data, run_sfa: RunSfa, tiny: list[str], tmp_path: Path, workplace: Path
) -> None:
    data = Data(x=planted.x, edge_index=planted.edge_index, name="../../escaped/a b")
    torch.save(data, tmp_path / "graph.pt")
    assert run_sfa("train", tmp_path / "graph.pt", *tiny, epochs=1).code == 0
    (run,) = (path.parent for path in tmp_path.rglob("run.json"))
    assert run.parent == workplace / "runs"


def test_a_loss_that_explodes(planted_file: Path, run_sfa: RunSfa, tiny: list[str], tmp_path: Path) -> None:
    result = run_sfa("train", planted_file, *tiny, "--quiet", epochs=9, lr=1e30, out=tmp_path / "run")
    assert result.code == 1
    assert result.err.startswith("sfa: ")
    assert len(result.err.splitlines()) == 1
    assert "at epoch" in result.err
    assert "smaller learning rate" in result.err


def test_a_full_disk(
    planted_file: Path, run_sfa: RunSfa, tiny: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The checkpoint of epoch 4 no longer fits: that of epoch 2 stays, can be used, and the run can go on."""
    run, every = tmp_path / "run", ["--set", "training.checkpoint_every=2"]
    assert run_sfa("train", planted_file, *tiny, *every, epochs=6, out=tmp_path / "whole").code == 0
    replace = Path.replace

    def full(source: Path, target: Path) -> Path:
        if target.name == "checkpoint.safetensors" and target.exists():
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return replace(source, target)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", full)
        result = run_sfa("train", planted_file, *tiny, *every, "--quiet", epochs=6, out=run)
    assert result.code == 1
    assert "No space left on device" in result.err
    assert len(result.err.splitlines()) == 1
    assert load_tensors(RunFolder(run).checkpoint)[1]["epoch"] == 2
    assert not list(run.glob(".*"))
    assert run_sfa("embed", run, out="z.npz").code == 0
    assert run_sfa("train", "--resume", "--no-evaluate", out=run).code == 0
    final, expected = (load_tensors(path / "checkpoint.safetensors")[0] for path in (run, tmp_path / "whole"))
    assert all(torch.equal(final[name], expected[name]) for name in expected)


def test_a_disk_that_fills_while_the_tensors_are_written(
    planted_file: Path, run_sfa: RunSfa, tiny: list[str], tmp_path: Path
) -> None:
    import resource

    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (5000, limits[1]))
    try:
        result = run_sfa("train", planted_file, *tiny, "--quiet", epochs=2, out=tmp_path / "run")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert result.code == 1
    assert result.err.startswith("sfa: ")
    assert len(result.err.splitlines()) == 1
    assert not list((tmp_path / "run").glob("*safetensors"))


def test_ctrl_c_while_scoring(trained_run: Path, run_sfa: RunSfa, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("sfa.run.score_cache.score_all", interrupt)
    result = run_sfa("evaluate", trained_run)
    assert result.code == 130
    assert "Traceback" not in result.err


def test_scores_are_no_secret_of_the_seed(trained_run: Path) -> None:
    """The untrained encoder is the very one that training started from."""
    run = open_run(trained_run)
    first = run.recipe.build(8).state_dict()
    untrained = run.untrained.state_dict()
    assert all(torch.equal(first[name], untrained[name]) for name in first)
    assert math.isfinite(float(run.method.embed(run.data).sum()))
    assert not torch.equal(run.method.embed(run.data), run.untrained.embed(run.data))


def test_a_shipped_recipe_for_the_data_set_is_told_of(run_sfa: RunSfa, tmp_path: Path) -> None:
    options = ["--method", "cca-ssg", "--epochs", "1", "--hidden", "8", "--no-evaluate"]
    result = run_sfa("train", "cora", *options, out=tmp_path / "defaults")
    best = "--recipe best the best that we know"
    assert (
        f"Settings are cca-ssg's defaults; --recipe cca-ssg --spectral gentle has its authors' for cora, {best}."
        in result.err
    )
    result = run_sfa("train", "cora", *options, "--spectral", "whiten", out=tmp_path / "named")
    assert f"; --recipe cca-ssg --spectral whiten has its authors' for cora, {best}." in result.err
    assert "rows divided by their absolute sum" in result.err
    result = run_sfa("train", "cora", "--recipe", "cca-ssg", *options[2:], out=tmp_path / "recipe")
    assert "defaults" not in result.err
    record = json.loads((tmp_path / "recipe" / "run.json").read_text())
    assert record["features"] == "rows divided by their absolute sum"
