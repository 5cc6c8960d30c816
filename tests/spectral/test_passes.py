"""Passes on the Gram matrix are those on the map itself."""

from __future__ import annotations

import torch
from torch import Tensor

from sfa.spectral import power_iteration
from sfa.spectral.passes import gram_pays, make_passes, subtract_projection
from tests.cases import each


def seeded(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def product(h: Tensor, starts: Tensor, iterations: int, strength: float) -> Tensor:
    """W = (I - s r₁ r₁ᵀ) ⋯ (I - s r_p r_pᵀ), a dense matrix, by the definition."""
    eye = torch.eye(h.shape[-1], dtype=h.dtype)
    w = eye.expand(*h.shape[:-2], -1, -1)
    for r in torch.split(starts, 1, dim=-1):
        left = h @ w
        for _ in range(iterations):
            r = left.mT @ (left @ r)
        w = w @ (eye - strength * r @ r.mT / r.square().sum(-2, keepdim=True))
    return w


@each("strength", [0.0, 0.125, 1.0, -0.5])
@each("iterations", [0, 1, 2])
@each(("shape", "passes"), [((30, 6), 9), ((4, 6), 3), ((2, 3, 8, 5), 4)])
def test_against_the_definition(shape: tuple[int, ...], passes: int, iterations: int, strength: float) -> None:
    h = torch.randn(*shape, generator=seeded(0), dtype=torch.float64)
    starts = torch.randn(*shape[:-2], shape[-1], passes, generator=seeded(1), dtype=torch.float64)
    if strength == 1.0:
        starts = starts[..., :2]  # of what is deleted for good only rounding would be left
    expected = h @ product(h, starts, iterations, strength)
    for on_gram in (True, False):
        found = make_passes(h, starts.split(1, dim=-1), iterations, strength, on_gram=on_gram)
        torch.testing.assert_close(subtract_projection(h, *found, is_constant=True), expected, rtol=1e-8, atol=1e-8)


@each("offset", [0.0, 1e4], ids=["plain", "with one direction far above the others"])
def test_the_way_that_is_taken_changes_nothing_but_rounding(offset: float) -> None:
    h = torch.randn(200, 300, generator=seeded(0)) * torch.linspace(3, 0.01, 300) + offset
    assert gram_pays(200, 300, 1, 24)
    assert not gram_pays(200, 300, 1, 8)
    assert not gram_pays(200, 2, 1, 1), "Algorithm 1 has no Gram matrix"
    assert gram_pays(13752, 256, 1, 64)
    assert not gram_pays(2708, 1024, 1, 64)
    for passes in (8, 24):
        generator = seeded(5)
        starts = torch.cat([torch.randn(300, 1, generator=generator) for _ in range(passes)], dim=1)
        expected = h.double() @ product(h.double(), starts.double(), 1, 0.3)
        found = power_iteration(h, 1, strength=0.3, passes=passes, generator=seeded(5))
        assert torch.linalg.matrix_norm(found.double() - expected) < 2e-3 * torch.linalg.matrix_norm(expected)


def test_growing_by_passes_of_negative_strength_stays_finite() -> None:
    h = torch.randn(20, 4, generator=seeded(0))
    assert power_iteration(h, 1, strength=-2.0, passes=64, generator=seeded(1)).isfinite().all()


def test_what_is_not_finite_stays_so_and_nothing_raises() -> None:
    h = torch.randn(20, 4, generator=seeded(0))
    h[3, 2] = torch.nan
    assert power_iteration(h, 1, strength=0.3, passes=8, generator=seeded(1)).isnan().any()
