"""Squared distances of all rows, against one pair after another."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from sfa.evaluate import distances as module
from sfa.evaluate.distances import squared_distances


def pair_by_pair(z: np.ndarray) -> np.ndarray:
    return np.array([[((a - b) ** 2).sum() for b in z] for a in z])


@given(n=st.integers(1, 12), width=st.integers(1, 6), chunk=st.integers(1, 12), seed=st.integers(0, 99))
def test_dense_and_sparse_rows_have_the_distances_of_every_pair(n: int, width: int, chunk: int, seed: int) -> None:
    z = np.random.default_rng(seed).poisson(0.7, (n, width)).astype(float)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "CHUNK", chunk)
        found = squared_distances(sparse.csr_array(z))
    assert np.array_equal(found, pair_by_pair(z)), "of whole numbers they are exact"
    np.testing.assert_allclose(squared_distances(z), pair_by_pair(z), atol=1e-12)


def test_far_from_the_origin_no_digits_are_lost() -> None:
    z = np.random.default_rng(0).normal(size=(20, 5))
    far = z + np.array([1e6, -1e6, 0, 3e5, 1e6])
    np.testing.assert_allclose(squared_distances(far), pair_by_pair(far), rtol=1e-9, atol=1e-9)


def test_none_is_negative_and_a_row_has_none_from_itself() -> None:
    z = np.repeat(np.random.default_rng(0).normal(size=(5, 30)) * 1e3, 4, 0)
    before = z.copy()
    found = squared_distances(z)
    assert found.min() == 0
    assert not np.diagonal(found).any()
    assert np.array_equal(z, before), "the rows stay"
