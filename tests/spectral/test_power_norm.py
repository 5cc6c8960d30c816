"""Power Norm. and Power Norm.* against their formulas."""

from __future__ import annotations

import torch
from torch import Tensor

from sfa.spectral import PowerNorm, PowerNormStar, power_norm
from tests.cases import each
from tests.spectral.maps import low_rank, random_map
from tests.spectral.operator_tests import OperatorTests


def root_weights(beta: float, sigma: Tensor) -> Tensor:
    squared = sigma**2 + 1e-6 * sigma.square().sum()
    return (1 - beta) * squared**-0.25 + beta * squared**-0.125


class TestPowerNorm(OperatorTests):
    map = PowerNorm
    options = {"beta": 0.4, "noise": 0.5, "ridge": 1e-6}  # noqa: RUF012

    def draw_shape(self, n: int, d: int) -> tuple[int, ...]:
        return (1, 1)

    def weights(self, sigma: Tensor, h: Tensor, draw: Tensor) -> Tensor:
        return root_weights(min(1, max(0, 0.4 + 0.5 * float(draw))), sigma)


class TestPowerNormStar(TestPowerNorm):
    map = PowerNormStar
    options = {"beta": 0.4, "noise": 0.9, "ridge": 1e-6}  # noqa: RUF012

    def weights(self, sigma: Tensor, h: Tensor, draw: Tensor) -> Tensor:
        return min(2, max(0, 1 + 0.9 * float(draw))) * root_weights(0.4, sigma)


def test_default_power_norm_on_a_map_without_full_rank() -> None:
    h = low_rank(40, 12, rank=4)
    u, sigma, vh = torch.linalg.svd(h, full_matrices=False)
    sigma[4:] = 0
    h_tilde = power_norm(h, noise=0.0)
    torch.testing.assert_close(h_tilde, u * (0.5 * sigma**0.5 + 0.5 * sigma**0.75) @ vh, rtol=1e-7, atol=1e-7)


@each("scale", [1e-20, 1e20])
def test_power_norm_of_tiny_and_huge_entries(scale: float) -> None:
    h = random_map(30, 8).float() * scale
    u, sigma, vh = torch.linalg.svd(h.double(), full_matrices=False)
    expected = u * (0.25 * sigma**0.5 + 0.75 * sigma**0.75) @ vh
    torch.testing.assert_close(power_norm(h, 0.75, noise=0.0).double() / expected.max(), expected / expected.max())


WRONG = [
    (PowerNorm, {"beta": 1.5}, "beta .* at most 1, not 1.5"),
    (PowerNorm, {"ridge": 0.0}, "ridge .* above 0, not 0.0"),
    (PowerNormStar, {"noise": float("nan")}, "noise must be a number"),
    (PowerNormStar, {"ridge": 0}, "ridge"),
]
