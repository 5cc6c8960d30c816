"""SIGNA's Jensen–Shannon loss of a batch whose rows lie in 2 and 3 real processes, against the same batch in one."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from sfa import distributed
from sfa.errors import InputError
from sfa.losses import normalized_jensen_shannon
from tests.cases import each
from tests.processes import run_in_processes

pytestmark = pytest.mark.multiprocess

ROUGH = {torch.float32: 1e-5, torch.float64: 1e-10}


def random_pairs(n: int, d: int = 5, dtype: torch.dtype = torch.float64) -> Tensor:
    return torch.randn(2, n, d, generator=torch.Generator().manual_seed(0), dtype=dtype)


def loss_and_gradient(pairs: Tensor, sizes: tuple[int, ...], across_processes: bool) -> tuple[Tensor, Tensor]:
    own = pairs.split(sizes, dim=1)[distributed.rank()].clone().requires_grad_()
    loss = normalized_jensen_shannon(own[0], own[1], across_processes=across_processes)
    (gradient,) = torch.autograd.grad(loss, own)
    return loss.detach(), gradient


@each("dtype", ROUGH, ids=str)
@each("sizes", [(6, 3), (1, 1), (0, 7), (7, 0), (5, 1, 4)], ids=str)
def test_equals_one_process(sizes: tuple[int, ...], dtype: torch.dtype) -> None:
    pairs = random_pairs(sum(sizes), dtype=dtype)
    expected, gradient = loss_and_gradient(pairs, (sum(sizes),), False)
    parts = run_in_processes(loss_and_gradient, len(sizes), pairs, sizes, True)
    for loss, _ in parts:
        assert loss.item() == pytest.approx(expected.item(), rel=ROUGH[dtype])
    found = torch.cat([part for _, part in parts], dim=1) / len(sizes)
    torch.testing.assert_close(found, gradient, rtol=0, atol=ROUGH[dtype] * max(1, gradient.abs().max().item()))


def test_negatives_of_ones_own_process_alone_give_another_loss() -> None:
    pairs = random_pairs(9)
    expected, gradient = loss_and_gradient(pairs, (9,), False)
    parts = run_in_processes(loss_and_gradient, 2, pairs, (6, 3), False)
    assert abs(sum(loss for loss, _ in parts) / 2 - expected) > 0.01
    assert (torch.cat([part for _, part in parts], dim=1) / 2 - gradient).abs().max() > 0.01


def refusal(pairs: Tensor, sizes: tuple[int, ...]) -> str:
    with pytest.raises(InputError) as caught:
        loss_and_gradient(pairs, sizes, True)
    return str(caught.value)


def test_one_row_on_all_processes_together_is_too_few() -> None:
    for said in run_in_processes(refusal, 2, random_pairs(1), (1, 0)):
        assert "n ≥ 2" in said
