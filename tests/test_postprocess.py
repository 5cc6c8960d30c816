"""Features beside embeddings: lengths, weights, sparse rows, chunks."""

import math
import warnings

import pytest
import torch
from torch import Tensor

from sfa.graph.own_features import beside_own_features

GENERATOR = torch.Generator().manual_seed(0)
Z, X = torch.randn(7, 3, generator=GENERATOR), torch.rand(7, 5, generator=GENERATOR).round(decimals=1) - 0.3


def sparse(x: Tensor) -> Tensor:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return x.to_sparse_csr()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("chunk", [1, 3, 7, 100])
@pytest.mark.parametrize("layout", [lambda x: x, sparse])
def test_rows_of_length_one_side_by_side(
    dtype: torch.dtype, chunk: int, layout: type, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sfa.matrices.CHUNK_BYTES", 4 * 8 * chunk)
    z, x = Z.to(dtype), X.to(dtype)
    found = beside_own_features(z, layout(x), 0.5)  # type: ignore[call-arg]
    expected = [
        [value / math.hypot(*row) for value in row] + [0.5 * value / math.hypot(*own) for value in own]
        for row, own in zip(z.tolist(), x.tolist(), strict=True)
    ]
    torch.testing.assert_close(found, torch.tensor(expected, dtype=dtype))
    cosines = torch.nn.functional.cosine_similarity(z[:, None], z[None], dim=2)
    own = torch.nn.functional.cosine_similarity(x[:, None], x[None], dim=2)
    torch.testing.assert_close(found @ found.T, cosines + own / 4)


def test_what_has_no_length_stays_zero() -> None:
    z, x = Z.clone(), X.clone()
    z[2], x[4] = 0, 0
    found = beside_own_features(z, x, 1.0)
    assert found.isfinite().all()
    assert (found[2, :3] == 0).all()
    assert (found[4, 3:] == 0).all()
    torch.testing.assert_close(found[[0, 2, 4]].norm(dim=1), torch.tensor([math.sqrt(2), 1.0, 1.0]))


def test_lengths_beyond_the_squares_of_float32() -> None:
    found = beside_own_features(1e30 * Z, 1e-30 * X, 1.0)
    torch.testing.assert_close(found, beside_own_features(Z, X, 1.0))


def test_no_nodes_and_no_way_back() -> None:
    assert beside_own_features(Z[:0], X[:0], 1.0).shape == (0, 8)
    z = Z.clone().requires_grad_()
    assert not beside_own_features(z, X, 1.0).requires_grad
