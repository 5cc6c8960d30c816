"""The loss of CCA-SSG against its formula, written out with NumPy row by row; in one process and in several."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from sfa import distributed
from sfa.errors import InputError
from sfa.losses import cca
from tests.cases import each
from tests.processes import run_in_processes


def random_views(n: int = 9, d: int = 4, dtype: torch.dtype = torch.float64) -> tuple[Tensor, Tensor]:
    draw = torch.randn(2, n, d, generator=torch.Generator().manual_seed(0), dtype=dtype)
    return (draw[0] + 3).requires_grad_(), (draw[0] + 0.5 * draw[1]).requires_grad_()


def slow_cca(z_alpha: Tensor, z_beta: Tensor, decorrelation: float) -> float:
    a, b = ((z - z.mean(0)) / (z.std(0, ddof=1) * np.sqrt(len(z))) for z in (z_alpha.numpy(), z_beta.numpy()))
    loss = sum(float(np.sum((row_a - row_b) ** 2)) for row_a, row_b in zip(a, b, strict=True))
    for z in (a, b):
        for i in range(z.shape[1]):
            for j in range(z.shape[1]):
                loss += decorrelation * (float(z[:, i] @ z[:, j]) - (i == j)) ** 2
    return loss


@each("weight", [0.0, 2e-3, 0.7])
def test_equals_the_formula(weight: float) -> None:
    z_alpha, z_beta = random_views()
    expected = slow_cca(z_alpha.detach(), z_beta.detach(), weight)
    assert cca(z_alpha, z_beta, decorrelation=weight).item() == pytest.approx(expected, rel=1e-10)


def test_is_twice_that_of_the_authors_code_but_for_a_constant() -> None:
    """−tr C + λ/2 (‖C_A − I‖² + ‖C_B − I‖²), from which it differs by the columns' own lengths."""
    z_alpha, z_beta = (z.detach() for z in random_views(n=30))
    a, b = ((z - z.mean(0)) / z.std(0) for z in (z_alpha, z_beta))
    eye = torch.eye(4, dtype=torch.float64)
    theirs = -(a.T @ b / 30).trace() + 0.05 * sum((z.T @ z / 30 - eye).square().sum() for z in (a, b))
    constant = 2 * 4 * 29 / 30
    assert cca(z_alpha, z_beta, decorrelation=0.1).item() == pytest.approx(2 * theirs.item() + constant)


def test_gradcheck() -> None:
    assert torch.autograd.gradcheck(lambda a, b: cca(a, b, decorrelation=0.3), random_views())


def test_blind_to_shift_and_scale_of_columns() -> None:
    z_alpha, z_beta = random_views()
    torch.testing.assert_close(cca(z_alpha, z_beta), cca(3 * z_alpha + 7, z_beta))


def test_identical_decorrelated_views_reach_the_minimum() -> None:
    """C = (n-1)/n I: the unbiased deviation leaves 1/n² per column and view, and nothing else."""
    q, _ = torch.linalg.qr(torch.randn(50, 4, generator=torch.Generator().manual_seed(0), dtype=torch.float64))
    z = torch.linalg.qr(q - q.mean(0))[0]
    assert cca(z, z, decorrelation=0.3).item() == pytest.approx(0.3 * 2 * 4 / 50**2)


@each("value", [0.0, 0.1, 1e6])
def test_a_constant_column_stays_finite_and_small(value: float) -> None:
    z = torch.randn(1000, 4, generator=torch.Generator().manual_seed(0))
    z[:, 1] = value
    z.requires_grad_()
    loss = cca(z, z.detach().clone(), decorrelation=1.0)
    loss.backward()
    assert 0 <= loss.item() <= 2 * 16
    assert z.grad is not None
    assert z.grad.isfinite().all()


def test_views_of_other_shapes_are_refused() -> None:
    with pytest.raises(InputError, match="n ≥ 2"):
        cca(torch.ones(1, 3), torch.ones(1, 3))
    with pytest.raises(InputError, match="one shape"):
        cca(torch.ones(4, 3), torch.ones(4, 2))


def loss_and_gradient(views: Tensor, sizes: tuple[int, ...], options: dict[str, Any]) -> tuple[Tensor, Tensor]:
    own = views.split(sizes, dim=1)[distributed.rank()].clone().requires_grad_()
    loss = cca(own[0], own[1], decorrelation=0.3, **options)
    (gradient,) = torch.autograd.grad(loss, own)
    return loss.detach(), gradient


@pytest.mark.multiprocess
@each("sizes", [(6, 3), (0, 7)], ids=str)
def test_several_processes_equal_one(sizes: tuple[int, ...]) -> None:
    """Each has the loss of all rows, and so many times its share of the gradient as there are processes."""
    views = torch.stack(random_views(sum(sizes))).detach()
    expected, gradient = loss_and_gradient(views, (sum(sizes),), {})
    parts = run_in_processes(loss_and_gradient, len(sizes), views, sizes, {"across_processes": True})
    for loss, _ in parts:
        assert loss.item() == pytest.approx(expected.item(), rel=1e-10)
    found = torch.cat([part for _, part in parts], dim=1) / len(sizes)
    torch.testing.assert_close(found, gradient, rtol=0, atol=1e-10)
