"""Features larger than the memory: mapped, checked by chunks, never copied into memory."""

from __future__ import annotations

import sys
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from sfa import matrices
from sfa.data import arrays as mapped
from sfa.data import as_graph, build_graph, fingerprint, read_graph
from sfa.errors import InputError
from tests.memory_maps import file_of

EDGES = np.array([[0, 1, 2], [1, 2, 3]])
linux = pytest.mark.skipif(sys.platform != "linux", reason="only Linux says which memory is which file")


@pytest.fixture
def x() -> NDArray[np.float32]:
    return np.random.default_rng(0).standard_normal((50, 6), dtype=np.float32)


@pytest.fixture(autouse=True)
def limits(monkeypatch: pytest.MonkeyPatch) -> None:
    """More than 1000 bytes are large, and a chunk is 7 rows of the 50."""
    monkeypatch.setattr(mapped, "MAPPED_BYTES", 1000)
    monkeypatch.setattr(matrices, "CHUNK_BYTES", 7 * 6 * 4)


def edge_list(folder: Path) -> Path:
    (folder / "e.csv").write_text("\n".join(f"{u},{v}" for u, v in EDGES.T))
    return folder / "e.csv"


@linux
def test_a_large_npy_is_mapped_and_left_as_it_is(x: NDArray[np.float32], tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", x)
    before = (tmp_path / "x.npy").read_bytes()
    graph = read_graph(edge_list(tmp_path), features=tmp_path / "x.npy")
    assert graph.mapped_features is True
    assert file_of(graph.x) == str(tmp_path / "x.npy")
    assert (graph.x.dtype, graph.x.is_contiguous()) == (torch.float32, True)
    assert np.array_equal(graph.x.numpy(), x)
    assert fingerprint(graph) == fingerprint(build_graph(x, EDGES))
    assert (tmp_path / "x.npy").read_bytes() == before


@linux
def test_a_small_npy_is_read(x: NDArray[np.float32], tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", x[:40])  # 960 bytes
    graph = read_graph(edge_list(tmp_path), features=tmp_path / "x.npy")
    assert "mapped_features" not in graph
    assert file_of(graph.x) is None
    assert np.array_equal(graph.x.numpy(), x[:40])


@linux
@pytest.mark.parametrize(
    "convert",
    [
        lambda x: x.astype(np.float64),
        lambda x: x.astype(np.float16),
        lambda x: (100 * x).astype(np.int8),
        lambda x: x.astype(">f4"),
        np.asfortranarray,
    ],
    ids=["float64", "float16", "int8", "big-endian", "fortran"],
)
def test_a_large_npy_of_another_kind_is_converted_on_disk(convert: Any, x: NDArray[np.float32], tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", convert(x))
    graph = read_graph(edge_list(tmp_path), features=tmp_path / "x.npy")
    assert graph.mapped_features is True
    assert str(file_of(graph.x)).endswith("(deleted)")  # no name is left behind
    assert np.array_equal(graph.x.numpy(), convert(x).astype(np.float32))
    assert fingerprint(graph) == fingerprint(build_graph(convert(x), EDGES))


@linux
@pytest.mark.parametrize("mode", ["r", "r+", "c"])
def test_a_map_in_memory_stays_a_map(mode: Any, x: NDArray[np.float32], tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", x)
    given = np.load(tmp_path / "x.npy", mmap_mode=mode)
    for part in (given, given[2:]):
        graph = as_graph((part, EDGES))
        assert graph.mapped_features is True
        assert file_of(graph.x) == str(tmp_path / "x.npy")
        assert np.array_equal(graph.x.numpy(), part)
        again = as_graph(graph)
        assert again.mapped_features is True
        assert again.x.data_ptr() == graph.x.data_ptr()
        assert fingerprint(again) == fingerprint(graph)


@linux
def test_what_is_no_map_or_a_small_one_is_copied(x: NDArray[np.float32], tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", x)
    given = np.load(tmp_path / "x.npy", mmap_mode="r")
    for part in (given[:40], given.copy(), given[::-1].copy()):
        graph = build_graph(part, EDGES)
        assert "mapped_features" not in graph
        assert file_of(graph.x) is None
        assert not np.shares_memory(graph.x.numpy(), part)


@pytest.mark.parametrize(("entries", "stays"), [(8, False), (90, True)])
def test_sparse_features_stay_on_disk_only_if_they_are_large_as_csr(
    entries: int, stays: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    x = np.zeros((300, 6), dtype=np.float32)  # 90 entries are 5 % and take 1080 bytes
    x.flat[: entries * 20 : 20] = 3
    np.save(tmp_path / "x.npy", x)
    graph = read_graph(edge_list(tmp_path), features=tmp_path / "x.npy")
    assert getattr(graph, "mapped_features", False) == stays
    assert (graph.x.layout == torch.strided) == stays
    assert np.array_equal(graph.x.to_dense().numpy(), x)
    monkeypatch.setattr(mapped, "MAPPED_BYTES", 1 << 30)
    assert fingerprint(graph) == fingerprint(build_graph(x, EDGES))


def test_nothing_as_large_as_the_features_is_allocated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matrices, "CHUNK_BYTES", 1 << 18)
    for dtype in (np.float32, np.float64):
        np.save(tmp_path / "x.npy", np.ones((5000, 500), dtype=dtype))  # 10 MB as float32
        tracemalloc.start()
        try:
            graph = read_graph(edge_list(tmp_path), features=tmp_path / "x.npy")
            fingerprint(graph)
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert graph.mapped_features
        assert peak < 5e6  # some chunks, and the ids of the nodes


def test_bad_values_in_a_map_are_found(x: NDArray[np.float32], tmp_path: Path) -> None:
    x[[20, 45], [3, 0]] = np.nan, np.inf
    np.save(tmp_path / "x.npy", x)
    with pytest.raises(InputError, match=r"\(as float32\), the first"):
        read_graph(edge_list(tmp_path), features=tmp_path / "x.npy")


def test_a_full_disk_is_said_in_one_sentence(x: NDArray[np.float32], tmp_path: Path) -> None:
    resource = pytest.importorskip("resource")
    np.save(tmp_path / "x.npy", x.astype(np.float64))
    edges = edge_list(tmp_path)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (500, hard))
    try:
        with pytest.raises(InputError, match=r"0\.0 GB of temporary") as caught:
            read_graph(edges, features=tmp_path / "x.npy")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert "\n" not in str(caught.value)


def cut_short(path: Path, x: NDArray[np.float32]) -> None:
    np.save(path, x)
    path.write_bytes(path.read_bytes()[:-100])


def archive(path: Path, x: NDArray[np.float32]) -> None:
    with path.open("wb") as file:
        np.savez(file, x=x)


def objects(path: Path, x: NDArray[np.float32]) -> None:
    np.save(path, x.astype(object), allow_pickle=True)


@pytest.mark.parametrize("write", [cut_short, archive, objects])
@pytest.mark.parametrize("rows", [10, 50], ids=["small", "large"])
def test_a_damaged_npy_is_said(write: Any, rows: int, x: NDArray[np.float32], tmp_path: Path) -> None:
    write(tmp_path / "x.npy", x[:rows])
    with pytest.raises(InputError, match=r"x\.npy cannot be read") as caught:
        read_graph(edge_list(tmp_path), features=tmp_path / "x.npy")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("shape", [(300,), (0, 6), (30, 2, 6)])
def test_a_map_that_is_no_table_is_said(shape: tuple[int, ...], tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.ones(shape))
    with pytest.raises(InputError, match=r"but \[nodes, features\] is needed"):
        read_graph(edge_list(tmp_path), features=tmp_path / "x.npy")
