"""Feature normalisation, dense, sparse and on disk."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch_geometric.data import Data

from sfa import matrices
from sfa.data import build_graph, mapped
from sfa.errors import InputError
from sfa.graph.features import normalise_features
from tests.memory_maps import file_of

EDGES = torch.tensor([[0, 1], [1, 2]])


def test_rows_sum_to_one_zero_rows_stay_and_the_input_is_untouched() -> None:
    x = torch.tensor([[1.0, 3.0], [0.0, 0.0], [-2.0, 2.0]])
    graph = Data(x=x.clone(), edge_index=torch.tensor([[0, 1], [1, 0]]), node_ids=["a", "b", "c"])
    normalised = normalise_features(graph, "row")
    assert torch.equal(normalised.x, torch.tensor([[0.25, 0.75], [0.0, 0.0], [-0.5, 0.5]]))
    assert torch.equal(graph.x, x)
    assert normalised.node_ids == graph.node_ids
    assert normalise_features(graph, "none") is graph


def test_a_row_does_not_depend_on_the_others() -> None:
    x = torch.rand(6, 4, generator=torch.Generator().manual_seed(0))
    whole = normalise_features(Data(x=x), "row").x
    assert torch.equal(whole[:2], normalise_features(Data(x=x[:2]), "row").x)


@given(
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 19), st.floats(-5, 5, width=32)), max_size=10),
)
def test_sparse_rows_become_what_dense_rows_become(entries: list[tuple[int, int, float]]) -> None:
    x = np.zeros((10, 20), dtype=np.float32)
    for row, column, value in entries:
        x[row, column] = value
    graph = build_graph(x, EDGES)
    before = graph.x.values().clone()
    normalised = normalise_features(graph, "row")
    assert normalised.x.layout == torch.sparse_csr
    expected = normalise_features(Data(x=torch.tensor(x)), "row").x
    torch.testing.assert_close(normalised.x.to_dense(), expected, rtol=1e-6, atol=1e-30)
    assert torch.equal(graph.x.values(), before)
    assert normalised.x.col_indices().data_ptr() == graph.x.col_indices().data_ptr()
    assert normalised.x.crow_indices().data_ptr() == graph.x.crow_indices().data_ptr()
    assert normalise_features(graph, "none") is graph


@pytest.fixture
def mapped_graph(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Data:
    """53 rows on disk, of which 5 make a chunk; row 7 is zero."""
    x = np.random.default_rng(0).standard_normal((53, 6), dtype=np.float32)
    x[7] = 0
    np.save(tmp_path / "x.npy", x)
    monkeypatch.setattr(mapped, "MAPPED_BYTES", 0)
    monkeypatch.setattr(matrices, "CHUNK_BYTES", 5 * 6 * 4)
    return build_graph(np.load(tmp_path / "x.npy", mmap_mode="r"), EDGES)


def test_mapped_rows_become_what_rows_in_memory_become(mapped_graph: Data) -> None:
    before = mapped_graph.x.clone()
    normalised = normalise_features(mapped_graph, "row")
    assert normalised.mapped_features is True
    assert torch.equal(normalised.x, normalise_features(Data(x=before), "row").x)
    assert torch.equal(mapped_graph.x, before)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux says which memory is which file")
def test_mapped_rows_stay_on_disk_in_a_file_without_a_name(mapped_graph: Data) -> None:
    normalised = normalise_features(mapped_graph, "row")
    assert str(file_of(normalised.x)).endswith("(deleted)")
    assert file_of(normalise_features(Data(x=mapped_graph.x.clone()), "row").x) is None


def test_a_full_disk_is_said_in_one_sentence(mapped_graph: Data) -> None:
    resource = pytest.importorskip("resource")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (500, hard))
    try:
        with pytest.raises(InputError, match=r"need 0\.0 GB of temporary space in .*cannot be had.*TMPDIR") as caught:
            normalise_features(mapped_graph, "row")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert "\n" not in str(caught.value)
