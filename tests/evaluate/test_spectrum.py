"""Spectrum diagnostics."""

import pytest
import torch

from sfa.evaluate import effective_rank, singular_values


def test_singular_values_of_a_known_matrix() -> None:
    q, _ = torch.linalg.qr(torch.randn(9, 3, generator=torch.Generator().manual_seed(0)))
    assert singular_values(q * torch.tensor([1.0, 5.0, 2.0])).tolist() == pytest.approx([5, 2, 1], rel=1e-5)


def test_effective_rank_counts_equal_directions() -> None:
    assert effective_rank(torch.eye(7)) == pytest.approx(7)
    assert effective_rank(torch.outer(torch.arange(1.0, 5), torch.ones(3))) == pytest.approx(1, abs=1e-4)
    assert effective_rank(torch.zeros(4, 3)) == 0
    assert effective_rank(torch.diag(torch.tensor([3.0, 1.0]))) == pytest.approx(1.7548, abs=1e-4)


def random_map(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize("shape", [(50, 7), (7, 50), (9, 9), (5, 1), (1, 5), (1, 1)])
@pytest.mark.parametrize("scale", [1.0, 1e200, 1e-200])
def test_against_the_decomposition(shape: tuple[int, int], scale: float) -> None:
    h = random_map(*shape)
    torch.testing.assert_close(singular_values(scale * h) / scale, torch.linalg.svdvals(h), rtol=1e-10, atol=0)


def test_tiny_values_drown_in_rounding_and_no_others() -> None:
    """What the docstring says is lost, and no more."""
    q, _ = torch.linalg.qr(random_map(40, 6))
    expected = torch.tensor([1, 1e-1, 1e-3, 1e-5, 1e-6, 1e-12], dtype=torch.float64)
    found = singular_values(q * expected)
    torch.testing.assert_close(found[:5], expected[:5], rtol=1e-3, atol=0)
    assert 0 <= found[5] < 1e-7


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_values_are_of_double_precision_whatever_the_map_is(dtype: torch.dtype) -> None:
    h = random_map(20, 4).to(dtype)
    torch.testing.assert_close(singular_values(h), torch.linalg.svdvals(h.double()), rtol=1e-10, atol=0)


@pytest.mark.parametrize("bad", [torch.nan, torch.inf, -torch.inf])
def test_a_map_that_is_not_finite_has_no_spectrum(bad: float) -> None:
    h = random_map(8, 3)
    h[2, 1] = bad
    assert singular_values(h).isnan().tolist() == [True] * 3
    assert torch.tensor(effective_rank(h)).isnan()


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (0, 0)])
def test_an_empty_map(shape: tuple[int, int]) -> None:
    assert singular_values(torch.empty(shape)).shape == (0,)
    assert effective_rank(torch.empty(shape)) == 0


def test_the_effective_rank_of_a_map_is_that_of_its_spectrum() -> None:
    h = random_map(30, 5)
    assert effective_rank(singular_values(h)) == effective_rank(h)
