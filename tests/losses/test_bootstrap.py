"""The bootstrap loss against its formula, node by node."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from sfa import distributed
from sfa.errors import InputError
from sfa.losses import bootstrap_latent
from tests.cases import each
from tests.processes import run_in_processes


def random_rows(n: int = 7, d: int = 4, seed: int = 0, dtype: torch.dtype = torch.float64) -> tuple[Tensor, Tensor]:
    draw = torch.randn(2, n, d, generator=torch.Generator().manual_seed(seed), dtype=dtype)
    return draw[0], draw[1]


def reference(q: Tensor, z: Tensor) -> float:
    """BYOL's Eq. 2: the mean squared distance of the two rows, each divided by its length."""
    total = 0.0
    for one, other in zip(q.tolist(), z.tolist(), strict=True):
        lengths = math.sqrt(sum(a * a for a in one)), math.sqrt(sum(b * b for b in other))
        total += sum((a / lengths[0] - b / lengths[1]) ** 2 for a, b in zip(one, other, strict=True))
    return total / len(q)


@given(n=st.integers(1, 9), d=st.integers(1, 6), seed=st.integers(0, 99))
def test_equals_the_formula(n: int, d: int, seed: int) -> None:
    q, z = random_rows(n, d, seed)
    assert bootstrap_latent(q, z).item() == pytest.approx(reference(q, z), abs=1e-12)


def test_is_bgrls_cosine_but_for_a_constant() -> None:
    """Thakoor et al.: minus twice the mean cosine."""
    q, z = random_rows()
    cosines = torch.nn.functional.cosine_similarity(q, z)
    torch.testing.assert_close(bootstrap_latent(q, z), 2 - 2 * cosines.mean())


def test_gradcheck() -> None:
    q, z = random_rows()
    assert torch.autograd.gradcheck(bootstrap_latent, (q.requires_grad_(), z.requires_grad_()))


def test_the_ends() -> None:
    q, _ = random_rows()
    lengths = torch.arange(1.0, 8.0)[:, None]
    assert bootstrap_latent(q, lengths * q).item() == pytest.approx(0, abs=1e-12)
    assert bootstrap_latent(q, -lengths * q).item() == pytest.approx(4)


@each("which", [0, 1])
def test_a_zero_row_has_cosine_zero_and_a_finite_gradient(which: int) -> None:
    rows = [r.clone() for r in random_rows(dtype=torch.float32)]
    others = bootstrap_latent(rows[0][1:], rows[1][1:])
    rows[which][0] = 0
    q, z = (r.requires_grad_() for r in rows)
    loss = bootstrap_latent(q, z)
    assert loss.item() == pytest.approx((2 + 6 * others.item()) / 7)
    loss.backward()
    for row in (q, z):
        assert row.grad is not None
        assert row.grad.abs().max() < 10


@each("scale", [1e-30, 1e30])
def test_tiny_and_huge_rows_keep_their_direction(scale: float) -> None:
    q, z = random_rows(dtype=torch.float32)
    assert bootstrap_latent(scale * q, z).item() == pytest.approx(bootstrap_latent(q, z).item(), rel=1e-5)


@each("shapes", [((3, 2), (3, 4)), ((3,), (3,)), ((0, 2), (0, 2))])
def test_wrong_shapes_are_named(shapes: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    with pytest.raises(InputError, match="of one shape"):
        bootstrap_latent(*(torch.ones(shape) for shape in shapes))


def loss_and_gradient(q: Tensor, z: Tensor, sizes: tuple[int, ...], across: bool) -> tuple[float, Tensor]:
    own_q, own_z = (rows.split(sizes)[distributed.rank()].clone() for rows in (q, z))
    loss = bootstrap_latent(own_q.requires_grad_(), own_z, across_processes=across)
    (gradient,) = torch.autograd.grad(loss, own_q)
    return loss.item(), gradient


@pytest.mark.multiprocess
@each("sizes", [(5, 2), (0, 7), (3, 1, 3)], ids=str)
def test_rows_of_several_processes_are_one_batch(sizes: tuple[int, ...]) -> None:
    """Each process has the loss of all, and as many times its true gradient as there are processes."""
    q, z = random_rows()
    expected, gradient = loss_and_gradient(q, z, (7,), across=False)
    parts = run_in_processes(loss_and_gradient, len(sizes), q, z, sizes, True)
    assert [loss for loss, _ in parts] == pytest.approx([expected] * len(sizes))
    torch.testing.assert_close(torch.cat([part for _, part in parts]) / len(sizes), gradient)
