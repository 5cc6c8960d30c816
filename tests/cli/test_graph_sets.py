"""The commands on sets of graphs: what changes for a user, and what stays."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest

from sfa.cli import main
from sfa.run import load_recipe

RunSfa = Callable[..., Any]
TINY = ["--hidden", "4", "--set", "method.layers=2"]


@pytest.fixture(scope="session")
def graph_run(molecules_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run on the small set, for reading only."""
    path = tmp_path_factory.mktemp("runs") / "molecules"
    with pytest.raises(SystemExit) as ended:
        main(["train", str(molecules_file), "--epochs", "2", "--out", str(path), "--quiet", "--no-evaluate", *TINY])
    assert not ended.value.code
    return path


@pytest.mark.slow
def test_training_says_what_it_trains_on_and_scores_by_folds(
    run_sfa: RunSfa, molecules_file: Path, tmp_path: Path
) -> None:
    result = run_sfa("train", molecules_file, *TINY, epochs=2, out=tmp_path / "run")
    assert result.code == 0, result.err
    assert "molecules: 40 graphs, " in result.err
    assert "graphcl + sfa, seed 0" in result.err
    assert "batches of 128 (graphs)" in result.err
    assert "tu-svm-10fold: 10 stratified folds" in result.out
    for row in ("label histogram", "degree histogram", "WL subtree counts", "untrained encoder", "graphcl + sfa"):
        assert row in result.out
    kept = json.loads((tmp_path / "run" / "scores-tu-svm-10fold.json").read_text())
    assert {len(score["values"]["accuracy"]) for score in kept["scores"]} == {10}
    record = json.loads((tmp_path / "run" / "run.json").read_text())
    assert record["graphs"] == 40


def test_the_bundled_set_needs_no_network(run_sfa: RunSfa, tmp_path: Path) -> None:
    result = run_sfa("train", "mutag", "--no-evaluate", *TINY, epochs=1, method="graphcl", out=tmp_path / "run")
    assert result.code == 0, result.err
    assert "mutag: 188 graphs, 3371 nodes, 3721 edges, 7 features" in result.err


def test_embeddings_carry_the_ids_of_graphs(run_sfa: RunSfa, graph_run: Path, tmp_path: Path) -> None:
    assert run_sfa("embed", graph_run, out=tmp_path / "z.csv").code == 0
    table = pandas.read_csv(tmp_path / "z.csv")
    assert table.columns[0] == "graph_id"
    assert table.shape == (40, 1 + 8)
    assert table["graph_id"].tolist() == list(range(40))


def test_other_graphs_are_embedded(run_sfa: RunSfa, graph_run: Path, molecules_file: Path, tmp_path: Path) -> None:
    arrays = dict(np.load(molecules_file))
    last = arrays["ptr"][3]
    edges = arrays["edge_index"][:, arrays["edge_index"][0] < last]
    np.savez(tmp_path / "three.npz", x=arrays["x"][:last], edge_index=edges, ptr=arrays["ptr"][:4])
    assert run_sfa("embed", graph_run, data=tmp_path / "three.npz", out=tmp_path / "three.csv").code == 0
    assert run_sfa("embed", graph_run, out=tmp_path / "all.csv").code == 0
    three, all_ = (pandas.read_csv(tmp_path / name).to_numpy() for name in ("three.csv", "all.csv"))
    np.testing.assert_allclose(three, all_[:3], rtol=1e-5)


def test_an_interrupted_run_goes_on_to_the_same_bits(run_sfa: RunSfa, graph_run: Path, tmp_path: Path) -> None:
    path = tmp_path / "run"
    shutil.copytree(graph_run, path)
    before = (path / "checkpoint.safetensors").read_bytes()
    (path / "checkpoint.safetensors").unlink()
    assert run_sfa("train", "--resume", "--no-evaluate", out=path).code == 0
    assert (path / "checkpoint.safetensors").read_bytes() == before


@pytest.mark.slow
def test_runs_are_compared_by_folds(run_sfa: RunSfa, graph_run: Path, molecules_file: Path, tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    options = {"epochs": 2, "spectral": "none", "out": plain}
    assert run_sfa("train", molecules_file, "--no-evaluate", *TINY, **options).code == 0
    shutil.copytree(graph_run, tmp_path / "sfa")
    result = run_sfa("compare", plain, tmp_path / "sfa", "--json")
    assert result.code == 0, result.err
    compared = json.loads(result.out)
    assert compared["protocol"] == "tu-svm-10fold"
    assert len(compared["others"][0]["score"]["values"]["accuracy"]) == 10


@pytest.mark.slow
def test_all_protocols_that_sets_allow_and_why_not_the_others(run_sfa: RunSfa, graph_run: Path, tmp_path: Path) -> None:
    shutil.copytree(graph_run, tmp_path / "run")
    result = run_sfa("evaluate", tmp_path / "run", "--json", protocol="all")
    assert result.code == 0, result.err
    answer = json.loads(result.out)
    assert {"tu-svm-10fold", "tu-linear-10fold", "clustering"} <= {each["protocol"] for each in answer["protocols"]}
    assert {"link-prediction", "public"} <= answer["not possible"].keys()
    refused = run_sfa("evaluate", tmp_path / "run", protocol="link-prediction")
    assert refused.code == 2
    assert "graphs" in refused.err


@pytest.mark.parametrize(
    ("command", "says"),
    [
        (["train", "mutag", "--method", "grace"], "grace embeds the nodes of one graph, and mutag is a set of graphs"),
        (["train", "cora", "--method", "graphcl"], "graphcl embeds whole graphs, and cora is one graph"),
        (["train", "mutag", "--recipe", "grace/cora"], "grace embeds the nodes of one graph"),
        (["train", "mutag", "--sampler", "neighbours"], "graphcl .* leave the sampler out"),
        (["train", "mutag", "--node-features", "degree"], "has its own features"),
        (["train", "cora", "--method", "grace", "--sampler", "graphs"], "grace .* leave the sampler out"),
        (["train", "tu:NO_SUCH_SET"], "NO_SUCH_SET is not on this machine and could not be downloaded"),
        (["study", "methods", "--datasets", "cora", "mutag"], "cora is one graph and mutag is a set of graphs"),
        (["study", "methods", "--datasets", "mutag", "--method", "grace"], "grace is no method for mutag"),
    ],
)
def test_what_does_not_fit_is_said_before_anything_is_written(
    run_sfa: RunSfa, command: list[str], says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = run_sfa(*command)
    assert result.code != 0
    assert re.search(says, result.err), result.err
    assert len(result.err.strip().splitlines()) == 1
    assert not (tmp_path / "runs").exists()


def test_supervised_yardsticks_are_for_nodes(run_sfa: RunSfa, graph_run: Path) -> None:
    result = run_sfa("evaluate", graph_run, "--supervised", protocol="honest-10-10-80")
    assert (result.code, "the nodes of one graph, and this is a set of graphs" in result.err) == (2, True)


def test_made_features_are_not_taken_for_own_ones(run_sfa: RunSfa, molecules_file: Path, tmp_path: Path) -> None:
    """Even where there are equally many."""
    arrays = dict(np.load(molecules_file))
    own = np.zeros((len(arrays["x"]), 33), dtype=np.float32)
    np.savez(tmp_path / "own.npz", **{**arrays, "x": own})
    np.savez(tmp_path / "bare.npz", **{key: value for key, value in arrays.items() if key != "x"})
    result = run_sfa("train", tmp_path / "bare.npz", "--no-evaluate", *TINY, epochs=1, out=tmp_path / "run")
    assert "No node features in this set: degree features, 33 columns" in result.err
    refused = run_sfa("embed", tmp_path / "run", data=tmp_path / "own.npz", out=tmp_path / "z.csv")
    assert refused.code == 2
    assert "The nodes of own have features of their own; the run in" in refused.err
    assert "was trained on degree features made for them" in refused.err
    assert not (tmp_path / "z.csv").exists()
    assert run_sfa("embed", tmp_path / "run", data=tmp_path / "bare.npz", out=tmp_path / "z.csv").code == 0


def test_a_recipe_is_found_by_either_name_of_a_set() -> None:
    assert load_recipe("graphcl", "tu:NCI1") == load_recipe("graphcl/nci1")


def test_one_file_for_a_run_of_sets_is_told_where_to_go(
    run_sfa: RunSfa, graph_run: Path, planted_file: Path, tmp_path: Path
) -> None:
    arrays = dict(np.load(planted_file))
    np.savez(tmp_path / "one.npz", **{**arrays, "x": arrays["x"][:, :4]})
    result = run_sfa("embed", graph_run, data=tmp_path / "one.npz", out=tmp_path / "z.csv")
    assert result.code == 2
    assert "embeds whole graphs, and one is one: put its file into a folder, which is a set." in result.err


def test_nothing_to_score_is_an_error_under_all_protocols_too(
    run_sfa: RunSfa, molecules_file: Path, tmp_path: Path
) -> None:
    arrays = {key: value for key, value in np.load(molecules_file).items() if key != "y"}
    np.savez(tmp_path / "bare.npz", **arrays)
    assert run_sfa("train", tmp_path / "bare.npz", *TINY, epochs=1, out=tmp_path / "run").code == 0
    result = run_sfa("evaluate", tmp_path / "run", protocol="all")
    assert (result.code, result.out) == (2, "")
    assert "No protocol is possible here: Evaluation needs labels" in result.err
    assert "--labels (labels=)" in result.err


def test_the_hint_at_a_recipe_keeps_the_map(run_sfa: RunSfa, tmp_path: Path) -> None:
    options = {"epochs": 1, "batch_size": 1}
    result = run_sfa("train", "mutag", "--no-evaluate", *TINY, **options, out=tmp_path / "run")
    assert "--recipe graphcl --spectral sfa has its authors' for mutag." in result.err
    assert "batches of 2 (graphs)" in result.err


def test_no_name_is_no_data(run_sfa: RunSfa, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert "Say which data to use" in run_sfa("train", "").err


def test_generators_that_diverge_are_not_blamed_on_the_data(run_sfa: RunSfa, tmp_path: Path) -> None:
    result = run_sfa("train", "mutag", "--no-evaluate", method="lp-info", lr=1e12, epochs=3, out=tmp_path / "run")
    assert result.code == 1
    assert "try a smaller learning rate" in result.err


def test_one_class_or_none_is_said_instead_of_scores(run_sfa: RunSfa, molecules_file: Path, tmp_path: Path) -> None:
    arrays = dict(np.load(molecules_file))
    for name, y in (("one", np.zeros(40, dtype=int)), ("rare", (np.arange(40) < 4).astype(int))):
        np.savez(tmp_path / f"{name}.npz", **{**arrays, "y": y})
        result = run_sfa("train", tmp_path / f"{name}.npz", *TINY, epochs=1, out=tmp_path / name)
        assert result.code == 0, "labels are optional in training"
        assert "No scores: " in result.err
        assert {"one": "2 classes", "rare": "10 folds"}[name] in result.err
        assert run_sfa("evaluate", tmp_path / name).code == 2


@pytest.mark.slow
def test_a_study_of_graph_methods(run_sfa: RunSfa, molecules_file: Path, tmp_path: Path) -> None:
    command = ["study", "methods", "--datasets", molecules_file, "--method", "graphcl", "--epochs", "1"]
    result = run_sfa(*command, "--set", "method.hidden=4", ledger=tmp_path / "ledger.sqlite")
    assert result.code == 0, result.err
    for row in ("label histogram", "WL subtree counts", "untrained encoder", "graphcl", "graphcl + SFA"):
        assert row in result.out
    assert "supervised" not in result.out
    exported = tmp_path / "ledger.json"
    assert run_sfa("ledger", "export", ledger=tmp_path / "ledger.sqlite", out=exported).code == 0
    entries = json.loads(exported.read_text())
    entries = entries["runs"] if isinstance(entries, dict) else entries
    assert {score["protocol"] for entry in entries for score in entry["scores"]} == {"tu-svm-10fold"}
    assert {len(score["values"]) for entry in entries for score in entry["scores"]} == {10}


def test_the_ablation_takes_the_views_away(run_sfa: RunSfa, molecules_file: Path, tmp_path: Path) -> None:
    result = run_sfa("study", "ablation", "--dry-run", datasets=molecules_file, ledger=tmp_path / "ledger.sqlite")
    assert result.code == 0, result.err
    assert "A_G + A_F*" in result.out
