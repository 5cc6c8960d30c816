"""Grassmann feature maps and principal components against their formulas."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from sfa.spectral import PCA, Grassmann, grassmann
from tests.cases import each
from tests.spectral.maps import low_rank, random_map, seeded
from tests.spectral.operator_tests import OperatorTests

VARIANTS = [Grassmann(method="randomised"), Grassmann(kappa=2), PCA(kappa=2)]


class TestGrassmann(OperatorTests):
    map = Grassmann
    options = {"kappa": 3, "noise": 0.5}  # noqa: RUF012

    def draw_shape(self, n: int, d: int) -> tuple[int, ...]:
        return (min(3, n, d),)

    def weights(self, sigma: Tensor, h: Tensor, draw: Tensor) -> Tensor:
        weights = torch.zeros_like(sigma)
        weights[:3] = (1 + 0.5 * draw) / sigma[:3]
        return weights

    def test_singular_values_at_rounding_become_zero_though_among_the_leading(self) -> None:
        for dtype in (torch.float32, torch.float64):
            h_tilde = grassmann(low_rank(30, 12, rank=4, dtype=dtype), kappa=9, noise=0.0)
            values = torch.linalg.svdvals(h_tilde.double())
            torch.testing.assert_close(values, (torch.arange(12) < 4).double(), rtol=1e-5, atol=1e-5)

    def test_more_than_there_are_keeps_all(self) -> None:
        u, _, vh = torch.linalg.svd(h := random_map(9, 5), full_matrices=False)
        torch.testing.assert_close(grassmann(h, kappa=40, noise=0.0), u @ vh)

    def randomised(self, h: Tensor, seed: int, **options: Any) -> Tensor:
        return grassmann(h, 3, method="randomised", generator=seeded(seed), **options)

    def test_randomised_finds_the_subspace_when_iterated(self) -> None:
        h = random_map(30, 12) * 0.8 ** torch.arange(12)
        exact = grassmann(h, 3, noise=0.0)
        rough = self.randomised(h, 0, noise=0.0, oversampling=0, power_iterations=0)
        close = self.randomised(h, 0, noise=0.0, power_iterations=60)
        torch.testing.assert_close(close, exact, rtol=1e-6, atol=1e-6)
        assert (rough - exact).abs().max() > 1e-2
        torch.testing.assert_close(torch.linalg.svdvals(rough)[:4], torch.tensor([1.0, 1, 1, 0]).double())

    def test_randomised_is_random_and_fixed_by_the_seed(self) -> None:
        h = random_map(30, 12)
        first = self.randomised(h, 0, noise=0.0)
        assert torch.equal(first, self.randomised(h, 0, noise=0.0))
        assert not torch.allclose(first, self.randomised(h, 1, noise=0.0))
        batch = self.randomised(h.expand(2, 30, 12), 0, noise=0.0)
        assert not torch.allclose(batch[0], batch[1])

    @each("shape", [(20, 8), (8, 20)])
    def test_randomised_gradient_takes_the_basis_as_constant(self, shape: tuple[int, int]) -> None:
        h, seen = random_map(*shape).requires_grad_(), random_map(*shape, seed=2)
        (gradient,) = torch.autograd.grad(
            (self.randomised(h, 5, noise=0.0, oversampling=2, power_iterations=1) * seen).sum(), h
        )
        start = torch.randn(shape[1], 5, generator=seeded(5), dtype=torch.float64)
        basis, _ = torch.linalg.qr(h.detach() @ h.detach().T @ h.detach() @ start)
        fixed = lambda x: basis @ grassmann(basis.T @ x, 3, noise=0.0)  # noqa: E731
        assert torch.autograd.gradcheck(fixed, h)
        (expected,) = torch.autograd.grad((fixed(h) * seen).sum(), h)
        torch.testing.assert_close(gradient, expected, rtol=1e-6, atol=1e-8)


class TestPCA(OperatorTests):
    map = PCA
    options = {"kappa": 3}  # noqa: RUF012
    centered = True
    adds_mean = True

    def weights(self, sigma: Tensor, h: Tensor, draw: Tensor) -> Tensor:
        return (torch.arange(len(sigma)) < 3).double()


WRONG = [
    (Grassmann, {"kappa": 0}, "kappa"),
    (Grassmann, {"noise": float("nan")}, "noise"),
    (Grassmann, {"method": "randomized"}, "did you mean 'randomised'"),
    (Grassmann, {"oversampling": -1}, "oversampling"),
    (Grassmann, {"power_iterations": -1}, "power_iterations"),
    (PCA, {"kappa": -3}, "kappa"),
    (PCA, {"kappa": 0}, "kappa"),
]
