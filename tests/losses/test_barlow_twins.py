"""Barlow Twins against its formula written out with NumPy's own correlation."""

import numpy as np
import pytest
import torch
from torch import Tensor

from sfa.errors import InputError
from sfa.losses import barlow_twins
from tests.cases import each


def random_views(n: int = 9, d: int = 4) -> tuple[Tensor, Tensor]:
    draw = torch.randn(2, n, d, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    return draw[0].requires_grad_(), (draw[0].detach() + 0.5 * draw[1]).requires_grad_()


@each("weight", [None, 0.0, 0.3])
def test_equals_the_formula(weight: float | None) -> None:
    z_alpha, z_beta = random_views()
    n, d = z_alpha.shape
    correlation = np.corrcoef(z_alpha.detach().T, z_beta.detach().T)[:d, d:] * (n - 1) / n
    off = correlation - np.diag(np.diag(correlation))
    expected = ((1 - np.diag(correlation)) ** 2).sum() + (1 / d if weight is None else weight) * (off**2).sum()
    assert barlow_twins(z_alpha, z_beta, off_diagonal=weight).item() == pytest.approx(expected, rel=1e-10)


def test_gradcheck() -> None:
    assert torch.autograd.gradcheck(barlow_twins, random_views())


def test_blind_to_shift_and_scale_of_columns() -> None:
    z_alpha, z_beta = random_views()
    torch.testing.assert_close(barlow_twins(z_alpha, z_beta), barlow_twins(3 * z_alpha + 7, z_beta))


def test_identical_decorrelated_views_reach_the_minimum() -> None:
    """C = (n-1)/n I: the unbiased deviation leaves d/n² per column and nothing else."""
    q, _ = torch.linalg.qr(torch.randn(50, 4, generator=torch.Generator().manual_seed(0), dtype=torch.float64))
    z = torch.linalg.qr(q - q.mean(0))[0]
    assert barlow_twins(z, z).item() == pytest.approx(4 / 50**2)


def test_a_constant_column_stays_finite() -> None:
    z = torch.randn(8, 3, generator=torch.Generator().manual_seed(0))
    z[:, 1] = 0.0
    z.requires_grad_()
    loss = barlow_twins(z, z.detach())
    loss.backward()
    assert loss.isfinite()
    assert z.grad is not None
    assert z.grad.isfinite().all()


def test_one_node_has_no_correlation() -> None:
    with pytest.raises(InputError, match="n ≥ 2"):
        barlow_twins(torch.ones(1, 3), torch.ones(1, 3))


@each("value", [0.1, 1e6])
def test_a_constant_column_that_is_not_zero_stays_small(value: float) -> None:
    """The mean of equal numbers is off by rounding, which must not be divided by nothing."""
    z = torch.full((1000, 4), value, requires_grad=True)
    loss = barlow_twins(z, z.detach().clone())
    loss.backward()
    assert 0 <= loss.item() <= 2 * 4
    assert z.grad is not None
    assert z.grad.isfinite().all()
