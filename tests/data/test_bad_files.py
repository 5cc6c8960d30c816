"""What cannot be read is said in one sentence, and nothing in a file is ever run."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest
import torch
from scipy import sparse
from torch_geometric.data import Data

from sfa.data import read_graph
from sfa.errors import InputError

X = np.eye(3)
EDGES = np.array([[0, 1], [1, 2]])
ATTR = {"attr_data": [1, 1, 1], "attr_indices": [0, 1, 2], "attr_indptr": [0, 1, 2, 3], "attr_shape": [3, 3]}


class Evil:
    """Leaves a trace if anyone unpickles it."""

    def __init__(self, trace: Path) -> None:
        self.trace = trace

    def __reduce__(self) -> tuple[object, ...]:
        return Path.touch, (self.trace,)


def refused(says: str, path: Path, **others: Path) -> None:
    with pytest.raises(InputError, match=says) as caught:
        read_graph(path, **others)
    assert "\n" not in str(caught.value)


def test_a_path_that_is_no_file(tmp_path: Path) -> None:
    refused("There is no file or folder .*none.npz", tmp_path / "none.npz")
    refused("folder .* has no graph files in it .\\.npz", tmp_path)
    (tmp_path / "g.npz").touch()
    refused("label file .* is a folder; give a file in it", tmp_path / "g.npz", labels=tmp_path)
    refused("feature file .*x.npy does not exist", tmp_path / "g.npz", features=tmp_path / "x.npy")


@pytest.mark.parametrize("name", ["g.xls", "g"])
def test_an_unknown_suffix_lists_the_allowed(name: str, tmp_path: Path) -> None:
    (tmp_path / name).touch()
    refused(r"must be one of \.npz, \.csv, \.tsv, \.txt, \.pt, \.gml, \.graphml", tmp_path / name)


@pytest.mark.parametrize("suffix", ["npz", "pt", "gml", "graphml", "csv"])
@pytest.mark.parametrize("content", [b"", b"junk", b"\x80\x02\xff nonsense \x00"], ids=["empty", "junk", "nonsense"])
def test_a_file_of_nonsense(suffix: str, content: bytes, tmp_path: Path) -> None:
    (tmp_path / f"g.{suffix}").write_bytes(content)
    np.save(tmp_path / "x.npy", X)
    refused(f"g.{suffix} ", tmp_path / f"g.{suffix}", features=tmp_path / "x.npy")


@pytest.mark.parametrize("suffix", ["npz", "pt"])
def test_a_file_cut_short(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"g.{suffix}"
    if suffix == "npz":
        np.savez(path, x=X, edge_index=EDGES)
    else:
        torch.save(Data(x=torch.tensor(X), edge_index=torch.tensor(EDGES)), path)
    path.write_bytes(path.read_bytes()[:-100])
    refused("cannot be", path)


@pytest.mark.parametrize(
    ("arrays", "says"),
    [
        ({"x": X}, "no edges: the key edge_index or adj_data is missing; the file holds x"),
        ({"x": X, "edges_index": EDGES}, "is 'edge_index' meant"),
        ({"edge_index": EDGES}, "no node features; give them with features=FILE"),
        (
            {"edge_index": EDGES, **{k: v for k, v in ATTR.items() if k != "attr_indptr"}},
            "the key attr_indptr is missing; the file holds attr_data, attr_indices, attr_shape, edge_index",
        ),
        ({"edge_index": EDGES, **ATTR, "attr_indices": [0, 1, 7]}, "cannot be read"),
        ({"edge_index": EDGES, **ATTR, "attr_indptr": [0, 1]}, "cannot be read"),
        ({"edge_index": EDGES, "x": np.array([[{}], [{}]])}, "Python objects under the key 'x', which are never"),
        ({"edge_index": EDGES, "x": np.ones(3)}, r"shape \[3\]"),
        ({"edge_index": EDGES, "x": X, "y": [0, 1]}, r"labels of shape \[2\] for 3 nodes"),
        ({"edge_index": EDGES, "x": X, "node_ids": [0, 0, 1]}, "'0' is given to more than one node"),
        ({"x": X, **{k.replace("attr", "adj"): v for k, v in ATTR.items()}, "adj_shape": [3, 4]}, r"shape \[3, 4\]"),
        ({"x": X[:2], **{k.replace("attr", "adj"): v for k, v in ATTR.items()}}, "2 rows of features for 3 nodes"),
    ],
)
def test_npz_keys(arrays: dict[str, object], says: str, tmp_path: Path) -> None:
    np.savez(tmp_path / "g.npz", **arrays)  # type: ignore[arg-type]
    refused(says, tmp_path / "g.npz")


def test_a_single_array_called_npz(tmp_path: Path) -> None:
    with (tmp_path / "g.npz").open("wb") as file:
        np.save(file, X)
    refused("single NumPy array", tmp_path / "g.npz")


def test_a_scipy_adjacency_needs_features(tmp_path: Path) -> None:
    sparse.save_npz(tmp_path / "g.npz", sparse.csr_matrix(np.ones((3, 3))))
    refused("no node features; give them with features=FILE", tmp_path / "g.npz")


@pytest.mark.parametrize("suffix", ["npz", "pt"])
def test_no_file_is_ever_run(suffix: str, tmp_path: Path) -> None:
    evil = Evil(tmp_path / "trace")
    if suffix == "pt":
        torch.save({"x": evil}, tmp_path / "g.pt")
    else:
        (tmp_path / "g.npz").write_bytes(pickle.dumps(evil))
    refused("cannot be", tmp_path / f"g.{suffix}")
    assert not (tmp_path / "trace").exists()


@pytest.mark.parametrize(
    ("content", "says"),
    [([1, 2], "holds a list"), ({"x": torch.eye(2)}, "no edge_index; it holds x"), (Data(), "no edge_index")],
)
def test_pt_content(content: object, says: str, tmp_path: Path) -> None:
    torch.save(content, tmp_path / "g.pt")
    refused(says, tmp_path / "g.pt")


FEATURES = "id,f\na,1\nb,2\nc,3\n"


@pytest.mark.parametrize(
    ("edges", "features", "labels", "says"),
    [
        ("a,b\n", None, None, "e.csv has no node features; give them.*features=FILE"),
        ("a,b\nb,zz\n", FEATURES, None, "'b' - 'zz'.*no node 'zz' .they have 3, from 'a' to 'c'"),
        ("who,whom\na,b\n", FEATURES, None, "no node 'who'.*header, call its columns source and target"),
        ("a,b,1,2\n", FEATURES, None, "4 columns; an edge list"),
        ("a\nb\n", FEATURES, None, "1 column; an edge list"),
        ("a,b\nb\n", FEATURES, None, "1 columns in line 2, but 2"),
        ("a,b,heavy\n", FEATURES, None, "edge weight 'heavy'"),
        ("a,b,-1\n", FEATURES, None, "negative"),
        ("# nothing\n", FEATURES, None, "no rows"),
        ("a,a\n", FEATURES, None, "self-loops"),
        ("a,b\n", "id,f\na,1\na,2\nb,2\n", None, "node id 'a' more than once"),
        ("a,b\n", "id,f\na,1\nb,inf\n", None, "node 'b', column 'f': inf"),
        ("a,b\n", "id,f,g\na,1,red\nb,1,2\n", None, "node 'a', column 'g': 'red'"),
        ("a,b\n", "id\na\nb\n", None, "no columns"),
        ("a,b\n", "id,f\n", None, "no rows"),
        ("a,b\n", "id,f\na,1,5\nb,2,6\n", None, "3 columns in line 2, but 2 in its first row"),
        ("a,b\n", "id,f\na,1\nb,2,3,4\n", None, "4 columns in line 3, but 2 in its first row"),
        ("a,b\n", FEATURES, "a,red\nzz,blue\n", "labels the node 'zz'"),
        ("a,b\n", FEATURES, "a,red\na,blue\n", "labels the node 'a' more than once"),
        ("a,b\n", FEATURES, "a,red,3\n", "3 columns; a label file has two"),
        ("a,b\n", "id,f,label\na,1,x\nb,2,y\n", "a,red\n", "Labels are given twice"),
    ],
)
def test_text_tables(edges: str, features: str | None, labels: str | None, says: str, tmp_path: Path) -> None:
    others = {}
    for key, text in (("features", features), ("labels", labels)):
        if text is not None:
            others[key] = tmp_path / ("x.csv" if key == "features" else "y.csv")
            others[key].write_text(text)
    (tmp_path / "e.csv").write_text(edges)
    refused(says, tmp_path / "e.csv", **others)


@pytest.mark.parametrize(
    ("features", "says"),
    [
        ("id,f\n0,1\n1,2\n", "no row for the node '2' of the graph"),
        ("id,f\n0,1\n1,2\n2,3\n3,4\n", "a row for the node '3', not in the graph"),
    ],
)
def test_features_must_fit_the_nodes(features: str, says: str, tmp_path: Path) -> None:
    np.savez(tmp_path / "g.npz", edge_index=EDGES, node_ids=[0, 1, 2])
    (tmp_path / "x.csv").write_text(features)
    refused(says, tmp_path / "g.npz", features=tmp_path / "x.csv")


def test_features_given_twice(tmp_path: Path) -> None:
    np.savez(tmp_path / "g.npz", edge_index=EDGES, x=X)
    np.save(tmp_path / "x.npy", X)
    refused("Features are given twice", tmp_path / "g.npz", features=tmp_path / "x.npy")


def test_labels_given_twice(tmp_path: Path) -> None:
    np.savez(tmp_path / "g.npz", edge_index=EDGES, y=[0, 1, 0])
    (tmp_path / "x.csv").write_text("id,f,label\n0,1,a\n1,2,b\n2,3,a\n")
    refused("Labels are given twice: in the graph file", tmp_path / "g.npz", features=tmp_path / "x.csv")


def test_features_in_an_unknown_format(tmp_path: Path) -> None:
    (tmp_path / "e.csv").write_text("0,1\n")
    (tmp_path / "x.xls").touch()
    refused(r"one of \.csv, \.tsv, \.txt, \.parquet, \.npy", tmp_path / "e.csv", features=tmp_path / "x.xls")
    (tmp_path / "x.npy").write_bytes(pickle.dumps([1, 2]))
    refused("x.npy cannot be read", tmp_path / "e.csv", features=tmp_path / "x.npy")
    (tmp_path / "x.parquet").write_bytes(b"PAR1 but not really")
    refused("x.parquet cannot be read", tmp_path / "e.csv", features=tmp_path / "x.parquet")
