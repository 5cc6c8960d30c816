"""A step of power iteration by blocks of rows is the plain one."""

from __future__ import annotations

import pytest
import torch

from sfa.spectral import passes, power_iteration
from tests.cases import each
from tests.spectral.maps import random_map, seeded


@each("block", [1, 7, 12, 40, 10_000])
def test_against_the_definition(monkeypatch: pytest.MonkeyPatch, block: int) -> None:
    monkeypatch.setattr(passes, "BLOCK", block)
    h, r = random_map(23, 4), random_map(4, 1, seed=1)
    expected = h.mT @ (h @ r)
    torch.testing.assert_close(passes.turn_in_blocks(h, r), expected / expected.norm())
    assert not passes.turn_in_blocks(h * 0, r).any()


@each("scale", [1e-20, 1.0, 1e20])
@each("iterations", [1, 3])
def test_the_layer_is_the_same_to_rounding(monkeypatch: pytest.MonkeyPatch, iterations: int, scale: float) -> None:
    """Also where rows of very different sizes meet."""
    h = random_map(200, 12).float() * scale * torch.logspace(0, -15, 200)[:, None]
    seen = random_map(200, 12, seed=2).float()

    def both_ways() -> tuple[torch.Tensor, torch.Tensor]:
        x = h.clone().requires_grad_()
        h_tilde = power_iteration(x, iterations, generator=seeded(1))
        (gradient,) = torch.autograd.grad((h_tilde / scale * seen).sum() * scale, x)
        return h_tilde.detach() / scale, gradient

    expected = both_ways()
    monkeypatch.setattr(passes, "LARGE", 1)
    monkeypatch.setattr(passes, "BLOCK", 120)
    torch.testing.assert_close(both_ways(), expected, rtol=1e-4, atol=1e-5)


def test_what_is_not_finite_stays_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(passes, "LARGE", 1)
    monkeypatch.setattr(passes, "BLOCK", 20)
    h = random_map(30, 4)
    h[3, 2] = torch.nan
    assert power_iteration(h, generator=seeded(1)).isnan().any()


def test_only_large_constant_maps_are_split() -> None:
    large = torch.empty(1, device="cpu").expand(2**15, 2**8)
    assert passes.is_large(large, is_constant=True)
    assert not passes.is_large(large, is_constant=False)
    assert not passes.is_large(large[:-1], is_constant=True)
    assert not passes.is_large(large.expand(2, -1, -1), is_constant=True)
