"""SwAV's loss against its formula, row by row."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from sfa import distributed
from sfa.errors import InputError
from sfa.losses import sinkhorn, swapped_prediction
from tests.cases import each
from tests.processes import run_in_processes


def random_parts(rows: int = 7, prototypes: int = 4, seed: int = 0) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Scores of both views, and assignments that have nothing to do with them."""
    draw = torch.randn(4, rows, prototypes, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    return draw[0], draw[1], draw[2].softmax(1), draw[3].softmax(1)


def reference(scores_alpha: Tensor, scores_beta: Tensor, q_alpha: Tensor, q_beta: Tensor, tau: float) -> float:
    """The paper's Eq. 1 and 2, the mean of both directions."""
    total = 0.0
    for scores, q in ((scores_alpha, q_beta), (scores_beta, q_alpha)):
        for s, target in zip(scores.tolist(), q.tolist(), strict=True):
            whole = sum(math.exp(entry / tau) for entry in s)
            total -= sum(t * math.log(math.exp(entry / tau) / whole) for entry, t in zip(s, target, strict=True))
    return total / (2 * len(scores_alpha))


@given(rows=st.integers(1, 8), prototypes=st.integers(1, 6), tau=st.sampled_from([0.1, 0.7]), seed=st.integers(0, 99))
def test_equals_the_formula(rows: int, prototypes: int, tau: float, seed: int) -> None:
    parts = random_parts(rows, prototypes, seed)
    assert swapped_prediction(*parts, tau=tau).item() == pytest.approx(reference(*parts, tau), rel=1e-9, abs=1e-12)


def test_the_temperature_is_a_tenth_by_default() -> None:
    parts = random_parts()
    assert torch.equal(swapped_prediction(*parts), swapped_prediction(*parts, tau=0.1))


def test_each_view_predicts_the_other() -> None:
    """It is least where a view's scores are the logarithms of the other's assignments, not of its own."""
    _, _, q_alpha, q_beta = random_parts()
    entropy = -(q_alpha * q_alpha.log() + q_beta * q_beta.log()).sum() / (2 * len(q_alpha))
    swapped = swapped_prediction(q_beta.log(), q_alpha.log(), q_alpha, q_beta, tau=1.0)
    assert swapped.item() == pytest.approx(entropy.item())
    assert swapped_prediction(q_alpha.log(), q_beta.log(), q_alpha, q_beta, tau=1.0) > swapped + 0.1


def test_gradcheck() -> None:
    scores_alpha, scores_beta, q_alpha, q_beta = random_parts()

    def loss(alpha: Tensor, beta: Tensor) -> Tensor:
        return swapped_prediction(alpha, beta, q_alpha, q_beta, tau=0.5)

    assert torch.autograd.gradcheck(loss, (scores_alpha.requires_grad_(), scores_beta.requires_grad_()))


def test_the_gradient_is_prediction_minus_assignment() -> None:
    """Also where assignments are made of these very scores: they are constants."""
    scores_alpha, scores_beta, *_ = random_parts()
    alpha, beta = scores_alpha.requires_grad_(), scores_beta.requires_grad_()
    q_alpha, q_beta = sinkhorn(alpha), sinkhorn(beta)
    swapped_prediction(alpha, beta, q_alpha, q_beta, tau=0.5).backward()
    for scores, q in ((alpha, q_beta), (beta, q_alpha)):
        assert scores.grad is not None
        expected = ((scores.detach() / 0.5).softmax(1) - q) / (0.5 * 2 * len(q))
        torch.testing.assert_close(scores.grad, expected)


@each("dtype", [torch.bfloat16, torch.float16], ids=str)
def test_half_precision_is_computed_in_float32(dtype: torch.dtype) -> None:
    half = [part.to(dtype) for part in random_parts(50, 40)]
    scores_alpha, scores_beta, *q = half
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = swapped_prediction(scores_alpha, scores_beta, *(one.float() for one in q))
    assert loss.dtype == torch.float32
    wide = swapped_prediction(*(part.double() for part in half))
    assert loss.item() == pytest.approx(wide.item(), rel=1e-5)


def test_wrong_input_is_named() -> None:
    parts = random_parts()
    with pytest.raises(InputError, match="one shape"):
        swapped_prediction(parts[0], parts[1], parts[2][:-1], parts[3])
    with pytest.raises(InputError, match="B ≥ 1"):
        swapped_prediction(*(part[:0] for part in parts))
    with pytest.raises(InputError, match=r"\(B, K\)"):
        swapped_prediction(*(part[0] for part in parts))
    with pytest.raises(InputError, match="tau"):
        swapped_prediction(*parts, tau=0.0)


def loss_and_gradient(parts: list[Tensor], sizes: tuple[int, ...], across: bool) -> tuple[float, Tensor]:
    own = [part.split(sizes)[distributed.rank()].clone() for part in parts]
    loss = swapped_prediction(own[0].requires_grad_(), *own[1:], across_processes=across)
    (gradient,) = torch.autograd.grad(loss, own[0])
    return loss.item(), gradient


@pytest.mark.multiprocess
@each("sizes", [(5, 2), (0, 7), (3, 1, 3)], ids=str)
def test_rows_of_several_processes_are_one_batch(sizes: tuple[int, ...]) -> None:
    """Each process has the loss of all, and as many times its true gradient as there are processes."""
    parts = list(random_parts())
    expected, gradient = loss_and_gradient(parts, (7,), across=False)
    found = run_in_processes(loss_and_gradient, len(sizes), parts, sizes, True)
    assert [loss for loss, _ in found] == pytest.approx([expected] * len(sizes))
    torch.testing.assert_close(torch.cat([part for _, part in found]) / len(sizes), gradient)
