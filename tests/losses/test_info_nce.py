"""InfoNCE in one direction against its formula written as loops."""

import math
import subprocess
import sys
from unittest.mock import patch

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from sfa import matrices
from sfa.errors import InputError
from sfa.losses import info_nce, nt_xent
from sfa.losses.nt_xent import Negatives
from tests.cases import each


def slow_info_nce(
    anchors: Tensor, positives: Tensor, negatives: Negatives, tau: float, with_positive: bool = True
) -> Tensor:
    """Anchor by anchor and negative by negative."""
    a, p = (z / z.norm(dim=1, keepdim=True) for z in (anchors, positives))
    total = torch.zeros((), dtype=anchors.dtype)
    for i in range(len(a)):
        partition = (a[i] @ p[i] / tau).exp() if with_positive else torch.zeros_like(total)
        for j in range(len(a)):
            if j != i:
                partition = partition + (a[i] @ (p if negatives == "positives" else a)[j] / tau).exp()
        total = total - ((a[i] @ p[i] / tau).exp() / partition).log()
    return total / len(a)


def random_rows(n: int, d: int, seed: int = 0) -> tuple[Tensor, Tensor]:
    draw = torch.randn(2, n, d, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    return draw[0].requires_grad_(), draw[1].requires_grad_()


@settings(max_examples=40)
@given(
    n=st.integers(1, 9),
    d=st.integers(1, 5),
    negatives=st.sampled_from(["positives", "anchors"]),
    with_positive=st.booleans(),
    tau=st.sampled_from([0.1, 0.5, 1.0]),
    rows=st.integers(1, 10),
    seed=st.integers(0, 99),
)
def test_value_and_gradients_equal_the_loops(
    n: int, d: int, negatives: Negatives, with_positive: bool, tau: float, rows: int, seed: int
) -> None:
    """Whatever the chunks of rows are."""
    n = n if with_positive else n + 1
    pair = random_rows(n, d, seed)
    with patch.object(matrices, "CHUNK_BYTES", 4 * n * rows):
        loss = info_nce(*pair, negatives=negatives, positive_in_denominator=with_positive, tau=tau)
        gradients = torch.autograd.grad(loss, pair)
    expected = slow_info_nce(*pair, negatives, tau, with_positive)
    torch.testing.assert_close(loss, expected)
    for ours, theirs in zip(gradients, torch.autograd.grad(expected, pair), strict=True):
        torch.testing.assert_close(ours, theirs)


@each("with_positive", [True, False])
def test_a_row_of_zeros_has_a_gradient_of_the_others_size(with_positive: bool) -> None:
    """It has no direction, as the embedding of an empty graph at first: no reason to be thrown far away."""
    anchors, positives = (rows.detach().clone() for rows in random_rows(5, 3))
    anchors[1] = 0
    positives[3] = 0
    anchors.requires_grad_()
    positives.requires_grad_()
    info_nce(anchors, positives, positive_in_denominator=with_positive, tau=0.2).backward()
    for rows in (anchors, positives):
        assert rows.grad is not None
        assert float(rows.grad.norm()) < 20


def test_the_loss_of_each_anchor_is_that_of_the_loops() -> None:
    pair = random_rows(7, 3)
    with patch.object(matrices, "CHUNK_BYTES", 4 * 7 * 2):
        losses = info_nce(*pair, tau=0.5, positive_in_denominator=False, of_each=True)
    assert losses.shape == (7,)
    a, p = (z / z.norm(dim=1, keepdim=True) for z in pair)
    for i, loss in enumerate(losses):
        negatives = sum((a[i] @ p[j] / 0.5).exp() for j in range(7) if j != i)
        torch.testing.assert_close(loss, -((a[i] @ p[i] / 0.5).exp() / negatives).log())
    torch.testing.assert_close(losses.mean(), info_nce(*pair, tau=0.5, positive_in_denominator=False))


@each("with_positive", [True, False])
@each("negatives", ["positives", "anchors"])
def test_gradcheck(negatives: Negatives, with_positive: bool) -> None:
    def loss(a: Tensor, p: Tensor) -> Tensor:
        return info_nce(a, p, negatives=negatives, positive_in_denominator=with_positive, tau=0.5)

    with patch.object(matrices, "CHUNK_BYTES", 4 * 5 * 2):
        assert torch.autograd.gradcheck(loss, random_rows(5, 3))


def test_the_mean_of_both_directions_is_nt_xent_across_views() -> None:
    a, p = random_rows(12, 4)
    both = (info_nce(a, p, tau=0.4) + info_nce(p, a, tau=0.4)) / 2
    torch.testing.assert_close(both, nt_xent(a, p, tau=0.4, intraview=False))


def test_known_values() -> None:
    """Orthogonal, perfectly aligned rows: log(e + negatives) - 1, or without the positive log(negatives) - 1."""
    eye = torch.eye(4, dtype=torch.float64)
    for negatives in ("positives", "anchors"):
        assert info_nce(eye, eye, negatives=negatives).item() == pytest.approx(math.log(math.e + 3) - 1)
        without = info_nce(eye, eye, negatives=negatives, positive_in_denominator=False)
        assert without.item() == pytest.approx(math.log(3) - 1)


def test_a_target_learns_nothing() -> None:
    a, p = random_rows(6, 4)
    info_nce(a, p.detach()).backward()
    assert a.grad is not None
    assert p.grad is None
    with torch.no_grad():
        torch.testing.assert_close(info_nce(a, p), slow_info_nce(a, p, "positives", 1.0))


@each("with_positive", [True, False])
@each("tau", [1e-4, 1e-2, 100.0])
def test_any_temperature_in_float32(tau: float, with_positive: bool) -> None:
    """Logits of 10,000 would overflow without a shift."""
    exact = random_rows(10, 4)
    expected = torch.stack([z / z.norm(dim=1, keepdim=True) for z in exact])
    logits = expected[0] @ expected[1].T / tau
    told_from = logits if with_positive else logits.masked_fill(torch.eye(10, dtype=torch.bool), -torch.inf)
    reference = (told_from.logsumexp(1) - logits.diagonal()).mean()
    narrow = tuple(z.detach().float().requires_grad_() for z in exact)
    loss = info_nce(*narrow, positive_in_denominator=with_positive, tau=tau)
    assert loss.item() == pytest.approx(reference.item(), rel=1e-3)
    assert all(gradient.isfinite().all() for gradient in torch.autograd.grad(loss, narrow))


def test_half_precision_is_computed_in_float32() -> None:
    half = tuple(z.detach().bfloat16() for z in random_rows(20, 4))
    loss = info_nce(*half)
    assert loss.dtype == torch.float32
    assert torch.equal(loss, info_nce(*(z.float() for z in half)))
    with torch.autocast("cpu", torch.bfloat16):
        assert torch.equal(info_nce(*(z.float() for z in half)), loss)


def test_rows_without_direction_stay_finite() -> None:
    a = torch.zeros(4, 3, requires_grad=True)
    loss = info_nce(a, torch.ones(4, 3))
    loss.backward()
    assert loss.item() == pytest.approx(math.log(4))
    assert a.grad is not None
    assert a.grad.isfinite().all()


PEAK = """
import resource, torch
from sfa.losses import info_nce
info_nce(*(torch.randn(64, 8, requires_grad=True) for _ in range(2))).backward()
rows = [torch.randn(6000, 8, requires_grad=True) for _ in range(2)]
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
info_nce(*rows, negatives="anchors").backward()
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024)
"""


@pytest.mark.slow
def test_memory_is_not_quadratic() -> None:
    """One 6,000 × 6,000 matrix in float32 is 144 MB, and a plain way back holds several."""
    result = subprocess.run([sys.executable, "-W", "ignore", "-c", PEAK], capture_output=True, text=True, check=True)
    assert float(result.stdout) < 130


def test_wrong_arguments_are_named() -> None:
    rows = torch.ones(3, 2)
    with pytest.raises(InputError, match="one shape"):
        info_nce(rows, torch.ones(4, 2))
    with pytest.raises(InputError, match="n ≥ 1"):
        info_nce(torch.ones(0, 2), torch.ones(0, 2))
    with pytest.raises(InputError, match="number, above 0, not"):
        info_nce(rows, rows, tau=0.0)
    with pytest.raises(InputError, match="one has no negatives"):
        info_nce(rows[:1], rows[:1], positive_in_denominator=False)
    wrong: Negatives = "positive"  # type: ignore[assignment]
    with pytest.raises(InputError, match="did you mean 'positives'"):
        info_nce(rows, rows, negatives=wrong)
