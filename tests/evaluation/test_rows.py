"""Embeddings in any form become dense rows."""

import warnings

import numpy as np
import pytest
import torch
from scipy import sparse

from sfa.errors import InputError
from sfa.evaluation.rows import dense_rows, unit_rows


def test_every_form_gives_the_same_rows() -> None:
    z = np.random.default_rng(0).normal(size=(30, 4))
    z = np.where(z > 0.5, z, 0)
    dense = torch.from_numpy(z)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Sparse CSR tensor support is in beta")
        forms = [z, sparse.csr_matrix(z), sparse.coo_array(z), dense.to_sparse(), dense.to_sparse_csr(), dense]
    for form in forms:
        assert torch.equal(dense_rows(form, 30), dense)


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
