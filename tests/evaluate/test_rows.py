"""Embeddings in any form become rows."""

import warnings
from typing import Any

import numpy as np
import pytest
import torch
from scipy import sparse

from sfa.errors import InputError
from sfa.evaluate.inputs import dense_rows, is_sparse, sparse_rows
from sfa.matrices import unit_rows


def test_every_form_gives_the_same_rows() -> None:
    z = np.random.default_rng(0).normal(size=(30, 4))
    z = np.where(z > 0.5, z, 0)
    dense = torch.from_numpy(z)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Sparse CSR tensor support is in beta")
        forms = [z, sparse.csr_matrix(z), sparse.coo_array(z), dense.to_sparse(), dense.to_sparse_csr(), dense]
    for form in forms:
        assert torch.equal(dense_rows(form, 30), dense)


def test_rows_too_wide_to_be_dense_keep_their_inner_products(monkeypatch: pytest.MonkeyPatch) -> None:
    counts = sparse.csr_array(np.random.default_rng(0).poisson(0.05, (20, 300)))
    wide = dense_rows(counts, 20)
    assert wide.shape == (20, 300)
    monkeypatch.setattr("sfa.evaluate.inputs.MOST_BYTES", 4 * 20 * 300 - 1)
    narrow = dense_rows(counts, 20)
    assert narrow.shape == (20, 20)
    torch.testing.assert_close(narrow @ narrow.T, wide @ wide.T)
    assert dense_rows(sparse.csr_array(np.ones((20, 3))), 20).shape == (20, 3), "nothing is gained there"
    with pytest.raises(InputError, match="scored against 21 nodes"):
        dense_rows(counts, 21)


def sparse_forms(z: np.ndarray) -> list[Any]:
    dense = torch.from_numpy(z)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Sparse CSR tensor support is in beta")
        tensors = [dense.to_sparse(), dense.to_sparse_csr(), dense.float().to_sparse_csr()]
    return [sparse.csr_matrix(z), sparse.coo_array(z), sparse.csc_array(z.astype(np.int64)), *tensors]


def test_sparse_rows_stay_sparse_and_are_what_they_are_dense() -> None:
    counts = np.random.default_rng(0).poisson(0.3, (30, 7)).astype(float)
    for form in sparse_forms(counts):
        assert is_sparse(form)
        rows = sparse_rows(form, 30)
        assert isinstance(rows, sparse.csr_array)
        assert rows.dtype == np.float64
        assert rows.indices.dtype == rows.indptr.dtype == np.int32, "liblinear takes no other"
        assert np.array_equal(rows.toarray(), counts)
    assert not is_sparse(counts)
    assert not is_sparse(torch.from_numpy(counts))


def test_entries_given_twice_are_added_and_the_given_matrix_stays() -> None:
    given = sparse.csr_array((np.array([1.0, 2.0, 5.0]), np.array([1, 1, 0]), np.array([0, 2, 3])), shape=(2, 2))
    rows = sparse_rows(given, 2)
    assert rows.nnz == 2
    assert rows.toarray().tolist() == [[0, 3], [5, 0]]
    assert given.nnz == 3


def test_rows_of_length_one_keep_single_precision_and_zero_rows() -> None:
    z = torch.tensor([[3.0, 4.0], [0.0, 0.0], [1e-30, 0.0], [1e30, 1e30]], requires_grad=True)
    rows = unit_rows(dense_rows(z, 4))
    assert rows.dtype == torch.float32
    assert not rows.requires_grad
    torch.testing.assert_close(rows, torch.tensor([[0.6, 0.8], [0, 0], [1, 0], [0.5**0.5, 0.5**0.5]]))
    assert dense_rows(z.detach().numpy(), 4).dtype == torch.float64


@pytest.mark.parametrize(
    ("z", "message"),
    [
        (np.ones((5, 2)), "5 embeddings cannot be scored against 4 nodes"),
        (np.full((4, 2), np.nan), "finite matrix"),
        (sparse.csr_matrix(np.full((4, 2), np.inf)), "finite matrix"),
        (np.ones(4), "finite matrix"),
    ],
)
def test_what_is_no_embedding_is_named(z: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        dense_rows(z, 4)
    if np.ndim(z) == 2 or sparse.issparse(z):
        with pytest.raises(InputError, match=message.replace("nodes", "graphs")):
            sparse_rows(sparse.csr_array(z), 4, "graphs")
