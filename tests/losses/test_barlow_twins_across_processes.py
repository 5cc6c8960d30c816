"""The loss of a batch whose rows lie in 2 and 3 real processes, against the same batch in one."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from sfa import distributed
from sfa.errors import InputError
from sfa.losses import barlow_twins
from tests.cases import each
from tests.processes import run_in_processes

pytestmark = pytest.mark.multiprocess

ROUGH = {torch.float32: 1e-5, torch.float64: 1e-10}


def random_views(n: int, d: int = 4, dtype: torch.dtype = torch.float64) -> Tensor:
    draw = torch.randn(2, n, d, generator=torch.Generator().manual_seed(0), dtype=dtype)
    return torch.stack([draw[0] + 3, draw[0] + 0.5 * draw[1]])


def loss_and_gradient(views: Tensor, sizes: tuple[int, ...], options: dict[str, Any]) -> tuple[Tensor, Tensor]:
    own = views.split(sizes, dim=1)[distributed.rank()].clone().requires_grad_()
    loss = barlow_twins(own[0], own[1], **options)
    (gradient,) = torch.autograd.grad(loss, own)
    return loss.detach(), gradient


def across(views: Tensor, sizes: tuple[int, ...], **options: Any) -> tuple[list[Tensor], Tensor]:
    """The loss that each process has, and the gradient that the convention promises: so many times the true one."""
    options["across_processes"] = True
    parts = run_in_processes(loss_and_gradient, len(sizes), views, sizes, options)
    losses, gradients = zip(*parts, strict=True)
    return list(losses), torch.cat(gradients, dim=1) / len(sizes)


@each("dtype", ROUGH, ids=str)
@each("weight", [None, 0.3])
@each("sizes", [(6, 3), (1, 1), (0, 7), (5, 1, 4), (2, 0, 9)], ids=str)
def test_equals_one_process(sizes: tuple[int, ...], weight: float | None, dtype: torch.dtype) -> None:
    views = random_views(sum(sizes), dtype=dtype)
    expected, gradient = loss_and_gradient(views, (sum(sizes),), {"off_diagonal": weight})
    losses, found = across(views, sizes, off_diagonal=weight)
    for loss in losses:
        assert loss.item() == pytest.approx(expected.item(), rel=ROUGH[dtype])
    torch.testing.assert_close(found, gradient, rtol=0, atol=ROUGH[dtype] * max(1, gradient.abs().max().item()))


def test_the_mean_of_losses_of_ones_own_rows_is_another() -> None:
    views = random_views(9)
    expected, gradient = loss_and_gradient(views, (9,), {})
    parts = run_in_processes(loss_and_gradient, 2, views, (6, 3), {})
    assert abs(sum(loss for loss, _ in parts) / 2 - expected) > 0.01
    assert (torch.cat([part for _, part in parts], dim=1) / 2 - gradient).abs().max() > 0.01


@each("value", [0.0, 0.1, 1e6])
def test_a_constant_column_stays_finite_and_small(value: float) -> None:
    views = random_views(400, dtype=torch.float32)
    views[:, :, 1] = value
    losses, gradient = across(views, (150, 1, 249))
    assert all(0 <= loss <= 2 * 4 for loss in losses)
    assert gradient.isfinite().all()
    if value == 0:
        assert not gradient[:, :, 1].any()


def test_bfloat16() -> None:
    views = random_views(300).bfloat16()
    expected, _ = loss_and_gradient(views.float(), (300,), {})
    losses, gradient = across(views, (299, 1))
    assert gradient.dtype == torch.bfloat16
    for loss in losses:
        assert loss.item() == pytest.approx(expected.item(), rel=1e-5)


def test_one_row_in_all_has_no_correlation_and_shapes_are_still_checked() -> None:
    assert run_in_processes(refused, 2) == [True, True]


def refused() -> bool:
    rows = torch.ones(1 - distributed.rank(), 3)
    with pytest.raises(InputError, match="n ≥ 2 rows"):
        barlow_twins(rows, rows, across_processes=True)
    with pytest.raises(InputError, match="one shape"):
        barlow_twins(torch.ones(4, 3), torch.ones(4, 2), across_processes=True)
    return True


def test_without_other_processes_the_bits_are_those_of_one() -> None:
    z_alpha, z_beta = random_views(9, dtype=torch.float32)
    assert torch.equal(barlow_twins(z_alpha, z_beta, across_processes=True), barlow_twins(z_alpha, z_beta))
    with pytest.raises(InputError, match="n ≥ 2"):
        barlow_twins(torch.ones(1, 3), torch.ones(1, 3), across_processes=True)
