"""One form of features whatever form they come in: dense, or CSR where at most 5 % are not zero."""

from __future__ import annotations

import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import sparse
from torch import Tensor
from torch_geometric.data import Data

from sfa import matrices
from sfa.data import as_graph, build_graph, fingerprint, load, read_graph
from sfa.errors import InputError

EDGES = np.array([[0, 1], [1, 2]])
NAN, INF = float("nan"), float("inf")


def reference(x: NDArray[Any]) -> tuple[list[int], list[int], list[float]]:
    """Row pointers, columns and values of a table, entry by entry."""
    pointers, columns, values = [0], [], []
    for row in x.tolist():
        for column, value in enumerate(row):
            if value != 0:
                columns.append(column)
                values.append(value)
        pointers.append(len(columns))
    return pointers, columns, values


def assert_features(got: Tensor, x: NDArray[Any]) -> None:
    """The tensor is the one form of these features, bit by bit."""
    assert got.dtype == torch.float32
    assert tuple(got.shape) == x.shape
    if np.count_nonzero(x) > 0.05 * x.size:
        assert got.layout == torch.strided
        assert got.is_contiguous()
        assert np.array_equal(got.numpy(), x)
        return
    assert got.layout == torch.sparse_csr
    assert got.crow_indices().dtype == got.col_indices().dtype == torch.int64
    assert (got.crow_indices().tolist(), got.col_indices().tolist(), got.values().tolist()) == reference(x)


def split_entries(x: NDArray[Any]) -> sparse.coo_array:
    """Every value as a sum of two, and a zero in every row: in the order of the columns from the right."""
    rows, columns = (
        np.concatenate([part, part, other]) for part, other in zip(x.nonzero(), first_column(x), strict=True)
    )
    halves = x[x.nonzero()] / 2
    values = np.concatenate([halves, halves, np.zeros(len(x))])
    return sparse.coo_array((values[::-1], (rows[::-1], columns[::-1])), shape=x.shape)


def first_column(x: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    return np.arange(len(x)), np.zeros(len(x), dtype=int)


def unsorted_csr(x: NDArray[Any], dtype: Any = np.float64) -> sparse.csr_matrix:
    """Rows whose columns descend and come twice, with explicit zeros."""
    entries = split_entries(x)
    order = np.argsort(entries.row, kind="stable")
    pointers = np.concatenate([[0], np.cumsum(np.bincount(entries.row, minlength=len(x)))])
    return sparse.csr_matrix((entries.data[order].astype(dtype), entries.col[order], pointers), shape=x.shape)


def torch_csr(x: NDArray[Any]) -> Tensor:
    given = unsorted_csr(x)
    parts = (torch.from_numpy(np.asarray(part).astype(np.int64)) for part in (given.indptr, given.indices))
    return torch.sparse_csr_tensor(*parts, torch.from_numpy(given.data), size=x.shape, check_invariants=False)


def torch_coo(x: NDArray[Any]) -> Tensor:
    given = split_entries(x)
    places = torch.from_numpy(np.stack([given.row, given.col]).astype(np.int64))
    values = torch.from_numpy(given.data.copy())
    return torch.sparse_coo_tensor(places, values, x.shape, check_invariants=False)


FORMS: dict[str, Callable[[NDArray[Any]], Any]] = {
    "list": lambda x: x.tolist(),
    "float64": lambda x: x,
    "float16": lambda x: x.astype(np.float16),
    "fortran": lambda x: np.asfortranarray(x, dtype=np.float32),
    "big-endian": lambda x: x.astype(">f4"),
    "int8": lambda x: x.astype(np.int8),
    "torch": torch.tensor,
    "torch-bfloat16": lambda x: torch.tensor(x, dtype=torch.bfloat16),
    "torch-grad": lambda x: torch.tensor(x, requires_grad=True),
    "frame": pd.DataFrame,
    "sparse-frame": lambda x: pd.DataFrame.sparse.from_spmatrix(sparse.csr_matrix(x)),
    "nan-filled-frame": lambda x: pd.DataFrame(x).astype(pd.SparseDtype(float, NAN)),
    "coo-twice": split_entries,
    "csr-unsorted": unsorted_csr,
    "csr-unsorted-float32": lambda x: unsorted_csr(x, np.float32),
    "csc": lambda x: unsorted_csr(x).tocsc(),
    "bsr": lambda x: sparse.bsr_matrix(x, blocksize=(2, 2)),
    "dia": sparse.dia_array,
    "lil": sparse.lil_matrix,
    "dok": sparse.dok_array,
    "csr-int32": lambda x: sparse.csr_array(x.astype(np.int32)),
    "torch-csr": torch_csr,
    "torch-coo": torch_coo,
    "torch-coo-half": lambda x: torch_coo(x).half(),
    "torch-coo-bfloat16": lambda x: torch_coo(x).bfloat16(),
    "torch-csc": lambda x: torch.tensor(x).to_sparse_csc(),
    "torch-bsr": lambda x: torch.tensor(x).to_sparse_bsr((2, 2)),
    "torch-bsc": lambda x: torch.tensor(x).to_sparse_bsc((2, 2)),
    "torch-rows": lambda x: torch.tensor(x).to_sparse(1),
}


@st.composite
def tables(draw: st.DrawFn) -> NDArray[np.float64]:
    """Small even integers at a few or many places; both sizes even, for block formats."""
    shape = draw(st.tuples(st.integers(2, 5), st.integers(1, 8)))
    x = np.zeros((2 * shape[0], 2 * shape[1]))
    places = st.tuples(st.integers(0, x.shape[0] - 1), st.integers(0, x.shape[1] - 1))
    for place in draw(st.lists(places, max_size=draw(st.sampled_from([1, 3, 40])))):
        x[place] = draw(st.sampled_from([-6.0, -2, 2, 4, 8, -0.0]))
    return x


@pytest.mark.parametrize("form", FORMS)
@settings(max_examples=20)
@given(x=tables())
def test_every_form_becomes_the_one_form(form: str, x: NDArray[np.float64]) -> None:
    with warnings.catch_warnings():  # about layouts that the test itself makes
        warnings.simplefilter("ignore")
        given = FORMS[form](x)
    assert_features(as_graph((given, EDGES)).x, x)


@pytest.mark.parametrize("entries", [0, 1, 2])
@pytest.mark.parametrize("form", [np.asarray, sparse.coo_matrix])
def test_one_entry_in_twenty_is_sparse_and_two_are_dense(entries: int, form: Callable[[Any], Any]) -> None:
    x = np.zeros((4, 5))
    x.flat[[7, 19][:entries]] = 3
    data = build_graph(form(x), EDGES)
    assert (data.x.layout == torch.sparse_csr) == (entries < 2)
    assert (data.num_nodes, data.num_features) == (4, 5)
    assert_features(data.x, x)


def test_values_that_vanish_in_float32_are_no_entries() -> None:
    x = np.zeros((5, 8))
    x[2, 3], x[3, 3], x[4, 1] = 1e-300, 5, 1e-60
    for form in (x, sparse.csr_array(x)):
        assert_features(build_graph(form, EDGES).x, x.astype(np.float32))


@settings(max_examples=50)
@given(x=tables(), rows=st.integers(1, 4))
def test_the_chunks_do_not_show(x: NDArray[np.float64], rows: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(matrices, "CHUNK_BYTES", 4 * x.shape[1] * rows)
        data = build_graph(x, EDGES)
        assert_features(data.x, x)
        chunked = fingerprint(data)
    assert chunked == fingerprint(data)


def test_the_callers_matrices_are_neither_changed_nor_shared() -> None:
    x = np.zeros((6, 8))
    x[1, 2] = x[4, 5] = 2
    for matrix in (unsorted_csr(x), sparse.csr_array(x.astype(np.float32))):
        before = matrix.copy()
        data = build_graph(matrix, EDGES)
        data.x.values().zero_()
        for part in ("data", "indices", "indptr"):
            assert np.array_equal(getattr(matrix, part), getattr(before, part))
    tensor = build_graph(x, EDGES).x
    build_graph(tensor, EDGES).x.values().zero_()
    assert tensor.values().tolist() == [2, 2]


def broken_csr(row: int, column: int) -> sparse.csr_array:
    matrix = sparse.csr_array(np.eye(30))
    matrix.indices[row] = column
    return matrix


def test_what_is_wrong_with_sparse_features_is_said(subtests: pytest.Subtests) -> None:
    for x, says in [
        (sparse.coo_array(([1.0, NAN, INF], ([0, 25, 26], [0, 3, 3])), shape=(30, 30)), "2 values.*first in row 25;"),
        (sparse.coo_array(([1e300], ([7], [0])), shape=(30, 30)), "1 values.*first in row 7;"),
        (sparse.coo_array(([INF, -INF], ([7, 7], [1, 1])), shape=(30, 30)), "1 values.*first in row 7;"),
        (sparse.csr_array(np.eye(30, dtype=complex)), "complex128.*must be numbers"),
        (sparse.csr_array((1, 30)), "has 1 node;"),
        (sparse.csr_array((30, 0)), r"no columns \(shape \[30, 0\]\)"),
        (torch.zeros(30).to_sparse(), r"shape \[30\].*\[nodes, features\]"),
        (torch.zeros(3, 3, 3).to_sparse(), r"shape \[3, 3, 3\]"),
        (broken_csr(3, 30), "sparse features are damaged: "),
        (broken_csr(3, -1), "sparse features are damaged: "),
        (broken_csr(3, 30).T, "sparse features are damaged: "),
    ]:
        with subtests.test(says):
            with pytest.raises(InputError, match=says) as caught:
                build_graph(x, EDGES)
            assert "\n" not in str(caught.value)


def test_a_wrong_index_in_a_tensor_is_said() -> None:
    parts = [0, 1, 2, 3], [0, 40, 1], [1.0, 1, 1]
    x = torch.sparse_csr_tensor(*map(torch.tensor, parts), size=(3, 30), check_invariants=False)
    with pytest.raises(InputError, match="sparse features are damaged"):
        build_graph(x, EDGES)


def test_the_first_bad_row_is_found_beyond_the_first_chunk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matrices, "CHUNK_BYTES", 4 * 2 * 3)
    x = np.ones((10, 2))
    x[[5, 8, 9], [1, 0, 0]] = NAN, INF, 1e300
    with pytest.raises(InputError, match=r"3 values.*first in row 5;"):
        build_graph(x, EDGES)


def sparse_graph() -> Data:
    x = np.zeros((30, 40), dtype=np.float32)
    x[np.arange(30), (7 * np.arange(30)) % 40] = np.arange(1, 31)
    return build_graph(x, np.stack([np.arange(29), np.arange(1, 30)]), y=np.arange(30) % 3, name="sparse")


def test_sparse_features_come_through_every_door(tmp_path: Path) -> None:
    graph = sparse_graph()
    assert graph.x.layout == torch.sparse_csr
    x, edges = graph.x.to_dense().numpy(), graph.edge_index
    matrix = sparse.csr_matrix(x)
    csr = {f"attr_{part}": np.asarray(getattr(matrix, part)) for part in ("data", "indices", "indptr", "shape")}
    np.savez(tmp_path / "dense.npz", x=x, edge_index=edges, y=graph.y)
    np.savez(tmp_path / "csr.npz", edge_index=edges, y=graph.y, **csr)
    np.savez(tmp_path / "half.npz", edge_index=edges, y=graph.y, **csr | {"attr_data": matrix.data.astype(np.float16)})
    np.savez(tmp_path / "bare.npz", edge_index=edges, y=graph.y)
    np.save(tmp_path / "x.npy", x)
    torch.save(graph, tmp_path / "csr.pt")
    torch.save(Data(x=torch.tensor(x), edge_index=edges, y=graph.y), tmp_path / "dense.pt")
    named = nx.Graph(edges.T.tolist())
    nx.set_node_attributes(named, dict(enumerate(x)), "x")
    nx.set_node_attributes(named, dict(enumerate(graph.y.tolist())), "y")
    adjacency = sparse.coo_array((np.ones(edges.shape[1]), edges.numpy()), shape=(30, 30))

    labeled = [read_graph(tmp_path / name) for name in ("dense.npz", "csr.npz", "half.npz", "csr.pt", "dense.pt")]
    labeled += [read_graph(tmp_path / "bare.npz", features=tmp_path / "x.npy"), as_graph(named), as_graph(graph)]
    for data in labeled:
        assert_features(data.x, x)
        assert fingerprint(data) == fingerprint(graph)
    assert_features(as_graph((matrix, adjacency)).x, x)


def test_cora_is_sparse_and_keeps_its_fingerprint() -> None:
    cora = load("cora")
    assert cora.x.layout == torch.sparse_csr
    assert fingerprint(cora) == "c433140eefca88607794c1c342906055237441c6fd6aa26c1e8a9d8127240faf"
    cora.x = cora.x.to_dense()
    assert fingerprint(cora) == "c433140eefca88607794c1c342906055237441c6fd6aa26c1e8a9d8127240faf"
    assert_features(as_graph(cora).x, cora.x.numpy())


HUGE = """
import sys
from pathlib import Path
from sfa.data import fingerprint, read_graph

def peak():  # in kB, of this process alone: that of getrusage starts with what the parent had
    return int(next(line for line in Path("/proc/self/status").open() if line.startswith("VmHWM")).split()[1])

before = peak()
graph = read_graph(sys.argv[1])
fingerprint(graph)
assert tuple(graph.x.shape) == (50_000, 100_000), graph
assert graph.x.values().sum() == 500_000, graph
print(1024 * (peak() - before))
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="peak memory is told in /proc")
def test_a_sparse_file_is_never_dense_and_torch_says_nothing_of_beta(tmp_path: Path) -> None:
    """50,000 x 100,000 features with 500,000 entries: 20 GB dense (5 GB as bytes), 6 MB as CSR."""
    n, each = 50_000, 10
    columns = (np.arange(n)[:, None] * 13 + np.arange(each) * 9_973) % 100_000
    np.savez(
        tmp_path / "huge.npz",
        attr_data=np.ones(n * each, dtype=np.float32),
        attr_indices=columns.ravel(),
        attr_indptr=np.arange(0, n * each + 1, each),
        attr_shape=[n, 100_000],
        edge_index=np.stack([np.arange(n - 1), np.arange(1, n)]),
    )
    command = [sys.executable, "-W", "error::UserWarning", "-c", HUGE, str(tmp_path / "huge.npz")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < 300e6
    assert "beta" not in done.stderr
