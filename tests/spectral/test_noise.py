"""Gaussian noise against its formula."""

from __future__ import annotations

import torch

from sfa.spectral import GaussianNoise
from tests.spectral.maps import random_map, seeded


def test_value_and_gradient() -> None:
    h = random_map(2, 9, 5).requires_grad_()
    draw = torch.randn(2, 9, 5, generator=seeded(1), dtype=torch.float64)
    h_tilde = GaussianNoise(0.3)(h, seeded(1))
    torch.testing.assert_close(h_tilde, h + 0.3 * h.square().mean((1, 2), keepdim=True).sqrt() * draw)
    seen = random_map(2, 9, 5, seed=2)
    torch.testing.assert_close(torch.autograd.grad((h_tilde * seen).sum(), h)[0], seen)


WRONG = [
    (GaussianNoise, {"strength": -0.1}, "strength"),
]
