"""NT-Xent of a batch whose rows lie in 2 and 3 real processes, against the same batch in one."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from sfa import distributed
from sfa.losses import nt_xent, similarities
from tests.cases import each
from tests.processes import run_in_processes

pytestmark = pytest.mark.multiprocess

ROUGH = {torch.float32: 1e-5, torch.float64: 1e-10}


def random_views(n: int, d: int = 5, dtype: torch.dtype = torch.float64) -> Tensor:
    return torch.randn(2, n, d, generator=torch.Generator().manual_seed(0), dtype=dtype)


def loss_and_gradient(views: Tensor, sizes: tuple[int, ...], options: dict[str, Any]) -> tuple[Tensor, Tensor]:
    similarities.ROWS, similarities.COLUMNS = 3, 4  # several tiles, whose borders are not those of the processes
    own = views.split(sizes, dim=1)[distributed.rank()].clone().requires_grad_()
    pairs = options.get("not_negatives")
    if isinstance(pairs, list):
        options = {**options, "not_negatives": pairs[distributed.rank()]}
    loss = nt_xent(own[0], own[1], **options)
    (gradient,) = torch.autograd.grad(loss, own)
    return loss.detach(), gradient


@pytest.fixture(autouse=True)
def tiles(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(similarities, "ROWS", similarities.ROWS)  # put back what the reference below has changed
    monkeypatch.setattr(similarities, "COLUMNS", similarities.COLUMNS)


@each("dtype", ROUGH, ids=str)
@each("options", [{}, {"intraview": False}, {"keep_bytes": 0, "tau": 0.1}], ids=str)
@each("sizes", [(6, 3), (1, 1), (0, 7), (5, 1, 4)], ids=str)
def test_equals_one_process(sizes: tuple[int, ...], options: dict[str, Any], dtype: torch.dtype) -> None:
    views = random_views(sum(sizes), dtype=dtype)
    expected, gradient = loss_and_gradient(views, (sum(sizes),), options)
    parts = run_in_processes(loss_and_gradient, len(sizes), views, sizes, {**options, "across_processes": True})
    for loss, _ in parts:
        assert loss.item() == pytest.approx(expected.item(), rel=ROUGH[dtype])
    found = torch.cat([part for _, part in parts], dim=1) / len(sizes)
    torch.testing.assert_close(found, gradient, rtol=0, atol=ROUGH[dtype] * max(1, gradient.abs().max().item()))


def test_pairs_that_are_no_negatives_are_numbered_within_each_process() -> None:
    views = random_views(9)
    everywhere = torch.tensor([[0, 2, 6], [1, 5, 8]])
    own = [torch.tensor([[0, 2], [1, 5]]), torch.tensor([[0], [2]])]
    expected, gradient = loss_and_gradient(views, (9,), {"not_negatives": everywhere})
    parts = run_in_processes(loss_and_gradient, 2, views, (6, 3), {"not_negatives": own, "across_processes": True})
    assert parts[0][0].item() == pytest.approx(expected.item(), rel=1e-10)
    torch.testing.assert_close(torch.cat([part for _, part in parts], dim=1) / 2, gradient)


def test_negatives_of_ones_own_process_alone_give_another_loss() -> None:
    views = random_views(9)
    expected, gradient = loss_and_gradient(views, (9,), {})
    parts = run_in_processes(loss_and_gradient, 2, views, (6, 3), {})
    assert abs(sum(loss for loss, _ in parts) / 2 - expected) > 0.01
    assert (torch.cat([part for _, part in parts], dim=1) / 2 - gradient).abs().max() > 0.01
