from __future__ import annotations

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import torch
from scipy import sparse
from torch_geometric.data import Data, HeteroData

from sfa.data import as_graph, build_graph, fingerprint
from sfa.errors import InputError

X = np.array([[1.0, 0], [0, 2], [3, 3], [0, 1]])
A = np.array([[0, 0.5, 0, 0], [0, 0, 2, 0], [0, 2, 0, 1], [0, 0, 0, 9]])
EDGES, WEIGHT = np.array([[0, 1, 2], [1, 2, 3]]), [0.5, 2, 1]
WANTED = fingerprint(build_graph(X, EDGES, edge_weight=WEIGHT))
UNWEIGHTED = fingerprint(build_graph(X, EDGES))


def nx_graph(kind: type[nx.Graph] = nx.Graph) -> nx.Graph:
    graph = kind(name="net")
    for i, name in enumerate("abcd"):
        graph.add_node(name, x=X[i], y="even" if i % 2 == 0 else "odd")
    graph.add_weighted_edges_from([("a", "b", 0.5), ("b", "c", 2.0)])
    graph.add_edge("d", "c")
    return graph


def test_every_form_of_a_weighted_pair_is_the_same_graph(subtests: pytest.Subtests) -> None:
    for a in [A, A.tolist(), sparse.csr_matrix(A), sparse.coo_array(A), torch.tensor(A), torch.tensor(A).to_sparse()]:
        for x in [X, X.tolist(), sparse.csr_matrix(X), pd.DataFrame(X), torch.tensor(X)]:
            with subtests.test(f"{type(x)}, {type(a)}"):
                assert fingerprint(as_graph((x, a))) == WANTED


@pytest.mark.parametrize(
    "a", [A > 0, EDGES, EDGES[::-1], torch.tensor(EDGES)], ids=["bool", "index", "reversed", "torch-index"]
)
def test_every_form_of_an_unweighted_pair_is_the_same_graph(a: object) -> None:
    assert fingerprint(as_graph((X, a))) == UNWEIGHTED


def test_two_by_two_is_an_adjacency_for_two_nodes_and_an_edge_index_for_more() -> None:
    matrix = np.array([[0, 1], [1, 2]])
    assert as_graph((np.eye(2), matrix)).edge_index.tolist() == [[0, 1], [1, 0]]
    assert as_graph((np.eye(3), matrix)).edge_index.tolist() == [[0, 1, 1, 2], [1, 0, 2, 1]]


def test_a_data_frame_names_the_nodes() -> None:
    assert as_graph((pd.DataFrame(X, index=list("wxyz")), A)).node_ids == list("wxyz")


def test_pyg_data_is_symmetrised_and_keeps_its_names() -> None:
    given = Data(x=torch.tensor(X), edge_index=torch.tensor(EDGES), edge_weight=torch.tensor(WEIGHT))
    given.node_ids, given.class_names, given.y = list("wxyz"), ["p", "q"], torch.tensor([0, 1, -1, 0])
    data = as_graph(given, name="mine")
    assert fingerprint(data) == fingerprint(build_graph(X, EDGES, edge_weight=WEIGHT, y=[0, 1, -1, 0]))
    assert (data.node_ids, data.class_names, data.name) == (list("wxyz"), ["p", "q"], "mine")
    assert fingerprint(as_graph(data)) == fingerprint(data)


@pytest.mark.parametrize("kind", [nx.Graph, nx.DiGraph, nx.MultiGraph])
def test_networkx_attributes_become_features_labels_and_weights(kind: type[nx.Graph]) -> None:
    data = as_graph(nx_graph(kind))
    assert fingerprint(data) == fingerprint(build_graph(X, EDGES, edge_weight=WEIGHT, y=[0, 1, 0, 1]))
    assert (data.node_ids, data.class_names, data.name) == (list("abcd"), ["even", "odd"], "net")


def test_networkx_features_may_be_single_numbers_under_the_other_names() -> None:
    graph = nx.path_graph(3)
    nx.set_node_attributes(graph, {0: 5, 1: 6, 2: 7}, "features")
    nx.set_node_attributes(graph, {0: np.int64(1), 1: np.int64(0)}, "label")
    data = as_graph(graph)
    assert data.x.tolist() == [[5], [6], [7]]
    assert data.y.tolist() == [1, 0, -1]


def without(graph: nx.Graph, node: str, key: str, value: object = None) -> nx.Graph:
    graph.nodes[node][key] = value
    return graph


def test_what_is_no_graph_is_said(subtests: pytest.Subtests) -> None:
    for obj, says in [
        (Data(edge_index=torch.tensor(EDGES)), "no node features; .* data.x of a Data"),
        (Data(x=torch.tensor(X)), "There is no edge_index; set it"),
        (HeteroData(), "HeteroData is no graph; allowed"),
        ("no-such-set", "Unknown data set 'no-such-set'"),
        ("mutag", "mutag is a set of graphs"),
        ((X, A, X), "tuple of 3 things"),
        ((None, A), "no node features; .*X of a pair"),
        ((X, None), "None for the adjacency A"),
        ((X, sparse.eye(3).tocsr()), r"adjacency matrix has shape \[3, 3\].*4 nodes.*\[4, 4\]"),
        ((X, np.ones((3, 3))), r"A has shape \[3, 3\].*4 rows.*\[4, 4\].*\[2, edges\]"),
        ((X, np.where(A > 1, np.nan, A)), "NaN"),
        ((X, A.astype(str)), "must be numbers"),
        ((X, -A), "negative"),
        (nx.path_graph(3), "no node features; .* by networkx.set_node_attributes"),
        (without(nx_graph(), "c", "x"), "1 of 4 nodes have no attribute 'x' .*'c'"),
        (without(nx_graph(), "c", "x", [1.0]), "'c' has 1 features.*'a' has 2"),
        (without(nx_graph(), "c", "x", "1 red"), "'c'.*must be numbers"),
        (nx.Graph([("a", "b", {"weight": "heavy"})]), "'a' - 'b' has the weight 'heavy'"),
    ]:
        with subtests.test(says), pytest.raises(InputError, match=says):
            as_graph(obj)
