"""Graph sets: against a union built by loops, and against torch_geometric's own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import sparse
from torch_geometric.data import Batch, Data

from sfa.data import build_graphs, fingerprint, load, remark
from sfa.data.raw import build, join_graphs
from sfa.data.structural import degree_features
from sfa.errors import InputError

X = np.arange(12.0).reshape(6, 2)  # a pair, a node alone, a path of three
EDGES = np.array([[0, 3, 5], [1, 4, 4]])
PTR = np.array([0, 2, 3, 6])


@st.composite
def one_graphs(draw: st.DrawFn) -> list[Data]:
    """A few small graphs with loops, duplicates and both directions; some have no edges, some no weights."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    graphs = []
    for size in draw(st.lists(st.integers(1, 5), min_size=2, max_size=6)):
        edges = rng.integers(0, size, (2, draw(st.integers(0, 8))))
        weight = rng.integers(0, 4, edges.shape[1]).astype(float) if draw(st.booleans()) else None
        graphs.append(Data(edge_index=edges, edge_weight=weight, x=rng.standard_normal((size, 3))))
    return graphs


def slow_union(graphs: list[Data]) -> dict[str, Any]:
    """Graph by graph and edge by edge: a pair weighs the mean of what is given for it, in either direction."""
    weights: dict[tuple[int, int], list[float]] = {}
    rows: list[Any] = []
    ptr, batch = [0], []
    for g, graph in enumerate(graphs):
        start = ptr[-1]
        for e, (u, v) in enumerate(graph.edge_index.T.tolist()):
            weight = 1.0 if graph.edge_weight is None else float(graph.edge_weight[e])
            if u != v and weight != 0:
                for pair in ((start + u, start + v), (start + v, start + u)):
                    weights.setdefault(pair, []).append(weight)
        rows += list(graph.x)
        ptr.append(start + len(graph.x))
        batch += [g] * len(graph.x)
    pairs = sorted(weights)
    means = [np.float32(np.mean(weights[pair])).item() for pair in pairs]
    return {
        "x": np.array(rows, dtype=np.float32).tolist(),
        "edge_index": [[u for u, _ in pairs], [v for _, v in pairs]],
        "edge_weight": None if all(mean == 1 for mean in means) else means,
        "ptr": ptr,
        "batch": batch,
    }


@given(one_graphs())
def test_the_union_is_that_of_loops(graphs: list[Data]) -> None:
    data = build(join_graphs(graphs), name="graphs")
    for key, wanted in slow_union(graphs).items():
        assert (wanted is None and key not in data) or data[key].tolist() == wanted
    assert data.num_nodes == len(data.batch)


@given(one_graphs())
def test_every_graph_is_in_it_as_it_is_alone(graphs: list[Data]) -> None:
    data = build(join_graphs(graphs), name="graphs")
    for g, graph in enumerate(graphs):
        start, stop = data.ptr[g], data.ptr[g + 1]
        mine = (data.batch[data.edge_index] == g).all(dim=0)
        assert (mine.nonzero().diff(dim=0) == 1).all()  # its edges lie side by side
        wanted = slow_union([graph])["edge_index"]
        assert (data.edge_index[:, mine] - start).tolist() == wanted
        np.testing.assert_array_equal(data.x[start:stop], graph.x.astype(np.float32))


def test_it_is_the_batch_of_torch_geometric() -> None:
    graphs = []
    for size in (1, 4, 2, 7):
        pairs = torch.combinations(torch.arange(size)).T
        both = torch.cat([pairs, pairs.flip(0)], dim=1)
        edges = both[:, (both[0] * size + both[1]).argsort()]
        graphs.append(Data(x=torch.rand(size, 3), edge_index=edges, y=torch.tensor([size % 2])))
    batch = Batch.from_data_list(graphs)
    raw = join_graphs([Data(edge_index=graph.edge_index, x=graph.x) for graph in graphs])
    raw.y = batch.y
    data = build(raw, name="graphs")
    for key in ("x", "edge_index", "ptr", "batch", "y"):
        assert torch.equal(data[key], batch[key])
        assert data[key].dtype == batch[key].dtype
    assert fingerprint(build_graphs(batch.x, batch.edge_index, batch.ptr, y=batch.y)) == fingerprint(data)


def test_what_a_set_holds() -> None:
    data = build_graphs(X, EDGES, PTR, y=["red", None, "blue"], graph_ids=["a", 7, "c"], name="three")
    assert (data.y.tolist(), data.class_names) == ([1, -1, 0], ["blue", "red"])
    assert (data.graph_ids, data.name) == (["a", 7, "c"], "three")
    assert (data.ptr.tolist(), data.batch.tolist()) == ([0, 2, 3, 6], [0, 0, 1, 2, 2, 2])
    assert data.edge_index.tolist() == [[0, 1, 3, 4, 4, 5], [1, 0, 4, 3, 5, 4]]
    assert {value.dtype for value in (data.ptr, data.batch, data.edge_index, data.y)} == {torch.int64}
    assert data.x.dtype == torch.float32
    assert not {"edge_weight", "features_of", "node_ids"} & set(data.keys())
    plain = build_graphs(X, EDGES, PTR)
    assert (plain.graph_ids, "y" in plain, "class_names" in plain) == ([0, 1, 2], False, False)


@pytest.mark.parametrize("form", [np.asarray, torch.tensor, sparse.csr_array, lambda x: torch.tensor(x).to_sparse()])
def test_features_are_dense_though_most_are_zero(form: Any) -> None:
    x = np.zeros((6, 40))
    x[1, 2] = 5
    data = build_graphs(form(x), EDGES, PTR)
    assert data.x.layout == torch.strided
    np.testing.assert_array_equal(data.x, x.astype(np.float32))


def test_the_arrays_given_are_not_shared() -> None:
    x, edges, ptr = X.astype(np.float32), EDGES.copy(), PTR.copy()
    data = build_graphs(x, edges, ptr)
    before = fingerprint(data)
    x[:], edges[:], ptr[:] = 0, 0, 0
    assert fingerprint(data) == before


def test_a_set_without_any_edge_is_a_set() -> None:
    for edges in ([], np.empty((2, 0)), np.array([[0, 1], [0, 1]])):
        data = build_graphs(X, edges, PTR, edge_weight=np.ones(np.shape(edges)[-1]))
        assert data.edge_index.shape == (2, 0)
        assert data.edge_index.dtype == torch.int64


def test_features_are_made_of_degrees_where_there_are_none() -> None:
    data = build_graphs(None, EDGES, PTR)
    assert data.x.argmax(dim=1).tolist() == [1, 1, 0, 1, 2, 1]
    assert (data.features_of, tuple(data.x.shape)) == ("degree", (6, 33))
    assert remark(data) == "No node features in this set: degree features, 33 columns"
    wide = build_graphs(None, EDGES, PTR, node_features="degree:50")
    np.testing.assert_array_equal(wide.x, degree_features(wide.edge_index.numpy(), None, 6, 50))
    assert remark(wide) == "No node features in this set: degree features, 50 columns"
    assert remark(build_graphs(X, EDGES, PTR)) is None


def test_remark_of_one_graph() -> None:
    assert remark(load("cora")) is None
    data = Data(x=torch.zeros(3, 64), features_of="random")
    assert remark(data) == "No node features in this graph: random features, 64 columns"


def test_where_graphs_begin_is_part_of_the_fingerprint() -> None:
    one, other = (build_graphs(X, [[3, 5], [4, 4]], ptr) for ptr in ([0, 2, 3, 6], [0, 1, 3, 6]))
    assert fingerprint(one) != fingerprint(other)
    renamed = build_graphs(X, [[4, 4], [3, 5]], [0, 2, 3, 6], graph_ids=["a", "b", "c"], name="other")
    assert fingerprint(one) == fingerprint(renamed)
    alone = Data(x=one.x, edge_index=one.edge_index)
    assert fingerprint(alone) != fingerprint(one)


def changed(x: NDArray[Any], place: tuple[int, int], value: float) -> NDArray[Any]:
    x = x.copy()
    x[place] = value
    return x


def test_what_is_no_graph_set_is_said(subtests: pytest.Subtests) -> None:
    for changes, says in [
        ({"ptr": [0]}, "There is no graph in the set; at least one is needed"),
        ({"ptr": [0, 2, 2, 6]}, r"The graph 1 has no nodes; leave it out"),
        ({"ptr": [0, 0, 6, 6], "graph_ids": ["a", "b", "c"]}, r"The graph 'a' has no nodes \(2 graphs have none\)"),
        ({"ptr": [1, 2, 6]}, "begin with 0 and ascend"),
        ({"ptr": [0, 4, 3, 6]}, "begin with 0 and ascend"),
        ({"ptr": [0.0, 3.0, 6.0]}, r"ptr has shape \[3\] and float64 values"),
        ({"ptr": None}, "ptr has shape"),
        ({"ptr": []}, r"ptr has shape \[0\]"),
        ({"ptr": [0, 2, 7]}, "6 rows of features for 7 nodes"),
        ({"x": np.arange(6.0)}, r"features have shape \[6\]"),
        ({"x": np.empty((6, 0))}, "no columns"),
        ({"x": np.full((6, 2), "red")}, "must be numbers"),
        ({"x": changed(X, (4, 1), np.nan)}, "NaN or infinite.*the first in node 1 of the graph 2;"),
        ({"x": changed(X, (2, 0), 1e300)}, "NaN or infinite.*the first in node 0 of the graph 1;"),
        ({"x": sparse.csr_array(changed(X, (5, 1), np.inf))}, "the first in node 2 of the graph 2;"),
        ({"edges": [[0, 1], [1, 2]]}, r"joins node 1 of the graph 0 and node 0 of the graph 1; no edge may join two"),
        ({"edges": [[0], [6]]}, "holds node 6, but there are 6 nodes"),
        ({"edges": [[0], [-1]]}, "holds node -1"),
        ({"edges": EDGES.T[:, :1]}, r"edge index has shape \[3, 1\]"),
        ({"edges": EDGES / 1}, "hold integers"),
        ({"edge_weight": [1, 2]}, r"edge weights have shape \[2\]"),
        ({"edge_weight": [1, 2, -1]}, "negative"),
        ({"y": [0, 1]}, r"labels of shape \[2\] for 3 graphs; one for each"),
        ({"y": [[0, 1]] * 3}, r"labels of shape \[3, 2\] for 3 graphs; one for each is needed \(\[3\]\)"),
        ({"y": [0.5, float("inf"), 0]}, "label of item 1 is infinite"),
        ({"graph_ids": ["a", "b"]}, "2 graph ids for 3 graphs"),
        ({"graph_ids": ["a", "b", "a"]}, "graph id 'a' is given to more than one graph"),
        ({"node_features": "degree"}, "features already, so none are made of 'degree'"),
        ({"x": None, "node_features": "random"}, "cannot have random node features.*'degree'"),
        ({"x": None, "node_features": "spectral:8"}, "cannot have spectral node features"),
        ({"x": None, "node_features": "degre"}, "Unknown kind of node features 'degre': did you mean 'degree'"),
    ]:
        with subtests.test(says):
            arrays = {"x": X, "edges": EDGES, "ptr": PTR} | changes
            with pytest.raises(InputError, match=says) as caught:
                build_graphs(arrays.pop("x"), arrays.pop("edges"), arrays.pop("ptr"), **arrays)
            assert "\n" not in str(caught.value)


PAIR = Data(edge_index=[[0], [1]], x=np.ones((2, 3)))


def test_a_wrong_graph_is_named(subtests: pytest.Subtests) -> None:
    for graph, says in [
        (Data(edge_index=[], x=np.empty((0, 3))), "In the graph 'b': there are no nodes; leave it out"),
        (Data(edge_index=[]), "In the graph 'b': there are no nodes"),
        (
            Data(edge_index=[[0], [2]], x=np.ones((2, 3))),
            "In the graph 'b': the edge index holds node 2, but there are 2 nodes",
        ),
        (Data(edge_index=[[0], [-1]], x=np.ones((2, 3))), "In the graph 'b': the edge index holds node -1"),
        (Data(edge_index=[0, 1], x=np.ones((2, 3))), r"In the graph 'b': the edge index has shape \[2\]"),
        (
            Data(edge_index=[[0], [1]], edge_weight=[1, 2], x=np.ones((2, 3))),
            r"In the graph 'b': the edge weights have shape \[2\]",
        ),
        (Data(edge_index=[[0], [1]], x=np.ones(2)), r"In the graph 'b': the features have shape \[2\]"),
        (
            Data(edge_index=[[0], [1]], x=np.ones((2, 3)), num_nodes=3),
            "In the graph 'b': there are 2 rows of features for 3",
        ),
        (
            Data(edge_index=[[0], [1]], x=np.ones((2, 4))),
            "'a' has 3 features a node, but the graph 'b' has 4 features a node",
        ),
        (
            Data(edge_index=[[0], [1]]),
            "'a' has 3 features a node, but the graph 'b' has none; all graphs need equally many",
        ),
    ]:
        with subtests.test(says), pytest.raises(InputError, match=says):
            join_graphs([PAIR, graph], graph_ids=["a", "b"])


def test_graphs_without_features_are_counted_by_what_they_say_or_name() -> None:
    graphs = [
        Data(edge_index=[[0], [2]]),
        Data(edge_index=[], num_nodes=2),
        Data(edge_index=[[1], [0]], x=np.empty((4, 0))),
    ]
    data = build(join_graphs(graphs), name="graphs")
    assert data.ptr.tolist() == [0, 3, 5, 9]
    assert data.features_of == "degree"


def test_too_few_graphs_to_join() -> None:
    """One is enough, for instance to be embedded by what was learned from others."""
    with pytest.raises(InputError, match="There is no graph"):
        join_graphs([])
    assert join_graphs([PAIR]).ptr.tolist() == [0, 2]
