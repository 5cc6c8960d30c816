"""A user's own graphs: a folder with one file a graph, and files that hold many."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import torch
from torch_geometric.data import Data

from sfa.data import build_graphs, fingerprint, load, remark
from sfa.errors import InputError

X = np.arange(14.0).reshape(7, 2)
WANTED = build_graphs(X, [[0, 2, 3, 5], [1, 3, 4, 6]], [0, 2, 5, 7], y=["b", "a", "b"])
BARE = build_graphs(None, [[0, 2, 3, 5], [1, 3, 4, 6]], [0, 2, 5, 7], y=["b", "a", "b"])


def write_folder(folder: Path, *, features: bool = True) -> Path:
    """A GML file, an edge list whose features come in another order, and a GraphML file; labels of all three."""
    folder.mkdir()
    pair, path = nx.path_graph(2), nx.path_graph(2)
    if features:
        nx.set_node_attributes(pair, {i: X[i].tolist() for i in range(2)}, "x")
        nx.set_node_attributes(path, {i: " ".join(map(str, X[5 + i])) for i in range(2)}, "x")
        table = pd.DataFrame(X[2:5], index=pd.Index(["r", "s", "t"], name="id"))
        table.to_csv(folder / "bond.features.csv")
    nx.write_gml(pair, folder / "aspirin.gml")
    (folder / "bond.csv").write_text("source,target\nr,s\ns,t\n")
    nx.write_graphml(path, folder / "caffeine.graphml")
    (folder / "labels.csv").write_text("id,label\ncaffeine,b\naspirin,b\nbond,a\n")
    (folder / "notes.md").write_text("left alone")
    (folder / ".hidden.csv").write_text("left alone")
    (folder / "more").mkdir()
    return folder


def test_a_folder_is_a_set_in_the_order_of_its_names(tmp_path: Path) -> None:
    data = load(write_folder(tmp_path / "mine"))
    assert fingerprint(data) == fingerprint(WANTED)
    assert (data.graph_ids, data.class_names, data.name) == (["aspirin", "bond", "caffeine"], ["a", "b"], "mine")
    assert remark(data) is None


def test_a_folder_by_every_way_of_writing_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_folder(tmp_path / "mine")
    monkeypatch.chdir(tmp_path)
    for path in ("mine", "mine/", "./mine", str(tmp_path / "mine")):
        assert load(path).name == "mine"
    monkeypatch.chdir(tmp_path / "mine")
    assert load(".").name == "mine"


def test_labels_from_a_file_of_their_own(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "mine")
    (tmp_path / "other.csv").write_text("aspirin,1\ncaffeine,0\n")
    (folder / "labels.csv").unlink()
    assert "y" not in load(folder)
    data = load(folder, labels=tmp_path / "other.csv")
    assert data.y.tolist() == [1, -1, 0]
    (folder / "classes.csv").write_text("aspirin,1\ncaffeine,0\n")  # it is not a graph, then
    assert fingerprint(load(folder, labels=folder / "classes.csv")) == fingerprint(data)
    (folder / "classes.csv").unlink()
    (folder / "labels.csv").write_text("id,label\naspirin,z\n")  # nor is this, whose place another takes
    assert fingerprint(load(folder, labels=tmp_path / "other.csv")) == fingerprint(data)


def test_without_features_degrees_stand_in(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "mine", features=False)
    assert fingerprint(load(folder)) == fingerprint(BARE)
    assert remark(load(folder)) == "No node features in this set: degree features, 33 columns"
    assert load(folder, node_features="degree:5").x.shape == (7, 5)
    with pytest.raises(InputError, match="cannot have random node features"):
        load(folder, node_features="random")


def test_features_beside_any_format_and_as_numbers_only(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "mine", features=False)
    np.save(folder / "aspirin.features.npy", X[:2])
    np.save(folder / "caffeine.features.npy", X[5:])
    (folder / "bond.csv").write_text("0,1\n1,2\n")
    np.save(folder / "bond.features.npy", X[2:5])
    assert fingerprint(load(folder)) == fingerprint(WANTED)


def test_graphs_without_edges_and_with_one_node(tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    nx.write_gml(nx.empty_graph(1), folder / "a.gml")
    nx.write_gml(nx.empty_graph(3), folder / "b.gml")
    data = load(folder)
    assert (data.ptr.tolist(), data.num_edges) == ([0, 1, 4], 0)
    for name, rows in (("a", 1), ("b", 2)):
        (folder / f"{name}.gml").unlink()
        (folder / f"{name}.csv").write_text("source,target\n")
        np.save(folder / f"{name}.features.npy", X[:rows])
    data = load(folder)
    assert (data.ptr.tolist(), data.num_edges) == ([0, 1, 3], 0)


def test_labels_of_nodes_do_not_count(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "mine")
    graph = nx.path_graph(2)
    nx.set_node_attributes(graph, {i: {"x": X[i].tolist(), "y": i} for i in range(2)})
    nx.write_gml(graph, folder / "aspirin.gml")
    table = pd.DataFrame(X[2:5], index=pd.Index(["r", "s", "t"], name="id"))
    table.assign(label=["p", "q", "q"]).to_csv(folder / "bond.features.csv")
    assert fingerprint(load(folder)) == fingerprint(WANTED)


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("labels.csv", "id,label\nghost,1\n", r"labels.csv labels the graph 'ghost', which the set does not have"),
        ("labels.csv", "id,label\nbond,1\nbond,2\n", "labels the graph 'bond' more than once"),
        ("labels.csv", "id,label,why\nbond,1,x\n", "has 3 columns; a label file has two, the graph id and its label"),
        ("aspirin.gml", "graph [ node", r"aspirin\.gml cannot be read, it may be damaged"),
        ("bond.csv", "source,target\nr,z\n", "bond.csv has an edge 'r' - 'z', but the features have no node 'z'"),
        ("bond.features.csv", "id,0\nr,1\ns,2\nt,3\n", "'aspirin' has 2 features a node, but the graph 'bond' has 1 "),
        ("bond.features.csv", "id,0,1\nr,1,nan\ns,2,2\nt,3,3\n", "bond.features.csv.*node 'r', column '1': empty"),
        ("bond.features.csv", "id,0,1\nr,one,1\n", "bond.features.csv.*node 'r', column '0': 'one'"),
        ("bond.features.csv", "", r"bond\.features\.csv has no rows"),
        ("caffeine.graphml", "", r"caffeine\.graphml cannot be read"),
        ("drug.csv", "source,target\na,b\n", "'aspirin' has 2 features a node, but the graph 'drug' has none"),
        ("bond.gml", "graph [ node [ id 0 ] ]", "graph id 'bond' is given to more than one graph"),
        ("ghost.features.csv", "id,0\nr,1\n", "features of a graph 'ghost', which .*mine does not have"),
        ("aspirin.features.csv", "id,0,1\n0,1,1\n1,1,1\n", "In the graph 'aspirin': features are given twice"),
        ("MUTAG_graph_indicator.txt", "1\n1\n", "raw files of a TUDataset in it: load it by its name, tu:NAME"),
    ],
)
def test_what_is_wrong_in_a_folder_is_said(name: str, content: str, says: str, tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "mine")
    (folder / name).write_text(content)
    with pytest.raises(InputError, match=says) as caught:
        load(folder)
    assert "\n" not in str(caught.value)


def test_a_folder_that_holds_no_set(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "labels.csv").write_text("id,label\na,1\n")
    with pytest.raises(InputError, match=r"files in it \(\.npz"):
        load(tmp_path / "mine")
    nx.write_gml(nx.path_graph(3), tmp_path / "mine" / "a.gml")
    with pytest.raises(InputError, match="so leave out features="):
        load(tmp_path / "mine", features=tmp_path / "x.npy")
    with pytest.raises(InputError, match=r"label file .* does not exist"):
        load(tmp_path / "mine", labels=tmp_path / "none.csv")
    with pytest.raises(InputError, match="no file or folder"):
        load(tmp_path / "nowhere")


def test_a_folder_that_may_not_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As the system says it; root, who tests here, could read a folder of any mode."""

    def refuse(self: Path) -> None:
        raise PermissionError(errno.EACCES, "Permission denied", str(self))

    write_folder(tmp_path / "mine")
    monkeypatch.setattr(Path, "iterdir", refuse)
    with pytest.raises(InputError, match="cannot be read: Permission"):
        load(tmp_path / "mine")


ARRAYS: dict[str, Any] = {
    "x": X,
    "edge_index": np.array([[0, 2, 3, 5], [1, 3, 4, 6]]),
    "ptr": np.array([0, 2, 5, 7], dtype=np.uint16),
    "y": ["b", "a", "b"],
}


def test_an_npz_with_ptr_is_a_set(tmp_path: Path) -> None:
    np.savez(tmp_path / "mine.npz", **ARRAYS, graph_ids=["p", "q", "r"])
    data = load(tmp_path / "mine.npz")
    assert fingerprint(data) == fingerprint(WANTED)
    assert (data.graph_ids, data.class_names, data.name) == (["p", "q", "r"], ["a", "b"], "mine")
    np.savez(tmp_path / "bare.npz", **{key: ARRAYS[key] for key in ("edge_index", "ptr", "y")})
    assert fingerprint(load(tmp_path / "bare.npz")) == fingerprint(BARE)
    assert load(tmp_path / "bare.npz", node_features="degree:7").x.shape == (7, 7)


@pytest.mark.parametrize("ids", [None, ["p", "q", "r"]])
def test_labels_of_a_set_from_a_file_of_their_own(ids: list[str] | None, tmp_path: Path) -> None:
    arrays = {key: ARRAYS[key] for key in ("x", "edge_index", "ptr")} | ({} if ids is None else {"graph_ids": ids})
    np.savez(tmp_path / "mine.npz", **arrays)
    first, _, last = ids or ["0", "1", "2"]
    (tmp_path / "y.csv").write_text(f"graph,label\n{last},b\n{first},b\n")
    data = load(tmp_path / "mine.npz", labels=tmp_path / "y.csv")
    assert (data.y.tolist(), data.class_names) == ([0, -1, 0], ["b"])
    (tmp_path / "y.csv").write_text("graph,label\nghost,b\n")
    with pytest.raises(InputError, match="the graph 'ghost', which"):
        load(tmp_path / "mine.npz", labels=tmp_path / "y.csv")


def test_what_is_wrong_with_an_npz_set_is_said(tmp_path: Path) -> None:
    np.savez(tmp_path / "mine.npz", **ARRAYS)
    np.save(tmp_path / "x.npy", X)
    (tmp_path / "y.csv").write_text("0,b\n")
    with pytest.raises(InputError, match=r"mine\.npz is a graph"):
        load(tmp_path / "mine.npz", features=tmp_path / "x.npy")
    with pytest.raises(InputError, match="Labels are given twice"):
        load(tmp_path / "mine.npz", labels=tmp_path / "y.csv")
    np.savez(tmp_path / "mine.npz", **ARRAYS | {"y": [0, 1, 0, 1, 0, 1, 0]})
    with pytest.raises(InputError, match=r"\[7\] for 3 graphs"):
        load(tmp_path / "mine.npz")
    np.savez(tmp_path / "mine.npz", **{key: ARRAYS[key] for key in ("x", "edge_index")}, graph_id=["a"])
    with pytest.raises(InputError, match="unknown key 'graph_id': is 'graph_ids' meant"):
        load(tmp_path / "mine.npz")


def test_a_set_within_a_folder_is_refused(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "mine")
    np.savez(folder / "set.npz", **ARRAYS)
    with pytest.raises(InputError, match=r"set\.npz is a graph"):
        load(folder)


def saved_graphs(*, features: bool = True) -> list[Data]:
    parts = ((0, 2, [[0], [1]], 1), (2, 5, [[0, 1], [1, 2]], 0), (5, 7, [[0], [1]], 1))
    graphs = []
    for start, stop, edges, label in parts:
        graph = Data(edge_index=torch.tensor(edges), y=torch.tensor([label]), num_nodes=stop - start)
        if features:
            graph.x = torch.tensor(X[start:stop])
        graphs.append(graph)
    return graphs


def test_a_saved_list_of_graphs_is_a_set(tmp_path: Path) -> None:
    torch.save(saved_graphs(), tmp_path / "mine.pt")
    data = load(tmp_path / "mine.pt")
    assert fingerprint(data) == fingerprint(WANTED)
    assert data.name == "mine"
    torch.save(saved_graphs(features=False), tmp_path / "bare.pt")
    assert fingerprint(load(tmp_path / "bare.pt")) == fingerprint(BARE)
    assert remark(load(tmp_path / "bare.pt")) == "No node features in this set: degree features, 33 columns"
    assert load(tmp_path / "bare.pt", node_features="degree:7").x.shape == (7, 7)


def test_a_saved_set_is_the_set(tmp_path: Path) -> None:
    torch.save(WANTED, tmp_path / "mine.pt")
    data = load(tmp_path / "mine.pt")
    assert fingerprint(data) == fingerprint(WANTED)
    assert data.class_names == ["a", "b"]


def test_a_saved_list_runs_no_code(tmp_path: Path) -> None:
    class Evil:
        def __reduce__(self) -> tuple[object, ...]:
            return os.mkdir, (str(tmp_path / "trace"),)

    torch.save([*saved_graphs(), Evil()], tmp_path / "mine.pt")
    with pytest.raises(InputError, match="cannot be loaded safely"):
        load(tmp_path / "mine.pt")
    assert not (tmp_path / "trace").exists()
    torch.save([*saved_graphs(), torch.ones(2, 2)], tmp_path / "mine.pt")
    with pytest.raises(InputError, match="but a torch_geometric Data"):
        load(tmp_path / "mine.pt")
