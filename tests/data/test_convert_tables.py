"""Tables become the same graph as a store and in memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

import sfa
from sfa.data import convert_to_store, load
from sfa.data.store import open_store
from sfa.errors import InputError

pytest.importorskip("duckdb")
NODES = 40


def table(kind: Callable[[int], Any], seed: int = 0, label: str | None = None) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    nodes = pd.DataFrame({"id": [kind(i) for i in rng.permutation(NODES)]})
    for column in range(3):
        nodes[f"f{column}"] = rng.normal(size=NODES).round(4)
    if label is not None:
        nodes["label"] = [f"{label}{i % 3}" if i % 5 else "" for i in range(NODES)]
    return nodes


def edges(kind: Callable[[int], Any], count: int = 120, weighted: bool = False) -> pd.DataFrame:
    rng = np.random.default_rng(1)
    ends = rng.integers(NODES - 2, size=(count, 2))  # two nodes have no edge; some pairs repeat, some are loops
    frame = pd.DataFrame({"source": [kind(i) for i in ends[:, 0]], "target": [kind(i) for i in ends[:, 1]]})
    if weighted:
        frame["weight"] = rng.integers(0, 4, size=count) / 3
    return frame


def require_same(stored: Any, memory: Any) -> None:
    """Check that two graphs are the same to the bit."""
    assert torch.equal(stored.edge_index, memory.edge_index)
    assert torch.equal(stored.x, memory.x)
    assert stored.x.dtype == torch.float32
    assert list(stored.node_ids) == list(memory.node_ids)
    assert [type(one) for one in stored.node_ids] == [type(one) for one in memory.node_ids]
    assert stored.get("class_names") == memory.get("class_names")
    assert (stored.get("y") is None) == (memory.get("y") is None)
    assert (stored.edge_weight is None) == (memory.edge_weight is None)
    if memory.get("y") is not None:
        assert stored.y.dtype == memory.y.dtype
        assert torch.equal(stored.y.nan_to_num(-9), memory.y.nan_to_num(-9))
    if memory.edge_weight is not None:
        torch.testing.assert_close(stored.edge_weight, memory.edge_weight, rtol=1e-6, atol=0)


IDS: dict[str, Callable[[int], Any]] = {
    "integers": lambda i: 7 * i - 3,
    "texts": lambda i: f"n {i}",
    "with zeros": lambda i: f"{i:03}",
    "counted": lambda i: i,
}


@pytest.mark.parametrize("name", IDS)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".txt"])
def test_a_store_is_the_graph_in_memory(tmp_path: Path, name: str, weighted: bool, suffix: str) -> None:
    kind = IDS["integers" if suffix == ".txt" and name == "texts" else name]  # which have blanks in them
    separator = {".csv": ",", ".tsv": "\t", ".txt": " "}[suffix]
    file, nodes = tmp_path / f"edges{suffix}", tmp_path / "nodes.csv"
    edges(kind, weighted=weighted).to_csv(file, index=False, sep=separator)
    features = table(kind, label="class ")
    (features if name != "counted" else features.sort_values("id")).to_csv(nodes, index=False)
    memory = load(file, features=nodes)
    stored = convert_to_store(file, tmp_path / "store", features=nodes)
    require_same(stored, memory)
    assert (tmp_path / "store/ids.parquet").exists() == (name != "counted")
    assert stored.edges_read == sfa.data.describe(stored)
    assert "2 isolated" in stored.edges_read
    assert ("weight 0 dropped" in stored.edges_read) == weighted
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


@pytest.mark.parametrize(
    ("content", "options"),
    [
        ("# a comment\n\n1 , 2\n 2,3\n\n3,1\n", {}),  # no header, blanks, empty lines
        ('"src","dst","rating"\n"1","2","4"\n2,3,0\n3,3,1\n2,1,2\n', {}),
        ("%\n1   2\n2\t3  \n", {}),
        (",a,b\n0,1,2\n1,2,3\n", {}),  # the index that pandas writes
        ("x;y;z\n1;2;0.5\n2;3;1e-3\n", {"source": "y", "target": "x", "weight": "z"}),
        ("source,target,weight\n1,2,1\n2,3,1\n", {}),
        ("source,target,weight\n1,2,7\n2,3,1\n", {"weight": "none"}),
        ("\ufeffuser,item\r\n1,2\r\n2,3\r\n", {"bipartite": True}),
    ],
)
def test_edge_lists_of_all_kinds(tmp_path: Path, content: str, options: dict[str, Any]) -> None:
    file, nodes = tmp_path / "edges.csv", tmp_path / "nodes.csv"
    file.write_bytes(content.encode())
    ids = ["user:1", "user:2", "item:2", "item:3", "item:9"] if "bipartite" in options else [3, 1, 2]
    nodes.write_text("".join(f"{one},{i}.5,1\n" for i, one in enumerate(ids)))
    memory = load(file, features=nodes, **options)
    require_same(convert_to_store(file, tmp_path / "store", features=nodes, **options), memory)


def parts(frame: pd.DataFrame, folder: Path, name: str, suffix: str, count: int = 3) -> None:
    for i, rows in enumerate(np.array_split(np.arange(len(frame)), count)):
        part = frame.iloc[rows].reset_index(drop=True)
        if suffix == ".parquet":
            part.to_parquet(folder / f"{name}-{i}.parquet")
        else:
            part.to_csv(folder / f"{name}-{i}.csv", index=False)


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
@pytest.mark.parametrize("name", ["integers", "texts"])
def test_several_files_and_patterns(tmp_path: Path, suffix: str, name: str) -> None:
    kind, features, lists = IDS[name], table(IDS[name], label="b"), edges(IDS[name], weighted=True)
    features.to_csv(tmp_path / "nodes.csv", index=False)
    lists.to_csv(tmp_path / "edges.csv", index=False)
    parts(lists, tmp_path, "e", suffix)
    parts(features, tmp_path, "n", suffix)
    memory = load(tmp_path / "edges.csv", features=tmp_path / "nodes.csv")
    assert kind(0) in memory.node_ids
    listed = [tmp_path / f"n-{i}{suffix}" for i in range(3)]
    require_same(convert_to_store(str(tmp_path / "e-*"), tmp_path / "a", features=listed), memory)
    pattern: Sequence[str] = [str(tmp_path / f"n-[012]{suffix}")]
    stored = convert_to_store([tmp_path / f"e-{i}{suffix}" for i in (2, 0, 1)], tmp_path / "b", features=pattern)
    require_same(stored, memory)
    assert sfa.data.fingerprint(stored) == sfa.data.fingerprint(open_store(tmp_path / "a"))


@pytest.mark.parametrize("labels", ["id,label\nn 3,4\nn 5,2\nn 6,-1\n", "n 1,0.5\nn 2,7\n", "n 1,a\nn 2,b\nn 3,\n"])
def test_labels_in_a_file_of_their_own(tmp_path: Path, labels: str) -> None:
    file, nodes, named = tmp_path / "edges.csv", tmp_path / "nodes.parquet", tmp_path / "labels.csv"
    edges(IDS["texts"]).to_csv(file, index=False)
    table(IDS["texts"]).set_index("id").to_parquet(nodes)  # the id is the index of the frame, last in the file
    named.write_text(labels)
    memory = load(file, features=nodes, labels=named)
    require_same(convert_to_store(file, tmp_path / "store", features=nodes, labels=named), memory)


def test_features_by_row_and_in_half_the_room(tmp_path: Path) -> None:
    x = np.random.default_rng(0).normal(size=(NODES, 5))
    np.save(tmp_path / "x.npy", x)
    edges(IDS["counted"]).to_csv(tmp_path / "edges.csv", index=False)
    memory = load(tmp_path / "edges.csv", features=tmp_path / "x.npy")
    options: dict[str, Any] = {"features": tmp_path / "x.npy", "name": "mine"}
    require_same(convert_to_store(tmp_path / "edges.csv", tmp_path / "full", **options), memory)
    half = convert_to_store(tmp_path / "edges.csv", tmp_path / "half", **options, float16=True)
    assert half.x.dtype == torch.float16
    assert half.name == "mine"
    assert torch.equal(half.x, memory.x.half())
    np.save(tmp_path / "x.npy", 1e6 * x)
    with pytest.raises(InputError, match="float16"):
        convert_to_store(tmp_path / "edges.csv", tmp_path / "third", **options, float16=True)
    assert not (tmp_path / "third").exists()


@pytest.mark.parametrize(
    ("lists", "nodes", "words"),
    [
        ("source,target\n1,9\n", "1,2\n2,3\n", "no node '9'"),
        ("source,target\n1,\n", "1,2\n2,3\n", "without a source or a target"),
        ("source,target\n01,2\n", "1,2\n2,3\n", "no node '01'"),
        ("source,target\n1.0,2\n", "1,2\n2,3\n", "no node '1.0'"),
        ("source,target,weight\n1,2,x\n", "1,2\n2,3\n", "weight 'x'"),
        ("source,target,weight\n1,2,-1\n", "1,2\n2,3\n", "weight '-1'"),
        ("source,target,weight\n1,2,nan\n", "1,2\n2,3\n", "not negative"),
        ("source,target\n1,1\n", "1,2\n2,3\n", "no edges"),
        ("source,target\n1,2,3\n", "1,2\n2,3\n", "cannot be read|columns in line"),
        ("source,target\n1,2\n", "1,2\n1,3\n", "'1' more than once"),
        ("source,target\n1,2\n", "id,f\n1,2\n2,Rome\n", "'Rome'"),
        ("source,target\n1,2\n", "id,f\n1,2\n2,\n", "missing|finite"),
        ("source,target\n1,2\n", "1,2\n", "1 row"),
        ("a,b\nc,d\n", "1,2\n2,3\n", "no node 'a'"),
    ],
)
def test_bad_tables_are_one_sentence(tmp_path: Path, lists: str, nodes: str, words: str) -> None:
    (tmp_path / "edges.csv").write_text(lists)
    (tmp_path / "nodes.csv").write_text(nodes)
    with pytest.raises(InputError, match=words) as error:
        convert_to_store(tmp_path / "edges.csv", tmp_path / "store", features=tmp_path / "nodes.csv")
    assert "\n" not in str(error.value)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["edges.csv", "nodes.csv"]


@pytest.mark.parametrize(
    ("labels", "words"),
    [("1,a\n1,b\n", "'1' more than once"), ("1,a\n7,b\n", "node '7'"), ("1,a,3\n2,b,1\n", "3 columns")],
)
def test_bad_labels_are_one_sentence(tmp_path: Path, labels: str, words: str) -> None:
    for name, content in {"edges": "1,2\n", "nodes": "1,2\n2,3\n", "labels": labels}.items():
        (tmp_path / f"{name}.csv").write_text(content)
    options: dict[str, Any] = {name: tmp_path / f"{name}.csv" for name in ("features", "labels")}
    options["features"] = tmp_path / "nodes.csv"
    with pytest.raises(InputError, match=words):
        convert_to_store(tmp_path / "edges.csv", tmp_path / "store", **options)


def test_options_that_do_not_fit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, content in {"edges": "1,2\n", "other": "1,2\n2,1\n", "nodes": "1,2\n2,3\n"}.items():
        (tmp_path / f"{name}.csv").write_text(content)
    file, nodes, out = (tmp_path / name for name in ("edges.csv", "nodes.csv", "store"))
    with pytest.raises(InputError, match="no node features"):
        convert_to_store(file, out)
    with pytest.raises(InputError, match="Several files"):
        convert_to_store([file, tmp_path / "other.csv"], out)
    with pytest.raises(InputError, match="no file .*none"):
        convert_to_store(tmp_path / "none-*.csv", out, features=nodes)
    with pytest.raises(InputError, match="size such as 2GB"):
        convert_to_store(file, out, features=nodes, memory="much")
    monkeypatch.setattr("sfa.data.convert_tables.find_spec", lambda name: None)
    with pytest.raises(InputError, match=r"sfa\[store\]"):
        convert_to_store(file, out, features=nodes)
    assert convert_to_store(file, out, node_features="degree:4").x.shape == (2, 4)


def test_tables_larger_than_the_memory(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    ends = rng.integers(20_000, size=(600_000, 2))
    pd.DataFrame(ends, columns=["source", "target"]).to_parquet(tmp_path / "edges.parquet")
    np.save(tmp_path / "x.npy", rng.normal(size=(20_000, 2)).astype(np.float32))
    stored = convert_to_store(
        tmp_path / "edges.parquet", tmp_path / "store", features=tmp_path / "x.npy", memory="20MB"
    )
    expected = sfa.data.build_graph(np.load(tmp_path / "x.npy"), ends.T)
    require_same(stored, expected)
