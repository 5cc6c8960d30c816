"""Embeddings without their leading directions, against a decomposition of all of them."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from sfa.errors import InputError
from sfa.spectral.leading import without_leading


def embeddings(dtype: torch.dtype = torch.float64, n: int = 40, d: int = 6) -> Tensor:
    generator = torch.Generator().manual_seed(0)
    z = torch.randn(n, d, generator=generator, dtype=torch.float64) * torch.tensor([30.0, 8, 4, 2, 1, 0.5])[:d]
    turn = torch.linalg.qr(torch.randn(d, d, generator=generator, dtype=torch.float64)).Q
    return (z @ turn).to(dtype)


@pytest.mark.parametrize("count", [1, 2, 5])
@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-12), (torch.float32, 1e-5)])
@pytest.mark.parametrize("rows_at_a_time", [1, 7, 40])
def test_what_is_left_has_the_other_singular_values(
    count: int, dtype: torch.dtype, tolerance: float, rows_at_a_time: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sfa.matrices.CHUNK_BYTES", 4 * 6 * rows_at_a_time)
    z = embeddings(dtype)
    u, sigma, v = torch.linalg.svd(z.double(), full_matrices=False)
    expected = u[:, count:] * sigma[count:] @ v[count:]
    found = without_leading(z, count)
    assert found.dtype == dtype
    torch.testing.assert_close(found.double(), expected, rtol=0, atol=tolerance * float(sigma[0]))


def test_scales_that_do_not_square() -> None:
    z = embeddings(torch.float32)
    for scale in (1e-30, 1e30):
        torch.testing.assert_close(without_leading(scale * z, 1) / scale, without_leading(z, 1), rtol=1e-4, atol=1e-4)


def test_zeros_few_rows_and_none() -> None:
    assert (without_leading(torch.zeros(5, 3), 1) == 0).all()
    assert without_leading(torch.empty(0, 3), 1).shape == (0, 3)
    torch.testing.assert_close(without_leading(torch.tensor([[3.0, 4.0]]), 1), torch.zeros(1, 2), rtol=0, atol=1e-6)
    assert not without_leading(embeddings().requires_grad_(), 1).requires_grad


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_embeddings_that_are_not_finite(value: float) -> None:
    z = embeddings()
    z[3, 2] = value
    with pytest.raises(InputError, match=r"^Embeddings with NaN or infinity have no leading directions\.$"):
        without_leading(z, 1)


@pytest.mark.parametrize("count", [6, 7])
def test_nothing_would_be_left(count: int) -> None:
    with pytest.raises(InputError, match=f"^Embeddings of width 6 without their {count} leading directions"):
        without_leading(embeddings(), count)
