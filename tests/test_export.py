"""Embeddings come back from every file format as they went in, each beside the id of its node or graph."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet
import pytest
import torch

from sfa.errors import InputError
from sfa.export import WRITERS, check_export, write_embeddings


def read_back(path: Path, item: str = "node") -> tuple[list[Any], np.ndarray]:
    """Ids and embeddings, by means that a user would take."""
    if path.suffix == ".npz":
        with np.load(path, allow_pickle=False) as file:
            return file[f"{item}_ids"].tolist(), file["embeddings"]
    if path.suffix == ".pt":
        loaded = torch.load(path, weights_only=True)
        return list(loaded[f"{item}_ids"]), loaded["embeddings"].numpy()
    if path.suffix == ".parquet":
        table = pyarrow.parquet.read_table(path).to_pydict()
        ids = table.pop(f"{item}_id")
        return ids, np.array(list(table.values()), dtype=np.float32).T
    with path.open(newline="", encoding="utf-8") as file:
        header, *rows = csv.reader(file)
    assert header == [f"{item}_id", *(f"z{i}" for i in range(len(header) - 1))]
    return [row[0] for row in rows], np.array([row[1:] for row in rows], dtype=np.float32)


@pytest.mark.parametrize("suffix", [".npz", ".parquet", ".csv", ".pt"])
@pytest.mark.parametrize("ids", [[3, 1, 2], ["Zoë", 'a "quoted", comma', "07"], [2**40, 0, 5]], ids=str)
def test_round_trip(tmp_path: Path, suffix: str, ids: list[Any]) -> None:
    z = np.random.default_rng(0).normal(size=(3, 12)).astype(np.float32)
    z[0, 0], z[1, 1] = 1e-30, 1 / 3
    path = tmp_path / f"z{suffix}"
    write_embeddings(path, z, ids)
    read_ids, read_z = read_back(path)
    assert read_ids == ([str(one) for one in ids] if suffix == ".csv" else ids)
    assert read_z.dtype == np.float32
    np.testing.assert_array_equal(read_z, z)


@pytest.mark.parametrize("suffix", [".npz", ".parquet", ".csv", ".pt"])
def test_ids_of_mixed_kinds_are_told_apart(tmp_path: Path, suffix: str) -> None:
    """A NetworkX graph or a PyG Data may well call its nodes 0, 1 and "hub"."""
    path = tmp_path / f"z{suffix}"
    write_embeddings(path, np.ones((3, 2), dtype=np.float32), [0, 1, "hub"])
    assert [str(one) for one in read_back(path)[0]] == ["0", "1", "hub"]


@pytest.mark.parametrize("suffix", [".npz", ".parquet", ".csv", ".pt"])
def test_embeddings_of_graphs(tmp_path: Path, suffix: str) -> None:
    """They have the ids of graphs, and none of nodes."""
    path, z = tmp_path / f"z{suffix}", np.arange(6, dtype=np.float32).reshape(3, 2)
    write_embeddings(path, z, ["a", "b", "c"], item="graph")
    ids, read_z = read_back(path, "graph")
    assert ids == ["a", "b", "c"]
    np.testing.assert_array_equal(read_z, z)
    assert b"node_id" not in path.read_bytes()


def test_every_suffix_is_tested() -> None:
    assert set(WRITERS) == {".npz", ".parquet", ".csv", ".pt"}


def test_a_failing_writer_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "z.npz"
    write_embeddings(path, np.ones((2, 2), dtype=np.float32), [0, 1])
    before = path.read_bytes()

    def fail(path: Path, *_: object) -> None:
        path.write_bytes(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setitem(WRITERS, ".npz", fail)
    with pytest.raises(OSError, match="No space"):
        write_embeddings(path, np.zeros((2, 2), dtype=np.float32), [0, 1])
    assert path.read_bytes() == before
    assert not list(tmp_path.glob(".*"))


@pytest.mark.parametrize(
    ("name", "reason"),
    [("z.txt", "must end in .npz, .parquet, .csv, .pt"), ("z", "must end in"), ("missing/z.npz", "does not exist")],
)
def test_a_path_that_cannot_be_used(tmp_path: Path, name: str, reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        check_export(tmp_path / name)


def test_a_path_may_be_text_and_ids_must_be_as_many(tmp_path: Path) -> None:
    write_embeddings(str(tmp_path / "z.npz"), np.ones((2, 3), np.float32), [7, 8])
    assert np.load(tmp_path / "z.npz")["node_ids"].tolist() == [7, 8]
    with pytest.raises(InputError, match="2 embeddings need as many node ids, not 1"):
        write_embeddings(tmp_path / "z.csv", np.ones((2, 3), np.float32), [7])
    with pytest.raises(InputError, match="2 embeddings need as many graph ids, not 3"):
        write_embeddings(tmp_path / "z.csv", np.ones((2, 3), np.float32), [7, 8, 9], item="graph")
