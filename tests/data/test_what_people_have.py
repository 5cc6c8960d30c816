"""Graphs as people have them in Python: frames, pairs, adjacencies, several types, attributes, names, paths."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import torch
from scipy import sparse
from torch_geometric.data import Data, HeteroData

import sfa
from sfa.data import as_graph, as_graphs, describe, fingerprint, from_pandas, load, remark
from sfa.data.encode import feature_names
from sfa.errors import InputError

CALLS = pd.DataFrame(
    {"who": ["ann", "bob", "cat", "007"], "whom": ["bob", "cat", "ann", "ann"], "strength": [1.0, 2, 3, 4]}
)
PEOPLE = pd.DataFrame(
    {"name": ["ann", "bob", "cat", "007", "eve"], "age": [31, 45, 27, 50, 8], "job": ["x", "y", "x", None, "y"]}
)
PAIRS = [("a", "b"), ("b", "c"), ("c", "a"), ("c", "d")]
POSITIONS = np.array([[0, 1], [1, 2], [2, 0], [2, 3]])


def test_frames_of_edges_and_nodes() -> None:
    data = from_pandas(CALLS, PEOPLE)
    assert data.node_ids == ["ann", "bob", "cat", "007", "eve"], "eve calls nobody, and 007 is no 7"
    assert feature_names(data.encoding) == ["age", "job=x", "job=y"]
    assert data.x.tolist()[3] == [50, 0, 0]
    assert data.edge_weight.max() == 4
    assert describe(data).startswith("4 edges who -> whom, weights from 'strength' 1 to 4; undirected, 2 components")
    for same in ((PEOPLE, CALLS), (PEOPLE.set_index("name"), CALLS), (PEOPLE.set_index("name"), CALLS.to_numpy())):
        assert fingerprint(as_graph(same)) == fingerprint(data)
    assert "edge_weight" not in from_pandas(CALLS, PEOPLE, weight="none")


def test_columns_of_a_frame_are_named() -> None:
    frame = pd.DataFrame({"day": [1, 2], "from": [7, 8], "a": ["p", "q"], "b": ["q", "r"], "cost": [2, 3]})
    data = from_pandas(frame, source="a", target="b", weight="cost", node_features="degree")
    assert (data.node_ids, data.edge_weight.tolist()) == (["p", "q", "r"], [2, 2, 3, 3])
    two_kinds = from_pandas(pd.DataFrame({"user": [5], "item": [5]}), bipartite=True, node_features="degree")
    assert two_kinds.node_ids == ["user:5", "item:5"]
    with pytest.raises(InputError, match=r"no column 'A'.* 'a'"):
        from_pandas(frame, source="A", target="b")
    with pytest.raises(InputError, match=r"leave out weight="):
        as_graph((np.eye(4), POSITIONS), weight="cost")


def test_labels_of_a_frame_are_kept_or_left_behind() -> None:
    nodes = PEOPLE.assign(label=["p", "q", "p", None, "q"])
    assert from_pandas(CALLS, nodes).y.tolist() == [0, 1, 0, -1, 1]
    unlabeled = from_pandas(CALLS, nodes, labels=False)
    assert "y" not in unlabeled
    assert fingerprint(unlabeled) == fingerprint(from_pandas(CALLS, PEOPLE))


@pytest.mark.parametrize(
    ("edges", "nodes", "says"),
    [
        (CALLS.replace("bob", None), None, r"without a source or a target: row 0 .* row 1"),
        (CALLS.iloc[:0], None, "no rows"),
        (CALLS[["who"]], None, "has 1 column"),
        (CALLS, PEOPLE[:3], r"no node '007'.*a pair is \(nodes, edges\)"),
        (CALLS, PEOPLE.assign(age=[1, 2, np.inf, 4, 5]), "node 'cat', column 'age': inf"),
        (CALLS, PEOPLE.replace("eve", "ann"), "'ann' more than once"),
    ],
)
def test_defects_of_frames_are_named(edges: Any, nodes: Any, says: str) -> None:
    with pytest.raises(InputError, match=says):
        from_pandas(edges, nodes, node_features="degree" if nodes is None else None)


@pytest.mark.parametrize(
    ("edges", "ids"),
    [
        (PAIRS, ["a", "b", "c", "d"]),
        ([list(pair) for pair in PAIRS], ["a", "b", "c", "d"]),
        (np.array(PAIRS), ["a", "b", "c", "d"]),
        (pd.DataFrame(PAIRS), ["a", "b", "c", "d"]),
        ([(10, 20), (20, 30), (30, 10), (30, 40)], [10, 20, 30, 40]),
        ([((0, 0), (0, 1)), ((0, 1), (1, 1)), ((1, 1), (0, 0)), ((1, 1), (2, 2))], None),
        (POSITIONS, [0, 1, 2, 3]),
        (POSITIONS.T, [0, 1, 2, 3]),
        (POSITIONS.tolist(), [0, 1, 2, 3]),
        ((10 * POSITIONS).tolist(), [0, 10, 20, 30]),
        (torch.from_numpy(POSITIONS), [0, 1, 2, 3]),
        (sparse.coo_array((np.ones(4), POSITIONS.T), (4, 4)), [0, 1, 2, 3]),
        (nx.to_numpy_array(nx.Graph(POSITIONS.tolist())), [0, 1, 2, 3]),
        (nx.to_pandas_adjacency(nx.Graph(PAIRS)), ["a", "b", "c", "d"]),
    ],
)
def test_edges_alone(edges: Any, ids: list[Any] | None) -> None:
    data = as_graph(edges, node_features="degree")
    assert data.edge_index.tolist() == as_graph(PAIRS, node_features="degree").edge_index.tolist()
    assert ids is None or data.node_ids == ids
    with pytest.raises(InputError, match="no node features"):
        as_graph(edges)


def test_two_edges_may_be_tuples_and_are_ambiguous_as_an_array() -> None:
    assert as_graph([("a", "b"), ("b", "c")], node_features="degree").node_ids == ["a", "b", "c"]
    assert as_graph([("a", "b", 2.0), ("b", "c", 3.0)], node_features="degree").edge_weight.tolist() == [2, 2, 3, 3]
    assert as_graph((np.eye(4), [(0, 1), (1, 3)])).edge_index.tolist() == [[0, 1, 1, 3], [1, 0, 3, 1]]
    for edges in (np.array([[0, 1], [2, 3]]), [[0, 1], [2, 3]], (np.eye(4), [[0, 1], [2, 3]])):
        with pytest.raises(InputError, match=r"may be an edge index .*list of tuples"):
            as_graph(edges, node_features=None if isinstance(edges, tuple) else "degree")


def test_names_and_paths(tmp_path: Path) -> None:
    assert fingerprint(as_graph("cora")) == fingerprint(load("cora"))
    assert "y" not in as_graph("cora", labels=False)
    CALLS.to_csv(tmp_path / "calls.csv", index=False)
    data = as_graph(tmp_path / "calls.csv", node_features="degree", weight="none")
    assert data.node_ids == ["ann", "bob", "cat", "007"]
    with pytest.raises(InputError, match="mutag is a set of graphs"):
        as_graph("mutag")


def shop() -> HeteroData:
    data = HeteroData()
    data["user"].x, data["item"].num_nodes = torch.arange(6.0).view(3, 2), 2
    data["item"].y = torch.tensor([0, 1])
    data["user", "buys", "item"].edge_index = torch.tensor([[0, 1, 2], [0, 1, 1]])
    return data


def test_several_types_of_nodes_become_one_graph() -> None:
    data = as_graph(shop())
    assert data.node_ids == ["user:0", "user:1", "user:2", "item:0", "item:1"]
    assert data.x.tolist() == [[1, 0, 0, 1], [1, 0, 2, 3], [1, 0, 4, 5], [0, 1, 0, 0], [0, 1, 0, 0]]
    assert data.y.tolist() == [-1, -1, -1, 0, 1]
    assert data.edge_index.tolist() == [[0, 1, 2, 3, 4, 4], [3, 4, 4, 0, 1, 2]]
    assert "2 types (user, item)" in str(remark(data))
    wrong = shop()
    wrong["user", "buys", "item"].edge_index[0, 0] = 3  # which would be the first item
    with pytest.raises(InputError, match="the user 3, but there are 3"):
        as_graph(wrong)


def molecules(count: int, spare: str = "O") -> list[nx.Graph]:
    """Rings whose one odd atom, N or another, is their class."""
    graphs = []
    for number in range(count):
        graph = nx.cycle_graph(5 + number % 3)
        nx.set_node_attributes(graph, "C", "element")
        graph.nodes[number % 5]["element"] = "N" if number % 2 else spare
        graph.graph["y"] = number % 2
        graphs.append(graph)
    return graphs


def test_attributes_of_networkx_are_features() -> None:
    graph = nx.path_graph(3)
    nx.set_node_attributes(graph, dict(enumerate("CCO")), "element")
    nx.set_node_attributes(graph, {0: 1, 1: 0, 2: -1}, "charge")
    nx.set_node_attributes(graph, dict(enumerate(["a1", "a2", "a3"])), "atom")
    nx.set_node_attributes(graph, dict(enumerate("pqp")), "label")
    data = as_graph(graph)
    assert feature_names(data.encoding) == ["element=C", "element=O", "charge"]
    assert data.x.tolist() == [[1, 0, 1], [1, 0, 0], [0, 1, -1]]
    assert data.y.tolist() == [0, 1, 0]
    assert "from attributes: element, charge (3 columns)" in str(remark(data))
    assert "'atom' left out" in str(remark(data))
    assert as_graph(graph, node_features="degree").features_of == "degree", "what is asked for comes first"
    del graph.nodes[1]["charge"]
    assert feature_names(as_graph(graph).encoding)[2:] == ["charge", "charge=missing"]


@pytest.mark.parametrize("suffix", [".gml", ".graphml"])
def test_attributes_in_files_are_features_and_weights(suffix: str, tmp_path: Path) -> None:
    write = nx.write_gml if suffix == ".gml" else nx.write_graphml
    graph = nx.relabel_nodes(molecules(1)[0], str)
    nx.set_edge_attributes(graph, {edge: 1.0 + i for i, edge in enumerate(graph.edges)}, "strength")
    write(graph, tmp_path / f"one{suffix}")
    data = load(tmp_path / f"one{suffix}", weight="strength")
    assert feature_names(data.encoding) == ["element=C", "element=O"]
    assert data.edge_weight.max() == 5
    (tmp_path / "set").mkdir()
    for number, one in enumerate(molecules(4)):
        write(one, tmp_path / "set" / f"{number}{suffix}")
    assert load(tmp_path / "set").x.sum(0).tolist() == [19, 2, 2]
    assert load(tmp_path / "set", node_features="degree").features_of == "degree"


def test_attributes_of_edges_are_weights_when_named() -> None:
    graph = nx.Graph([("a", "b", {"strength": 2}), ("b", "c", {"strength": 3, "weight": 9})])
    assert as_graph(graph, node_features="degree").edge_weight.tolist() == [1, 1, 9, 9]
    assert as_graph(graph, weight="strength", node_features="degree").edge_weight.tolist() == [2, 2, 3, 3]
    assert "edge_weight" not in as_graph(graph, weight="none", node_features="degree")
    with pytest.raises(InputError, match="did you mean 'strength'"):
        as_graph(graph, weight="strenght", node_features="degree")
    assert as_graphs([graph, graph], weight="strength").edge_weight.max() == 3


def test_the_elements_of_molecules_tell_their_classes() -> None:
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import cross_val_score

    z = sfa.GraphEmbedder(hidden=8, epochs=2, random_state=0).fit_transform(molecules(60))
    labels = np.arange(60) % 2
    assert cross_val_score(LogisticRegression(C=100), z, labels).mean() > 0.9


def test_runs_take_the_same_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    tiny: dict[str, Any] = {"epochs": 1, "hidden": 4, "evaluate": False}
    weighted = CALLS.rename(columns={"strength": "cost"})
    run = sfa.train_run(weighted, weight="cost", node_features="degree", out="frame", **tiny)
    assert run.data.edge_weight.max() == 4
    again = sfa.open_run("frame", data=weighted)
    assert torch.equal(again.embedding(), run.embedding())
    for number, data in enumerate([(PEOPLE, CALLS), PAIRS, POSITIONS, shop(), sparse.eye_array(4, k=1)]):
        own = isinstance(data, (tuple, HeteroData))
        other = sfa.train_run(data, node_features=None if own else "degree", out=f"run{number}", **tiny)
        assert other.data.node_ids == as_graph(data, node_features=None if own else "degree").node_ids
    with pytest.raises(InputError, match="source belong to tables"):
        sfa.train_run(np.zeros((4, 8, 8), np.uint8), source="a")


def test_a_set_that_was_trained_before_attributes_counted_is_opened_with_degrees(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "set").mkdir()
    for number, one in enumerate(molecules(4)):
        nx.write_gml(one, tmp_path / "set" / f"{number}.gml")
    run = sfa.train_run("set", node_features="degree", epochs=1, hidden=4, evaluate=False, out="run")
    record = (tmp_path / "run" / "run.json").read_text()
    (tmp_path / "run" / "run.json").write_text(record.replace('"node_features": "degree"', '"node_features": null'))
    assert torch.equal(sfa.open_run("run").embedding(), run.embedding())


def test_data_of_the_package_keep_what_is_known_of_their_features() -> None:
    data = as_graph(as_graph(PAIRS, node_features="spectral:2"))
    assert data.features_of == "spectral"
    assert feature_names(as_graph(from_pandas(CALLS, PEOPLE)).encoding) == ["age", "job=x", "job=y"]
    assert as_graph(Data(x=torch.eye(3), edge_index=torch.tensor([[0], [1]]))).get("features_of") is None


def test_attributes_of_data_that_only_sound_like_ours_do_no_harm() -> None:
    edges = torch.tensor([[0, 1], [1, 2]])
    strange = Data(x=torch.eye(3), edge_index=edges, attributes=torch.ones(3), encoding=torch.ones(3), ends=1)
    assert "encoding" not in as_graph(strange)
    strange.x = None
    with pytest.raises(InputError, match="no node features"):
        as_graph(strange)
