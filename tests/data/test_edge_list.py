"""Edge lists as people write them: what is read as what, and what is said of it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from sfa.data import as_graph, describe, fingerprint, load
from sfa.errors import InputError

RunSfa = Callable[..., Any]
TINY = ["--node-features", "degree", "--hidden", "8", "--epochs", "1", "--no-evaluate"]
EDGES = pd.DataFrame({"source": ["a", "b", "c", "d"], "target": ["b", "c", "d", "a"]})
RATINGS = pd.DataFrame(
    {
        "user": [5, 6, 7, 5],
        "item": [5, 7, 6, 6],
        "rating": [1, 5, 3, 2],
        "timestamp": [1600000000 + i for i in range(4)],
    }
)


def read(frame: pd.DataFrame, folder: Path, index: bool = False, **options: Any) -> Any:
    frame.to_csv(folder / "e.csv", index=index)
    return load(folder / "e.csv", node_features="degree", **options)


@pytest.mark.parametrize("rename", [{}, {"source": "person", "target": "colleague"}])
@pytest.mark.parametrize("extra", [{}, {"weight": [2.0, 3, 4, 5]}, {"since": [1999, 2000, 2001, 2002]}])
def test_the_index_that_pandas_writes_is_ignored(rename: Any, extra: Any, tmp_path: Path) -> None:
    frame = EDGES.rename(columns=rename).assign(**extra)
    plain = read(frame.rename(columns={"person": "source", "colleague": "target"}), tmp_path)
    for own in (frame, frame.set_axis([0, 3, 4, 9])):  # whole, and what is left of a larger table
        data = read(own, tmp_path, index=True)
        assert fingerprint(data) == fingerprint(plain)
        assert data.node_ids == ["a", "b", "c", "d"]
        assert data.num_edges == 8, "the first edge, of row 0, is there too"
        assert "a column without name" in describe(data)
    assert ("edge_weight" in data) == ("weight" in extra)


@pytest.mark.parametrize("name", ["timestamp", "year", "created_at", "time", "Unnamed: 2", "cost"])
def test_weights_are_not_guessed(name: str, tmp_path: Path) -> None:
    data = read(EDGES.assign(**{name: [10.0, 20, 30, 40]}), tmp_path)
    assert "edge_weight" not in data
    assert f"ignored: {name};" in describe(data)
    asked = read(EDGES.assign(**{name: [10.0, 20, 30, 40]}), tmp_path, weight=name)
    assert sorted(set(asked.edge_weight.tolist())) == [10, 20, 30, 40]


@pytest.mark.parametrize("name", ["weight", "w", "Value", "rating", "count", "strength", "score"])
def test_weights_are_found_by_name_and_refused_by_none(name: str, tmp_path: Path) -> None:
    frame = EDGES.assign(kind="x", **{name: [1, 2, 3, 4]})
    assert f"weights from {name!r} 1 to 4, ignored: kind;" in describe(read(frame, tmp_path))
    assert "edge_weight" not in read(frame, tmp_path, weight="none")


def test_a_third_column_without_header_is_the_weight(tmp_path: Path) -> None:
    (tmp_path / "e.txt").write_text("a b 2\nb c 3\n")
    data = load(tmp_path / "e.txt", node_features="degree")
    assert data.edge_weight.tolist() == [2, 2, 3, 3]
    assert (
        describe(data)
        == "2 edges column 1 -> column 2, weights from 'column 3' 2 to 3; undirected, 1 component, 0 isolated"
    )


@pytest.mark.parametrize(
    "header", ["note,from,to", "note,user_id,movieId", "note,node_1,node_2", "note,Source ID,Target ID", "note,u,v"]
)
def test_ends_are_found_by_name_wherever_they_stand(header: str, tmp_path: Path) -> None:
    (tmp_path / "e.csv").write_text(f"{header}\nx,a,b\ny,b,c\n")
    assert load(tmp_path / "e.csv", node_features="degree").node_ids == ["a", "b", "c"]


def test_named_columns_are_taken_from_many(tmp_path: Path) -> None:
    frame = pd.DataFrame({"id": [7, 8], "x": ["a", "b"], "y": ["p", "q"], "z": ["b", "c"], "cost": [2, 3]})
    data = read(frame, tmp_path, source="x", target="z", weight="cost")
    assert data.node_ids == ["a", "b", "c"]
    assert data.edge_weight.tolist() == [2, 2, 3, 3]
    with pytest.raises(InputError, match=r"no column 'Z'.*'z'"):
        read(frame, tmp_path, source="x", target="Z")


def test_a_matrix_is_no_edge_list(tmp_path: Path) -> None:
    matrix = pd.DataFrame([[0, 1, 1], [1, 0, 0], [1, 0, 0]], index=list("abc"), columns=list("abc"))
    with pytest.raises(InputError, match="--source and --target"):
        read(matrix, tmp_path, index=True)


def test_empty_cells_are_no_node(tmp_path: Path) -> None:
    frame = EDGES.assign(weight=1).replace({"target": {"c": None}, "source": {"d": None}})
    with pytest.raises(InputError, match=r"line 3 \('b' - ''\), line 5 \('' - 'a'\); fill or remove"):
        read(frame, tmp_path)


def test_two_kinds_of_things_may_have_the_same_numbers(tmp_path: Path) -> None:
    merged = read(RATINGS, tmp_path)
    assert merged.node_ids == [5, 6, 7]
    assert "user 5 and item 5 are one node" in describe(merged)
    assert "--bipartite" in describe(merged)
    data = read(RATINGS, tmp_path, bipartite=True)
    assert data.node_ids == ["user:5", "item:5", "user:6", "item:7", "user:7", "item:6"]
    assert data.edge_weight.sum() == 2 * (1 + 5 + 3 + 2)
    assert "--bipartite" not in describe(data)
    for names in (["user", "item"], ["source", "target"], ["person_a", "person_b"], ["user1", "user2"]):
        shifted = RATINGS.set_axis([*names, "rating", "timestamp"], axis=1)
        shifted[names[1]] += 100 * (names[1] == "item")  # no number in both columns
        assert "one node" not in describe(read(shifted, tmp_path))


def test_what_was_read_is_said(tmp_path: Path) -> None:
    frame = pd.DataFrame(
        {"source": list("abacx"), "target": list("bacxx"), "rating": [1, 3, 0, 5, 4], "type": list("ppppp")}
    )
    (tmp_path / "y.csv").write_text("id,label\nalone,1\na,0\n")
    data = read(frame, tmp_path, labels=tmp_path / "y.csv")
    assert describe(data) == (
        "5 edges source -> target, weights from 'rating' 0 to 5, ignored: type; undirected, 1 repeated pair merged, "
        "1 self-loop dropped, 1 of weight 0 dropped, 3 components, 1 isolated"
    )
    assert describe(as_graph(data)) == "2 edges; undirected, 3 components, 1 isolated"
    assert describe(load("mutag")).startswith("188 graphs, 3721 edges; undirected, 188 components")


def test_the_command_says_what_it_read_and_remembers_how(
    run_sfa: RunSfa, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    RATINGS.to_csv("r.csv")
    result = run_sfa("train", "r.csv", *TINY, out="merged")
    assert result.code == 0, result.err
    assert "4 edges user -> item, weights from 'rating' 1 to 5, ignored: a column without name, timestamp" in result.err
    assert "user 5 and item 5 are one node" in result.err
    assert run_sfa("train", "r.csv", *TINY, "--quiet", out="quiet").err == ""

    result = run_sfa("train", "r.csv", *TINY, "--bipartite", weight="timestamp", out="apart")
    assert result.code == 0, result.err
    source = json.loads(Path("apart/run.json").read_text())["source"]
    assert (source["weight"], source["bipartite"], source["source"]) == ("timestamp", True, None)
    assert run_sfa("embed", "apart", out="z.csv").code == 0
    assert pd.read_csv("z.csv")["node_id"].tolist()[:2] == ["user:5", "item:5"]
    resumed = run_sfa("train", "--resume", "--no-evaluate", out="apart")
    assert (resumed.code, "weights from 'timestamp'" in resumed.err) == (0, True)
    other = run_sfa("embed", "apart", "--bipartite", "--node-features", "degree", data="r.csv", out="z2.csv")
    assert other.code == 0, other.err
    for words, says in (
        (["train", "cora", "--weight", "w"], "--weight"),
        (["train", "r.csv", *TINY, "--weight", "ratings"], "'rating'"),
        (["train", "--resume", "--out", "apart", "--bipartite"], "belong to data"),
    ):
        refused = run_sfa(*words)
        assert (refused.code, len(refused.err.splitlines())) == (2, 1)
        assert says in refused.err


def test_a_run_of_before_reads_its_file_as_it_did(
    run_sfa: RunSfa, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Version 0.1 took any third column of numbers as the weight, and its runs do not say how columns are read."""
    monkeypatch.chdir(tmp_path)
    EDGES.assign(cost=[1, 2, 3, 4]).to_csv("e.csv", index=False)
    assert run_sfa("train", "e.csv", *TINY, "--weight", "cost", out="run").code == 0
    record = json.loads(Path("run/run.json").read_text())
    for key in ("source", "target", "weight", "bipartite"):
        del record["source"][key]
    Path("run/run.json").write_text(json.dumps(record))
    result = run_sfa("embed", "run", out="z.csv")
    assert (result.code, "weights from 'cost' 1 to 4" in result.err) == (0, True), result.err


def test_column_options_are_of_edge_lists(tmp_path: Path) -> None:
    (tmp_path / "g.gml").write_text("graph [ node [ id 4 x 1 ] node [ id 9 x 2 ] edge [ source 9 target 4 ] ]")
    with pytest.raises(InputError, match=r"g\.gml is no edge list .*--source"):
        load(tmp_path / "g.gml", source="w")
    with pytest.raises(InputError, match="Unknown edge attribute 'w'"):
        load(tmp_path / "g.gml", weight="w")


def test_all_defects_of_features_are_said_at_once(run_sfa: RunSfa, tmp_path: Path) -> None:
    x = pd.DataFrame({"age": [1.0] * 30, "size": ["1"] * 30, "city": ["Rome"] * 30}, index=[f"n{i}" for i in range(30)])
    x.loc["n3", "age"], x.loc["n4", "age"], x.loc["n5", "size"] = None, float("inf"), "tall"
    x.to_csv(tmp_path / "x.csv")
    (tmp_path / "e.csv").write_text("source,target\nn0,n1\n")
    result = run_sfa("train", tmp_path / "e.csv", features=tmp_path / "x.csv", encode="none")
    assert (result.code, len(result.err.splitlines())) == (2, 1)
    assert (
        "node 'n3', column 'age': empty; node 'n4', column 'age': inf; node 'n5', column 'size': 'tall'; "
        "node 'n0', column 'city': 'Rome' (no row has a number)."
    ) in result.err
    x.loc["n10":"n24", "size"] = "?"  # type: ignore[misc]
    x.to_csv(tmp_path / "x.csv")
    more = run_sfa("train", tmp_path / "e.csv", features=tmp_path / "x.csv", encode="none").err
    assert more.count("column ") == 10
    assert more.rstrip().endswith("; and 9 more.")


@pytest.mark.parametrize("method", ["node2vec", "deepwalk"])
def test_methods_of_walks_train_on_edges_alone(method: str, run_sfa: RunSfa, tmp_path: Path) -> None:
    EDGES.to_csv(tmp_path / "edges.csv", index=False)
    run = tmp_path / "run"
    assert run_sfa("train", tmp_path / "edges.csv", method=method, hidden=4, epochs=1, out=run).code == 0
    assert len(pd.read_parquet(run / "embeddings.parquet")) == 4
    assert run_sfa("neighbors", run, "a").code == 0
    again = run_sfa("train", tmp_path / "edges.csv", "--resume", method=method, hidden=4, epochs=1, out=run)
    assert again.code == 0
    refused = run_sfa("train", tmp_path / "edges.csv", "--epochs", "1", out=tmp_path / "other")
    assert (refused.code, "no node features" in refused.err) == (2, True)
