from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from sfa.data import build_graph, fingerprint
from sfa.errors import InputError

X = np.eye(3)
EDGES = np.array([[0, 1], [1, 2]])
NAN, INF = float("nan"), float("inf")


@st.composite
def edge_lists(draw: st.DrawFn) -> tuple[int, list[tuple[int, int, float]]]:
    n = draw(st.integers(2, 8))
    node = st.integers(0, n - 1)
    weight = st.integers(0, 8).map(lambda eighths: eighths / 8)
    return n, draw(st.lists(st.tuples(node, node, weight), min_size=1, max_size=30))


@given(edge_lists(), st.booleans())
def test_edges_equal_a_slow_reference_of_sets(case: tuple[int, list[tuple[int, int, float]]], weighted: bool) -> None:
    n, triples = case
    reference: dict[tuple[int, int], list[float]] = {}
    for u, v, w in triples:
        if u != v and (w != 0 or not weighted):
            reference.setdefault((u, v), []).append(w)
            reference.setdefault((v, u), []).append(w)
    edges = np.array([(u, v) for u, v, _ in triples]).T
    weights = [w for _, _, w in triples] if weighted else None
    if not reference:
        with pytest.raises(InputError, match="no edges"):
            build_graph(np.eye(n), edges, edge_weight=weights)
        return

    data = build_graph(np.eye(n), edges, edge_weight=weights)

    assert [tuple(edge) for edge in data.edge_index.T.tolist()] == sorted(reference)
    means = [np.float32(np.mean(reference[edge])) for edge in sorted(reference)]
    if weighted and any(mean != 1 for mean in means):
        np.testing.assert_allclose(data.edge_weight.numpy(), means, rtol=1e-6)
        dense = torch.zeros(n, n).index_put(tuple(data.edge_index), data.edge_weight)
        assert torch.equal(dense, dense.T)
    else:
        assert data.edge_weight is None


@given(edge_lists())
def test_building_again_changes_nothing(case: tuple[int, list[tuple[int, int, float]]]) -> None:
    n, triples = case
    edges = np.array([(0, 1), *((u, v) for u, v, _ in triples)]).T
    once = build_graph(np.eye(n), edges, edge_weight=[0.3] + [w for _, _, w in triples])
    again = build_graph(once.x, once.edge_index, edge_weight=once.edge_weight)
    assert fingerprint(once) == fingerprint(again)


@pytest.mark.parametrize(
    "x",
    [np.eye(3, dtype=bool), torch.eye(3, dtype=torch.float64), torch.eye(3).to_sparse(), sparse.csr_matrix(np.eye(3))],
    ids=["bool", "torch", "torch-sparse", "scipy"],
)
def test_features_of_any_kind_become_dense_float32(x: object) -> None:
    data = build_graph(x, EDGES)
    assert data.x.dtype == torch.float32
    assert torch.equal(data.x, torch.eye(3))


def test_the_callers_arrays_are_not_shared() -> None:
    x = np.eye(3, dtype=np.float32)
    data = build_graph(x, EDGES)
    data.x.zero_()
    assert x.sum() == 3


def test_defaults() -> None:
    data = build_graph(X, EDGES)
    assert data.node_ids == [0, 1, 2]
    assert data.name == "graph"
    assert data.edge_index.dtype == torch.int64
    assert data.edge_weight is None
    assert data.y is None
    assert "class_names" not in data


@pytest.mark.parametrize(
    ("y", "codes", "names"),
    [
        ([2, 0, 1], [2, 0, 1], None),
        (torch.tensor([[1], [0], [-1]]), [1, 0, -1], None),
        ([10, 7, -1], [1, 0, -1], ["7", "10"]),
        ([1.0, NAN, 0.0], [1, -1, 0], None),
        (["b", "a", ""], [1, 0, -1], ["a", "b"]),
        (["b", None, "a"], [1, -1, 0], ["a", "b"]),
        (np.array([np.int64(3), None, np.int64(3)], dtype=object), [0, -1, 0], ["3"]),
        ([True, False, True], [1, 0, 1], None),
    ],
)
def test_labels_are_counted_in_sorted_order(y: object, codes: list[int], names: list[str] | None) -> None:
    data = build_graph(X, EDGES, y=y)
    assert data.y.tolist() == codes
    assert getattr(data, "class_names", None) == names


def test_class_names_say_what_integer_labels_count() -> None:
    data = build_graph(X, EDGES, y=[2, 0, -1], class_names=["z", "y", "x"])
    assert data.y.tolist() == [2, 0, -1]
    assert data.class_names == ["z", "y", "x"]


def test_labels_that_are_all_unknown_are_no_labels() -> None:
    assert build_graph(X, EDGES, y=[-1, None, ""]).y is None


def test_node_ids_are_text_or_integers() -> None:
    assert build_graph(X, EDGES, node_ids=np.array([7, 5, 6])).node_ids == [7, 5, 6]
    assert build_graph(X, EDGES, node_ids=["a", 1, (2, 3)]).node_ids == ["a", 1, "(2, 3)"]


def test_a_fingerprint_follows_the_content_alone() -> None:
    base = fingerprint(build_graph(X, EDGES))
    assert base == fingerprint(build_graph(X, EDGES[::-1], name="other", node_ids=["a", "b", "c"]))
    others = [
        build_graph(2 * X, EDGES),
        build_graph(X, EDGES[:, :1]),
        build_graph(X, EDGES, edge_weight=[1, 2]),
        build_graph(X, EDGES, y=[0, 1, 1]),
        build_graph(X[:, :2], EDGES),
    ]
    assert len({base, *map(fingerprint, others)}) == 6


def test_what_is_wrong_is_said(subtests: pytest.Subtests) -> None:
    for arguments, says in [
        ({"x": np.ones(3)}, r"shape \[3\].*\[nodes, features\]"),
        ({"x": [[1, 2], [3]]}, r"shape \[2\]"),
        ({"x": np.ones((3, 0))}, r"no columns \(shape \[3, 0\]\)"),
        ({"x": np.array([["a"], ["b"], ["c"]])}, "must be numbers"),
        ({"x": np.ones((3, 2), dtype=complex)}, "complex128.*must be numbers"),
        ({"x": np.array([[1, 2], [NAN, INF], [NAN, 0]])}, "3 values.*NaN or infinite.*first in row 1"),
        ({"x": np.array([[1.0], [2.0], [1e300]])}, "1 values.*row 2"),
        ({"x": np.ones((1, 2))}, "has 1 node;.*at least 2"),
        ({"x": np.ones((0, 2))}, "has 0 nodes"),
        ({"edges": EDGES.T.repeat(2, axis=0)}, r"shape \[4, 2\].*\[2, number of edges\].*transpose"),
        ({"edges": [0, 1]}, r"shape \[2\]"),
        ({"edges": EDGES.astype(float)}, "float64.*integers from 0 to 2"),
        ({"edges": [[0, 1], [1, 3]]}, "node 3,.*3 nodes .as many as rows.*0 to 2"),
        ({"edges": [[0, -1], [1, 1]]}, "node -1,.*0 to 2"),
        ({"edges": np.zeros((2, 0), dtype=int)}, "no edges"),
        ({"edges": [[0, 1], [0, 1]]}, "no edges: all 2 given are self-loops"),
        ({"edge_weight": [1.0]}, r"shape \[1\].*2 edges"),
        ({"edge_weight": [1, NAN]}, "1 of the 2 edge weights are negative, NaN or infinite.*edge 1: nan"),
        ({"edge_weight": [INF, 1]}, "NaN or infinite.*edge 0: inf"),
        ({"edge_weight": [1, -0.5]}, "1 of the 2 edge weights are negative, .*edge 1: -0.5"),
        ({"edge_weight": ["a", "b"]}, "must be numbers"),
        ({"edge_weight": [0, 0]}, "no edges: all 2 given.*weight 0"),
        ({"y": [0, 1]}, r"labels of shape \[2\] for 3 nodes"),
        ({"y": np.eye(3)}, r"shape \[3, 3\].*\[3\]"),
        ({"y": [0.5, 1, 2], "class_names": ["a", "b", "c"]}, "label 0.5.*integers or strings"),
        ({"y": [-2, 1, 0]}, "label -2 is negative"),
        ({"y": [0, 1, 2], "class_names": ["a", "b"]}, "label 2 has no name.*0 to 1"),
        ({"y": ["a", "c", "a"], "class_names": ["a", "b"]}, "'c' is not among the 2 class names: a, b"),
        ({"y": [0, 1, 0], "class_names": ["a", "a"]}, "class name 'a'.*more than once"),
        ({"node_ids": ["a", "b", "a"]}, "'a' is given to more than one node"),
        ({"node_ids": ["a", "b"]}, "2 node ids for 3 nodes"),
    ]:
        with subtests.test(says):
            with pytest.raises(InputError, match=says) as caught:
                build_graph(**{"x": X, "edges": EDGES, **arguments})  # type: ignore[arg-type]
            assert "\n" not in str(caught.value)
