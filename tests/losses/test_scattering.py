"""The scattering loss against its formula, row by row."""

from __future__ import annotations

import math

import pytest
import torch

from sfa.errors import InputError
from sfa.losses import scattering


def rows(n: int = 7, d: int = 4, seed: int = 0) -> torch.Tensor:
    return torch.randn(n, d, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def test_is_the_papers() -> None:
    z = rows()
    units = [[float(value) / math.sqrt(sum(float(one) ** 2 for one in row)) for value in row] for row in z]
    center = [sum(column) / len(units) for column in zip(*units, strict=True)]
    distances = [sum((a - b) ** 2 for a, b in zip(unit, center, strict=True)) for unit in units]
    assert scattering(z).item() == pytest.approx(-sum(distances) / len(units), abs=1e-12)


def test_is_0_for_one_direction_and_minus_1_for_directions_that_cancel() -> None:
    lengths = torch.tensor([[0.1], [3.0], [70.0]], dtype=torch.float64)
    assert scattering(lengths * rows(1)).item() == pytest.approx(0, abs=1e-12)
    assert scattering(torch.cat([rows(), -2 * rows()])).item() == pytest.approx(-1)


def test_has_the_gradient_of_finite_differences_and_a_finite_one_at_zero() -> None:
    assert torch.autograd.gradcheck(scattering, (rows().requires_grad_(),))
    z = rows()
    z[2] = 0
    scattering(z.requires_grad_()).backward()
    assert z.grad is not None
    assert z.grad.isfinite().all()


@pytest.mark.parametrize("scale", [1e-30, 1e30])
def test_does_not_depend_on_the_scale(scale: float) -> None:
    z = rows().float()
    assert scattering(scale * z).item() == pytest.approx(scattering(z).item(), rel=1e-5)


def test_needs_a_table_with_rows() -> None:
    for z in (torch.zeros(0, 3), torch.zeros(3)):
        with pytest.raises(InputError, match="Embeddings"):
            scattering(z)
