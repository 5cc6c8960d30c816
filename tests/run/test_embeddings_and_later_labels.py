"""Training leaves embeddings with the names of users, and labels may come after it, as may a change of place."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from sfa.errors import InputError
from sfa.run import compare_runs, evaluate_run, open_run, train_run

OPTIONS = ["--hidden", 8, "--node-features", "spectral:4", "--epochs", 1]
NAMES = [f"person {number}" for number in range(60)]


@pytest.fixture(autouse=True)
def workplace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Write a table of friends in two clubs, and a table of their clubs."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    linked = rng.random((60, 60)) < np.where(np.arange(60)[:, None] % 2 == np.arange(60) % 2, 0.3, 0.02)
    pairs = [(NAMES[i], NAMES[j]) for i, j in zip(*np.triu(linked, 1).nonzero(), strict=True)]
    pd.DataFrame(pairs, columns=["source", "target"]).to_csv("friends.csv", index=False)
    pd.DataFrame({"id": NAMES, "label": ["chess", "judo"] * 30}).to_csv("clubs.csv", index=False)


@pytest.fixture
def run_path(run_sfa: Callable[..., Any]) -> Path:
    assert run_sfa("train", "friends.csv", *OPTIONS, "--no-evaluate", "--out", "run").code == 0
    return Path("run")


def test_training_writes_the_embeddings_with_names(run_path: Path) -> None:
    frame = pd.read_parquet(run_path / "embeddings.parquet").set_index("node_id")
    opened = open_run(run_path)
    assert sorted(frame.index) == sorted(NAMES)
    assert frame.index.tolist() == opened.data.node_ids
    np.testing.assert_array_equal(frame.to_numpy(), opened.method.embed(opened.data).numpy())


def test_another_file_is_named_or_none(run_sfa: Callable[..., Any]) -> None:
    assert run_sfa("train", "friends.csv", *OPTIONS, "--no-evaluate", "--out", "a", "--embed", "z.npy").code == 0
    ids = pd.read_csv("z.ids.csv")
    assert ids["node_id"].tolist() == open_run("a").data.node_ids
    assert np.load("z.npy").shape == (60, 8)
    assert run_sfa("train", "friends.csv", *OPTIONS, "--no-evaluate", "--out", "b", "--embed", "none").code == 0
    assert not [file for run in ("a", "b") for file in Path(run).glob("embeddings.*")]
    for file, reason in (("friends.csv", "choose another --embed"), ("z.doc", "must end in")):
        refused = run_sfa("train", "friends.csv", *OPTIONS, "--out", "c", "--embed", file)
        assert refused.code == 2
        assert reason in refused.err
    assert not Path("c").exists()


def test_a_run_whose_data_moved_says_where_to_give_them(run_path: Path, run_sfa: Callable[..., Any]) -> None:
    Path("moved").mkdir()
    Path("friends.csv").rename("moved/friends.csv")
    refused = run_sfa("evaluate", run_path)
    assert refused.code == 2
    assert "no longer in" in refused.err
    assert "--data" in refused.err
    again = run_sfa("evaluate", run_path, "--data", "moved/friends.csv", "--labels", "clubs.csv", "--protocol", "knn")
    assert again.code == 0
    assert "neighbor-contrast" in again.out


def test_labels_given_later_score_as_those_of_training(run_path: Path, run_sfa: Callable[..., Any]) -> None:
    assert "effective rank" in run_sfa("evaluate", run_path).out
    later = run_sfa("evaluate", run_path, "--labels", "clubs.csv", "--json")
    options = {"hidden": 8, "epochs": 1, "node_features": "spectral:4"}
    before = evaluate_run(train_run("friends.csv", labels="clubs.csv", evaluate=False, **options))
    assert json.loads(later.out)["scores"] == before.as_dict()["scores"]


def test_scores_of_other_labels_are_not_used_again(run_path: Path) -> None:
    turned = pd.DataFrame({"id": NAMES, "label": ["chess"] * 30 + ["judo"] * 30})
    turned.to_csv("turned.csv", index=False)
    first, second = (
        compare_runs(run_path, run_path, protocol="clustering", labels=file).scores[0].mean("nmi")
        for file in ("clubs.csv", "turned.csv")
    )
    assert first > second + 20


def test_the_page_takes_labels_later(run_path: Path, run_sfa: Callable[..., Any]) -> None:
    assert run_sfa("report", run_path, "--labels", "clubs.csv", "--protocol", "knn").code == 0
    page = (run_path / "report.html").read_text()
    assert "judo" in page
    assert "--labels clubs.csv" in page


def test_wrong_labels_are_told_as_in_training(run_path: Path) -> None:
    Path("strange.csv").write_text("id,label\nperson 1,chess\nperson 77,judo\n")
    with pytest.raises(InputError, match="labels the node 'person 77', which the graph does not have"):
        evaluate_run(run_path, labels="strange.csv")
    with pytest.raises(InputError, match=r"label file .* does not exist"):
        evaluate_run(run_path, labels="lost.csv")
    labeled = train_run("friends.csv", labels="clubs.csv", evaluate=False, hidden=8, epochs=1, node_features="degree")
    with pytest.raises(InputError, match="Labels are given twice"):
        evaluate_run(labeled, labels="clubs.csv")


def test_commands_find_neighbors_links_and_clusters(run_path: Path, run_sfa: Callable[..., Any]) -> None:
    near = run_sfa("neighbors", run_path, "person 3", "-k", 4)
    assert near.code == 0
    assert near.out.count("person") == 5  # and the one that was asked about
    unknown = run_sfa("neighbors", run_path, "persn 3")
    assert (unknown.code, "did you mean 'person 3'" in unknown.err) == (2, True)

    assert run_sfa("suggest-links", run_path, "-k", 6, "--out", "links.csv").code == 0
    friends = {frozenset(pair) for pair in pd.read_csv("friends.csv").to_numpy().tolist()}
    suggested = pd.read_csv("links.csv")
    assert len(suggested) == 6
    assert not friends & {frozenset(pair) for pair in suggested[["source", "target"]].to_numpy().tolist()}

    found = run_sfa("cluster", run_path, "-k", 2, "--out", "clusters.tsv")
    assert "links inside, %" in found.out
    assert pd.read_csv("clusters.tsv", sep="\t")["cluster"].value_counts().sum() == 60
    assert run_sfa("cluster", run_path, "--out", "clusters.doc").code == 2


def test_links_of_two_kinds_of_nodes_join_both(run_sfa: Callable[..., Any]) -> None:
    rng = np.random.default_rng(0)
    bought = pd.DataFrame({"user": rng.integers(20, size=80), "item": rng.integers(20, size=80)})
    bought.to_csv("bought.csv", index=False)
    options = ["--bipartite", *OPTIONS, "--no-evaluate", "--out", "bought"]
    assert run_sfa("train", "bought.csv", *options).code == 0
    frame = open_run("bought").suggest_links(30).frame
    kinds = frame[["source", "target"]].map(lambda one: one.split(":")[0])
    assert (kinds["source"] != kinds["target"]).all()


def test_a_set_has_neighbors_and_no_links(molecules: Any) -> None:
    run = train_run(molecules, epochs=1, hidden=4, out="molecules", evaluate=False)
    assert list(run.neighbors(molecules.graph_ids[0], 2).frame) == ["graph_id", "cosine"]
    assert list(run.cluster(2).frame) == ["graph_id", "cluster"]
    with pytest.raises(InputError, match="between the nodes of one graph"):
        run.suggest_links()


def test_tables_of_labels_as_people_write_them(run_path: Path) -> None:
    expected = evaluate_run(run_path, protocol="knn", labels="clubs.csv").of["knn"][-1]
    clubs = pd.read_csv("clubs.csv")
    clubs.rename(columns={"id": "person", "label": "group"}).to_csv("names.csv", index=False)
    clubs.to_csv("index.csv")
    clubs.to_csv("bare.csv", index=False, header=False)
    series = clubs.set_index("id")["label"]
    for labels in ("names.csv", "index.csv", "bare.csv", series, series.to_dict()):
        found = evaluate_run(run_path, protocol="knn", labels=labels).of["knn"][-1]
        assert found.values == expected.values
    with pytest.raises(InputError, match="not a list"):
        evaluate_run(run_path, labels=["chess"] * 60)
    with pytest.raises(InputError, match="labels= is a file where the data are one"):
        train_run("friends.csv", labels=series, node_features="degree")


def test_new_people_need_no_order_of_columns(run_sfa: Callable[..., Any]) -> None:
    people = pd.DataFrame({"person": NAMES, "age": np.arange(60.0), "city": ["Rome", "Oslo", "Bern"] * 20})
    people.to_csv("people.csv", index=False)
    assert run_sfa("train", "friends.csv", "--features", "people.csv", "--hidden", 8, "--epochs", 1, out="a").code == 0
    people[["city", "person", "age"]].to_csv("people.csv", index=False)
    assert run_sfa("embed", "a", "--data", "friends.csv", "--features", "people.csv", out="z.npy").code == 0
    np.testing.assert_array_equal(np.load("z.npy"), open_run("a", features="people.csv").embedding())


def test_methods_without_features_need_none_later_either(run_sfa: Callable[..., Any]) -> None:
    options = ["--method", "deepwalk", "--hidden", 4, "--epochs", 1]
    assert run_sfa("train", "friends.csv", *options, out="a").code == 0
    assert run_sfa("embed", "a", "--data", "friends.csv", out="z.npy").code == 0
