"""Values that files of users really hold."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from sfa.data import build_graph, fingerprint, read_graph
from sfa.errors import InputError

X = np.ones((3, 2), np.float32)
EDGES = np.array([[0, 1], [1, 2]])


@pytest.mark.parametrize(
    ("arrays", "says"),
    [
        ({"x": X, "edge_index": EDGES, "edge_weights": [1.0, 2.0]}, "'edge_weight' meant"),
        ({"x": X, "edge_index": EDGES, "label": [0, 1, 0]}, "'labels' meant"),
        ({"x": X, "edge_index": EDGES, "y": [0, 1, 0], "labels": [0, 1, 0]}, "both 'y' and 'labels'"),
    ],
)
def test_slips_in_npz_keys_lose_nothing_silently(arrays: dict[str, Any], says: str, tmp_path: Path) -> None:
    np.savez(tmp_path / "g.npz", **arrays)
    with pytest.raises(InputError, match=says):
        read_graph(tmp_path / "g.npz")


def test_other_npz_keys_are_left_alone(tmp_path: Path) -> None:
    np.savez(tmp_path / "g.npz", x=X, edge_index=EDGES, made_by="me", train_mask=np.ones(3, bool))
    assert read_graph(tmp_path / "g.npz").num_nodes == 3


def test_unknown_labels_in_text(subtests: pytest.Subtests, tmp_path: Path) -> None:
    for others in [("ham", "egg"), ("4", "7")]:
        for unknown in ["", "-1", "NaN", "nan"]:
            with subtests.test(repr((others, unknown))):
                (tmp_path / "e.csv").write_text("source,target\na,b\nb,c\n")
                first, second = others
                (tmp_path / "x.csv").write_text(f"id,f,label\na,1,{first}\nb,2,{unknown}\nc,3,{second}\n")
                graph = read_graph(tmp_path / "e.csv", features=tmp_path / "x.csv")
                assert sorted(graph.y.tolist()) == [-1, 0, 1]
                assert graph.y[1] == -1


def test_columns_counted_by_pandas_are_a_header(tmp_path: Path) -> None:
    (tmp_path / "e.csv").write_text("1,2\n2,3\n")
    (tmp_path / "x.csv").write_text("paper,0,1\n1,5,6\n2,7,8\n3,9,10\n")
    graph = read_graph(tmp_path / "e.csv", features=tmp_path / "x.csv")
    assert graph.node_ids == [1, 2, 3]
    assert graph.x.tolist() == [[5, 6], [7, 8], [9, 10]]


def test_bytes_are_text_and_long_numbers_are_names() -> None:
    graph = build_graph(X, EDGES, y=np.array([b"ham", b"egg", b"ham"]), node_ids=[b"a", 2**70, 5])
    assert graph.class_names == ["egg", "ham"]
    assert graph.node_ids == ["a", str(2**70), 5]


def test_bfloat16_features() -> None:
    assert build_graph(torch.ones(3, 2, dtype=torch.bfloat16), EDGES).x.dtype == torch.float32


@pytest.mark.parametrize("node_ids", [5, "abc", np.array(3)])
def test_node_ids_that_are_no_list(node_ids: Any) -> None:
    with pytest.raises(InputError, match="node ids"):
        build_graph(X, EDGES, node_ids=node_ids)


def test_the_fingerprint_sees_every_part_of_the_features() -> None:
    x = np.array([[1, 0], [0, 1], [0, 0]], np.float32)
    others = [x[:, ::-1], x[::-1], 2 * x, np.hstack([x, 0 * x])]
    assert len({fingerprint(build_graph(one, EDGES)) for one in (x, *others)}) == 5
