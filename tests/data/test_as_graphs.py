from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
import torch
from torch_geometric.data import Batch, Data, HeteroData, InMemoryDataset
from torch_geometric.loader import DataLoader

from sfa.data import as_graph, as_graphs, build_graphs, fingerprint, remark
from sfa.errors import InputError

X = np.arange(12.0).reshape(6, 2)  # a pair, a node alone, a path of three
WANTED = build_graphs(X, [[0, 3, 5], [1, 4, 4]], [0, 2, 3, 6], y=[1, 0, 1])
WEIGHTED = build_graphs(X, [[0, 3, 5], [1, 4, 4]], [0, 2, 3, 6], edge_weight=[0.5, 2, 1], y=[1, 0, 1])
EDGES = [[[0], [1]], [[], []], [[0, 2], [1, 1]]]
LABELS = [1, 0, 1]


def pyg_graphs() -> list[Data]:
    tables = (X[:2], X[2:3], X[3:])
    return [
        Data(x=torch.tensor(x), edge_index=torch.tensor(edges, dtype=torch.long), y=torch.tensor([y]))
        for x, edges, y in zip(tables, EDGES, LABELS, strict=True)
    ]


def nx_graphs(kind: type[nx.Graph] = nx.Graph, key: str = "x", label: str = "y") -> list[nx.Graph]:
    graphs = []
    for g, (start, stop) in enumerate(((0, 2), (2, 3), (3, 6))):
        graph = kind(**{label: LABELS[g]})
        for node in range(start, stop):
            graph.add_node(node, **{key: X[node]})
        graphs.append(graph)
    graphs[0].add_edge(0, 1, weight=0.5)
    graphs[2].add_edge(4, 3, weight=2)
    graphs[2].add_edge(5, 4)
    return graphs


class Saved(InMemoryDataset):
    """A data set as torch_geometric has them, of one file."""

    name = "saved"

    def __init__(self, graphs: list[Data]) -> None:
        super().__init__()
        self.data, self.slices = self.collate(graphs)


FORMS: dict[str, Callable[[], Any]] = {
    "list": pyg_graphs,
    "tuple": lambda: tuple(pyg_graphs()),
    "generator": lambda: (graph for graph in pyg_graphs()),
    "data set": lambda: Saved(pyg_graphs()),
    "subset": lambda: torch.utils.data.Subset(pyg_graphs(), [0, 1, 2]),  # type: ignore[arg-type]
    "batch": lambda: Batch.from_data_list(pyg_graphs()),
    "loader": lambda: DataLoader(pyg_graphs(), batch_size=2, shuffle=True),
    "loader of a data set": lambda: DataLoader(Saved(pyg_graphs()), batch_size=2),
    "graph set": lambda: WANTED,
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_is_the_same_set(form: str) -> None:
    data = as_graphs(FORMS[form]())
    assert fingerprint(data) == fingerprint(WANTED)
    assert (data.graph_ids, data.batch.tolist()) == ([0, 1, 2], WANTED.batch.tolist())
    assert data.name == ("saved" if "data set" in form else "graphs")
    assert fingerprint(as_graphs(data)) == fingerprint(data)


@pytest.mark.parametrize("kind", [nx.Graph, nx.DiGraph, nx.MultiGraph])
@pytest.mark.parametrize(("key", "label"), [("x", "y"), ("features", "label")])
def test_networkx_attributes_become_features_labels_and_weights(kind: type[nx.Graph], key: str, label: str) -> None:
    assert fingerprint(as_graphs(nx_graphs(kind, key, label))) == fingerprint(WEIGHTED)


def test_what_a_set_is_called_stays() -> None:
    given = build_graphs(X, [[0], [1]], [0, 2, 6], y=["b", "a"], graph_ids=["p", "q"], name="mine")
    data = as_graphs(given)
    assert (data.graph_ids, data.class_names, data.name) == (["p", "q"], ["a", "b"], "mine")
    assert as_graphs(given, name="other").name == "other"
    assert data.x.data_ptr() != given.x.data_ptr()


def test_graphs_with_names_of_their_own_keep_them() -> None:
    graphs = nx_graphs()
    for graph, name in zip(graphs, ("a", "b", "c"), strict=True):
        graph.name = name
    assert as_graphs(graphs).graph_ids == ["a", "b", "c"]
    graphs[2].name = "a"
    assert as_graphs(graphs).graph_ids == [0, 1, 2]
    several = pyg_graphs()
    several[0].name = "first"
    assert as_graphs(several).graph_ids == [0, 1, 2]


def test_labels_may_be_words_and_some_unknown() -> None:
    graphs = nx_graphs()
    for graph, label in zip(graphs, ("red", None, "blue"), strict=True):
        graph.graph["y"] = label
    data = as_graphs(graphs)
    assert (data.y.tolist(), data.class_names) == ([1, -1, 0], ["blue", "red"])
    del graphs[1].graph["y"]
    assert as_graphs(graphs).y.tolist() == [1, -1, 0]
    assert "y" not in as_graphs(graphs, labels=False)
    batch = Batch.from_data_list(pyg_graphs())
    assert "y" not in as_graphs(batch, labels=False)


def test_labels_that_are_not_asked_for_may_be_anything() -> None:
    graphs = pyg_graphs()
    graphs[1].y = torch.tensor([0.3, 0.4])
    with pytest.raises(InputError, match=r"shape \[2\], but one"):
        as_graphs(graphs)
    assert "y" not in as_graphs(graphs, labels=False)


def without_features(graphs: list[Data]) -> list[Data]:
    for graph in graphs:
        graph.num_nodes, graph.x = len(graph.x), None
    return graphs


@pytest.mark.parametrize("form", [list, Batch.from_data_list, Saved])
def test_without_features_degrees_stand_in(form: Callable[[list[Data]], Any]) -> None:
    data = as_graphs(form(without_features(pyg_graphs())))
    assert data.x.argmax(dim=1).tolist() == [1, 1, 0, 1, 2, 1]
    assert remark(data) == "No node features in this set: degree features, 33 columns"
    assert remark(as_graphs(data)) == remark(data)
    assert as_graphs(form(without_features(pyg_graphs())), node_features="degree:4").x.shape == (6, 4)


@pytest.mark.parametrize("form", [list, Batch.from_data_list])
def test_a_table_without_columns_is_no_features(form: Callable[[list[Data]], Any]) -> None:
    graphs = pyg_graphs()
    for graph in graphs:
        graph.x = graph.x[:, :0]
    assert as_graphs(form(graphs)).features_of == "degree"


def nothing_of(graph: Data, key: str) -> Data:
    graph[key] = None
    return graph


def test_what_is_no_set_is_said(subtests: pytest.Subtests) -> None:
    for obj, says in [
        (pyg_graphs()[0], "This is one graph, and a set of graphs is needed: NodeEmbedder .*as_graph"),
        (nx_graphs()[0], "This is one graph, and a set of graphs is needed: NodeEmbedder"),
        ("mutag", "A str is no set of graphs; allowed is a list"),
        ({"a": pyg_graphs()[0]}, "A dict is no set of graphs"),
        (3, "A int is no set of graphs"),
        (HeteroData(), "A HeteroData is no set of graphs"),
        ((X, X), "Item 0 of the tuple is a ndarray, which is not one graph; allowed is"),
        ([*pyg_graphs(), WANTED], "Item 3 of the list is a Data, which is not one graph"),
        ([], "There is no graph in the set"),
        ([*pyg_graphs(), nothing_of(pyg_graphs()[0], "x")], "'?0'? has 2 features a node, but the graph 3 has none"),
        ([*pyg_graphs(), nothing_of(pyg_graphs()[0], "edge_index")], "In the graph 3: there is no edge_index"),
        (
            [*pyg_graphs(), Data(x=torch.zeros(0, 2), edge_index=torch.empty(2, 0))],
            "In the graph 3: there are no nodes",
        ),
        ([*nx_graphs(), nx.Graph()], "In the graph 3: there are no nodes"),
        (
            [*nx_graphs(), nx.Graph([("a", "b", {"weight": "heavy"})])],
            "In the graph 3: the edge 'a' - 'b' has the weight",
        ),
        (
            Batch.from_data_list(
                [
                    *pyg_graphs(),
                    Data(x=torch.zeros(0, 2), edge_index=torch.zeros(2, 0, dtype=torch.long), y=torch.tensor([0])),
                ]
            ),
            "The graph 3 has no nodes; leave it out",
        ),
        (nothing_of(Batch.from_data_list(pyg_graphs()), "edge_index"), "There is no edge_index"),
    ]:
        with subtests.test(says):
            with pytest.raises(InputError, match=says) as caught:
                as_graphs(obj)
            assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "obj", [WANTED, Batch.from_data_list(pyg_graphs()), pyg_graphs(), nx_graphs(), tuple(pyg_graphs())]
)
def test_many_graphs_where_one_is_needed(obj: Any) -> None:
    with pytest.raises(InputError, match="graph is needed: GraphEmbedder"):
        as_graph(obj)
    if isinstance(obj, list):
        with pytest.raises(InputError, match="This is a set of graphs"):  # which is no pair (X, A) either
            as_graph(obj[:2])


def test_no_file_is_read(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no set of graphs"):
        as_graphs(str(tmp_path))
