"""Files made to crash, to flood or to be taken for something else: each is refused in one sentence, exit code 2."""

from __future__ import annotations

import io
import os
import warnings
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch_geometric.data import Data

from sfa.data import as_graph, load, read_graph
from sfa.errors import InputError

EDGES = np.array([[0, 1], [1, 2]])


def refused(path: Any, says: str = ".") -> None:
    with pytest.raises(InputError, match=says) as caught:
        load(path, node_features="degree")
    assert "\n" not in str(caught.value)


PARTS: dict[str, dict[str, Any]] = {
    "csr": {"indices": [1, 2, 0], "indptr": [0, 1, 2, 3]},
    "csc": {"indices": [1, 2, 0], "indptr": [0, 1, 2, 3]},
    "bsr": {"data": np.ones((3, 1, 1)), "indices": [1, 2, 0], "indptr": [0, 1, 2, 3]},
    "coo": {"row": [0, 1, 2], "col": [1, 2, 0]},
    "dia": {"data": np.ones((1, 3)), "offsets": [1]},
}
WRONG: dict[str, dict[str, Any]] = {
    "pointers far outside, no entries": {"indptr": [0, 10**9, 10**9, 0]},
    "pointers that fall": {"indptr": [0, 3, 1, 3]},
    "negative pointers": {"indptr": [0, -(10**9), 1, 3]},
    "pointers beyond the entries": {"indptr": [0, 1, 2, 10**12]},
    "pointers that begin late": {"indptr": [1, 1, 2, 3]},
    "pointers that are no integers": {"indptr": [0, 1, 2, 2.5]},
    "too few pointers": {"indptr": [0, 3]},
    "an index outside": {"indices": [0, 1, 10**9], "col": [0, 1, 10**9], "offsets": [10**9]},
    "a negative index": {"indices": [0, 1, -1], "row": [0, 1, -1], "offsets": [-(10**9)]},
    "lengths that differ": {"indices": [0, 1], "row": [0, 1], "offsets": [0, 1]},
    "a shape beyond memory": {"shape": [10**12, 10**12]},
    "a negative shape": {"shape": [-3, 3]},
}


@pytest.mark.parametrize("kind", PARTS)
@pytest.mark.parametrize("wrong", WRONG)
def test_sparse_indices_are_checked_before_they_are_used(kind: str, wrong: str, tmp_path: Path) -> None:
    sound = {"format": np.bytes_(kind), "shape": [3, 3], "data": np.ones(3)} | PARTS[kind]
    np.savez(tmp_path / "g.npz", **sound)
    assert load(tmp_path / "g.npz", node_features="degree").num_nodes == 3
    changes = {key: value for key, value in WRONG[wrong].items() if key in sound}
    if changes:
        np.savez(tmp_path / "g.npz", **(sound | changes))
        refused(tmp_path / "g.npz")


def tensors() -> dict[str, Any]:
    """Values that torch.load accepts and that are no numbers as NumPy has them, or not what they say."""
    ones = torch.ones(3, 2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # beta features
        parts = torch.tensor([0, 10**9, 10**9, 0]), torch.tensor([0, 1, 2]), torch.ones(3)
        return {
            "quantized": torch.quantize_per_tensor(ones, 0.1, 0, torch.quint8),
            "nested": torch.nested.nested_tensor([torch.ones(2), torch.ones(3)]),
            "float8": ones.to(torch.float8_e4m3fn),
            "meta": torch.ones(3, 2, device="meta"),
            "complex": ones.to(torch.complex64),
            "csr": torch.sparse_csr_tensor(*parts, size=(3, 3), check_invariants=False),
            "csc": torch.sparse_csc_tensor(*parts, size=(3, 3), check_invariants=False),
            "coo": torch.sparse_coo_tensor([[0, 10**9], [1, 1]], torch.ones(2), (3, 3), check_invariants=False),
            "rows": torch.sparse_coo_tensor([[0, 10**9]], torch.ones(2, 2), (3, 2), check_invariants=False),
            "without end": torch.ones(1, 1).expand(10**7, 10**7),
            "text": "text",
            "list": [[1, 2], [3]],
        }


@pytest.mark.parametrize("key", ["x", "edge_index", "y"])
@pytest.mark.parametrize("kind", tensors())
def test_tensors_of_odd_kinds(kind: str, key: str, tmp_path: Path) -> None:
    value = tensors()[kind]
    torch.save({"x": torch.ones(3, 2), "edge_index": torch.tensor(EDGES)} | {key: value}, tmp_path / "g.pt")
    with pytest.raises(InputError):
        load(tmp_path / "g.pt")
    if isinstance(value, torch.Tensor):
        with pytest.raises(InputError):
            as_graph(Data(**{"x": torch.ones(3, 2), "edge_index": torch.tensor(EDGES)} | {key: value}))


@pytest.mark.parametrize("count", ["text", 2.5, -1, 10**15, [3]])
def test_a_number_of_nodes_that_is_none(count: object, tmp_path: Path) -> None:
    torch.save({"edge_index": torch.tensor(EDGES), "num_nodes": count}, tmp_path / "g.pt")
    refused(tmp_path / "g.pt")


NODE = '<node id="{}"/>'
EDGE = '<edge source="a" target="{}"/>'


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (NODE.format("a") * 2 + NODE.format("b") + EDGE.format("b"), "3 nodes with 2 ids"),
        (NODE.format("a") + NODE.format("b") + EDGE.format("c"), "an edge at a node 'c'"),
        (NODE.format("a") + NODE.format("b") + EDGE.format("b") + "</graph><graph>", "holds 2 graphs"),
    ],
)
def test_graphml_is_read_as_it_is_written(body: str, says: str, tmp_path: Path) -> None:
    top = '<graphml xmlns="http://graphml.graphdrawing.org/xmlns"><graph edgedefault="undirected">'
    (tmp_path / "g.graphml").write_text(f"{top}{body}</graph></graphml>")
    refused(tmp_path / "g.graphml", says)


def test_entities_are_not_unfolded(tmp_path: Path) -> None:
    laughs = "".join(f'<!ENTITY l{i} "{f"&l{i - 1};" * 10}">' for i in range(1, 12))
    content = f'<!DOCTYPE g [<!ENTITY l0 "ha">{laughs}]><graphml><graph>&l11;</graph></graphml>'
    (tmp_path / "g.graphml").write_text(content)
    refused(tmp_path / "g.graphml", "defines entities")


@pytest.mark.parametrize("names", [("a", "a", "b"), ("a", "b", None)])
def test_gml_gives_each_node_a_label_or_none(names: tuple[str | None, ...], tmp_path: Path) -> None:
    nodes = [f"node [ id {i} " + (f'label "{name}" ]' if name else "]") for i, name in enumerate(names)]
    (tmp_path / "g.gml").write_text(f"graph [ {' '.join(nodes)} edge [ source 0 target 2 ] ]")
    refused(tmp_path / "g.gml", "each node a label of its own")


def test_complex_labels(tmp_path: Path) -> None:
    np.savez(tmp_path / "g.npz", edge_index=EDGES, y=np.array([1 + 2j, 0, 1]))
    refused(tmp_path / "g.npz", "labels must be integers or strings")


@pytest.mark.parametrize("suffix", ["npz", "npy", "csv", "txt", "pt", "gml", "graphml", "png"])
def test_what_is_no_file_is_not_waited_for(suffix: str, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / f"pipe.{suffix}")
    refused(tmp_path / f"pipe.{suffix}", "no ordinary file")
    (tmp_path / f"zero.{suffix}").symlink_to("/dev/zero")
    refused(tmp_path / f"zero.{suffix}", "no ordinary file")
    (tmp_path / f"loop.{suffix}").symlink_to(tmp_path / f"loop.{suffix}")
    refused(tmp_path / f"loop.{suffix}", "cannot be read")


def test_a_pipe_among_images(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "a.png").symlink_to(tmp_path / "pipe")
    with pytest.raises(InputError, match="no ordinary file"):
        load(tmp_path)


@pytest.mark.parametrize(
    "name", ["x" * 300, "x" * 300 + ".npz", "x" * 5000 + "/g.npz", "~nosuchuser/g.npz", "a\0b.npz"]
)
def test_names_that_no_file_can_have(name: str) -> None:
    refused(name)
    with pytest.raises(InputError):
        read_graph(name)


def test_of_an_npz_only_the_keys_that_are_needed_are_read(tmp_path: Path) -> None:
    sound = {"edge_index": EDGES, "x": np.eye(3)}
    np.savez(tmp_path / "g.npz", **sound, notes=np.array([{}]))  # an object, which reading would refuse
    assert load(tmp_path / "g.npz").num_nodes == 3
    np.savez(tmp_path / "g.npz", **sound)
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "<i8", "fortran_order": False, "shape": (1 << 50,)})
    with zipfile.ZipFile(tmp_path / "g.npz", "a") as archive:
        archive.writestr("y.npy", header.getvalue())
    refused(tmp_path / "g.npz", "would take at least 9.01e.06 GB of memory")
    np.savez(tmp_path / "g.npz", **sound)
    with zipfile.ZipFile(tmp_path / "g.npz", "a") as archive, pytest.warns(UserWarning, match="Duplicate"):
        archive.writestr("x.npy", b"")
    refused(tmp_path / "g.npz", "the key 'x' more than once")


@pytest.mark.parametrize("content", [b"a,b\0\n", "a,b\nb,c\n".encode("utf-16-le"), b"a,b\xff\n"])
def test_tables_are_text(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "e.csv").write_bytes(content)
    refused(tmp_path / "e.csv")
