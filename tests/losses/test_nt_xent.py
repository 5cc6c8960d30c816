"""NT-Xent against Eq. 2 written as loops."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from sfa.errors import InputError
from sfa.losses import nt_xent


def slow_nt_xent(z_alpha: Tensor, z_beta: Tensor, tau: float, intraview: bool) -> Tensor:
    """Eq. 2, anchor by anchor and negative by negative."""
    views = [z / z.norm(dim=1, keepdim=True) for z in (z_alpha, z_beta)]
    total = torch.zeros((), dtype=z_alpha.dtype)
    n = len(z_alpha)
    for own, other in (views, views[::-1]):
        for i in range(n):
            partition = torch.zeros((), dtype=z_alpha.dtype)
            for j in range(n):
                partition = partition + (own[i] @ other[j] / tau).exp()
                if intraview and j != i:
                    partition = partition + (own[i] @ own[j] / tau).exp()
            total = total + partition.log() - own[i] @ other[i] / tau
    return total / (2 * n)


def random_views(n: int, d: int, seed: int) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    draw = torch.randn(2, n, d, generator=generator, dtype=torch.float64)
    return draw[0].requires_grad_(), draw[1].requires_grad_()


@settings(max_examples=30)
@given(
    n=st.integers(1, 7),
    d=st.integers(1, 5),
    tau=st.sampled_from([0.1, 0.4, 1.0]),
    intraview=st.booleans(),
    seed=st.integers(0, 100),
)
def test_value_and_gradient_equal_the_loops(n: int, d: int, tau: float, intraview: bool, seed: int) -> None:
    z_alpha, z_beta = random_views(n, d, seed)
    fast = nt_xent(z_alpha, z_beta, tau=tau, intraview=intraview)
    slow = slow_nt_xent(z_alpha, z_beta, tau, intraview)
    torch.testing.assert_close(fast, slow)
    for a, b in zip(
        torch.autograd.grad(fast, (z_alpha, z_beta)), torch.autograd.grad(slow, (z_alpha, z_beta)), strict=True
    ):
        torch.testing.assert_close(a, b, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("intraview", [True, False])
def test_gradcheck(intraview: bool) -> None:
    assert torch.autograd.gradcheck(lambda a, b: nt_xent(a, b, tau=0.5, intraview=intraview), random_views(5, 3, 0))


def test_symmetric_in_the_views_and_blind_to_row_lengths() -> None:
    z_alpha, z_beta = random_views(6, 4, 0)
    loss = nt_xent(z_alpha, z_beta)
    torch.testing.assert_close(loss, nt_xent(z_beta, z_alpha))
    torch.testing.assert_close(loss, nt_xent(z_alpha * torch.arange(1, 7).unsqueeze(1), z_beta))


def test_known_values() -> None:
    """Orthogonal, perfectly aligned rows: log(e^{1/tau} + negatives) - 1/tau."""
    eye = torch.eye(4, dtype=torch.float64)
    across, both = 3, 6
    assert nt_xent(eye, eye, tau=1.0, intraview=False).item() == pytest.approx(math.log(math.e + across) - 1)
    assert nt_xent(eye, eye, tau=1.0, intraview=True).item() == pytest.approx(math.log(math.e + both) - 1)


@pytest.mark.parametrize("tau", [0.001, 0.01])
def test_small_temperatures_stay_finite_in_float32(tau: float) -> None:
    """exp(1/tau) overflows float32 below tau = 0.011."""
    z_alpha, z_beta = (z.detach().float().requires_grad_() for z in random_views(20, 4, 0))
    loss = nt_xent(z_alpha, z_beta, tau=tau)
    loss.backward()
    assert loss.isfinite()
    assert z_alpha.grad is not None
    assert z_alpha.grad.isfinite().all()


def test_zero_rows_and_a_single_node_have_finite_gradients() -> None:
    for z in (torch.zeros(4, 3), torch.ones(1, 3)):
        z_alpha = z.clone().requires_grad_()
        nt_xent(z_alpha, z).backward()
        assert z_alpha.grad is not None
        assert z_alpha.grad.isfinite().all()


@pytest.mark.parametrize(
    ("shapes", "tau", "message"), [(((3, 2), (4, 2)), 0.5, "one shape"), (((3, 2), (3, 2)), 0.0, "above 0")]
)
def test_wrong_arguments_are_named(shapes: tuple[tuple[int, int], ...], tau: float, message: str) -> None:
    with pytest.raises(InputError, match=message):
        nt_xent(*(torch.ones(shape) for shape in shapes), tau=tau)
