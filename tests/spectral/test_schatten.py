"""The Schatten penalty against singular values, and its gradient as a spectral map."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor
from torch_geometric.data import Data

from sfa.errors import InputError
from sfa.losses import schatten_penalty
from sfa.spectral import SchattenPenalty, SpectralMap, expectation
from tests.cases import each
from tests.methods.conformance import build, built_in, first_batch, narrow_recipe
from tests.spectral.maps import low_rank, random_map, seeded


def slow_penalty(h: Tensor, k: int) -> Tensor:
    sigma = torch.linalg.svdvals(h)
    p = 4 * k + 2
    return 2 * ((sigma**p).sum().pow(1 / p) / (sigma**2).sum().sqrt()).log()


@pytest.mark.parametrize("k", [1, 2, 5])
@pytest.mark.parametrize("shape", [(9, 4), (4, 9), (5, 5), (1, 3), (3, 1)])
def test_value_and_gradient_are_those_of_the_singular_values(shape: tuple[int, int], k: int) -> None:
    h = random_map(*shape).requires_grad_()
    found, expected = schatten_penalty(h, k), slow_penalty(h, k)
    torch.testing.assert_close(found, expected)
    torch.testing.assert_close(torch.autograd.grad(found, h), torch.autograd.grad(expected, h))


def test_gradcheck() -> None:
    assert torch.autograd.gradcheck(schatten_penalty, (random_map(6, 4).requires_grad_(),))
    assert torch.autograd.gradcheck(schatten_penalty, (random_map(2, 3, 5).requires_grad_(),))


@pytest.mark.parametrize("k", [1, 3])
def test_the_extremes_are_rank_one_and_equal_singular_values(k: int) -> None:
    torch.testing.assert_close(schatten_penalty(low_rank(9, 5, 1), k), torch.zeros((), dtype=torch.float64))
    orthonormal = torch.linalg.qr(random_map(9, 5)).Q
    expected = -2 * k / (2 * k + 1) * math.log(5)
    assert schatten_penalty(orthonormal, k).item() == pytest.approx(expected)
    assert expected < schatten_penalty(random_map(9, 5), k) < 0


@pytest.mark.parametrize("k", [1, 16])
def test_scale_does_not_count_and_nothing_overflows(k: int) -> None:
    ordinary = schatten_penalty(random_map(40, 30).float(), k)
    for scale in (1e-30, 1e30):
        h = (random_map(40, 30).float() * scale).requires_grad_()
        found = schatten_penalty(h, k)
        torch.testing.assert_close(found, ordinary)
        (gradient,) = torch.autograd.grad(found, h)
        assert gradient.isfinite().all()
        assert abs(float((gradient.double() * h.detach().double()).sum())) < 1e-5  # none along the map itself


@each(
    "h", [torch.zeros(4, 3), torch.full((4, 3), 1e-44), torch.zeros(2, 4, 3), torch.zeros(4, 3, dtype=torch.bfloat16)]
)
def test_a_map_that_is_zero_costs_and_changes_nothing(h: Tensor) -> None:
    h = h.clone().requires_grad_()
    found = schatten_penalty(h)
    assert not found.any()
    assert found.dtype == torch.float32
    assert not torch.autograd.grad(found.sum(), h)[0].any()


def test_an_empty_map_costs_nothing_and_wrong_arguments_are_refused() -> None:
    assert schatten_penalty(torch.empty(0, 4)).shape == ()
    assert schatten_penalty(torch.empty(2, 4, 0)).shape == (2,)
    for k in (0, 17, 1.5):
        with pytest.raises(InputError, match="k must be"):
            schatten_penalty(torch.ones(3, 2), k)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="weight"):
        SchattenPenalty(-1.0)


def test_it_is_what_sfa_does_in_the_mean_to_first_order() -> None:
    """Remove ``H G^2k / tr G^2k``: without the part along the map, a step down the penalty."""
    h = random_map(40, 6) * torch.linspace(1, 3, 6)
    _, sigma, v = torch.linalg.svd(h, full_matrices=False)
    (gradient,) = torch.autograd.grad(schatten_penalty(h.requires_grad_(), 1), h)
    removed = h.detach() @ (v.T * (sigma**4 / (sigma**4).sum())) @ v
    share = (sigma**6).sum() / (sigma**4).sum()
    torch.testing.assert_close(removed - h.detach() * share / (sigma**2).sum(), gradient * share / 2)
    mean = h.detach() - expectation(h.detach(), iterations=1)
    assert torch.cosine_similarity(mean.flatten(), removed.flatten(), dim=0) > 0.95


@pytest.mark.parametrize("k", [1, 3])
def test_the_map_leaves_the_values_and_adds_the_gradient(k: int) -> None:
    layer = SchattenPenalty(0.7, k)
    h, seen = random_map(9, 4).requires_grad_(), random_map(9, 4, seed=1)
    h_tilde = layer(h)
    assert torch.equal(h_tilde, h)
    (found,) = torch.autograd.grad((h_tilde * seen).sum(), h)
    (gradient,) = torch.autograd.grad(slow_penalty(h, k), h)
    torch.testing.assert_close(found, seen + 0.7 * gradient)


@pytest.mark.parametrize("name", ["grace", "signa", "dgi", "g-bt"])
def test_a_method_learns_from_its_loss_and_the_penalty(name: str, planted: Data) -> None:
    """The same gradient as if the penalty of all maps had been added to the loss."""

    class Adds(SpectralMap):
        def forward_all(self, *maps: Tensor, generator: torch.Generator | None = None) -> tuple[Tensor, ...]:
            penalties.extend(schatten_penalty(h) for h in maps)
            return maps

    penalties: list[Tensor] = []
    assert name in built_in("node")
    batch = first_batch(planted, narrow_recipe(name))
    with_map, with_term = build(name, planted, SchattenPenalty(0.3)), build(name, planted, Adds())
    with_map(batch, seeded(1)).backward()
    loss = with_term(batch, seeded(1))
    (loss + 0.3 * torch.stack(penalties).sum()).backward()
    for one, other in zip(with_map.parameters(), with_term.parameters(), strict=True):
        torch.testing.assert_close(one.grad, other.grad)
