"""Tests for maps that multiply the feature map by an operator, against the formula written out with a float64 SVD."""

from __future__ import annotations

from typing import Any, ClassVar

import torch
from torch import Tensor

from sfa.spectral import SpectralMap
from tests.cases import each
from tests.spectral.maps import low_rank, random_map, seeded

SHAPES = [(9, 5), (5, 9), (6, 6)]


class OperatorTests:
    """A map that multiplies the map, or the centered map, by ``W = V diag(weights) Vᵀ``; a subclass says which."""

    map: ClassVar[type[SpectralMap]]
    options: ClassVar[dict[str, Any]] = {}
    """Its arguments, with much noise so that the clamps are met."""
    centered: ClassVar[bool] = False
    adds_mean: ClassVar[bool] = False

    def weights(self, sigma: Tensor, h: Tensor, draw: Tensor) -> Tensor:
        """The weights for all ``d`` right singular values of the (centered) map ``h``, zeros too."""
        raise NotImplementedError

    def draw_shape(self, n: int, d: int) -> tuple[int, ...] | None:
        """The shape of the noise that one map gets; none without noise."""
        return None

    def layer(self, **options: Any) -> SpectralMap:
        return self.map(**{**self.options, **options})

    def draws(self, shape: tuple[int, ...], seed: int) -> Tensor:
        drawn = self.draw_shape(*shape[-2:])
        if drawn is None:
            return torch.zeros(shape[:-2])
        return torch.randn(*shape[:-2], *drawn, generator=seeded(seed), dtype=torch.float64)

    def center(self, h: Tensor) -> Tensor:
        return h - h.mean(0) if self.centered else h

    def matrix(self, h: Tensor, draw: Tensor) -> Tensor:
        _, sigma, vh = torch.linalg.svd(self.center(h))
        padded = torch.zeros(h.shape[-1], dtype=h.dtype)
        padded[: len(sigma)] = sigma
        return vh.T @ torch.diag(self.weights(padded, self.center(h), draw)) @ vh

    def value(self, h: Tensor, draw: Tensor) -> Tensor:
        return self.center(h) @ self.matrix(h, draw) + (h.mean(0) if self.adds_mean else 0)

    @each("detach", [False, True])
    @each("shape", SHAPES)
    def test_value(self, shape: tuple[int, int], detach: bool) -> None:
        for seed in range(6):  # Several draws, so that the clamps and the rounding of the exponent are met.
            h = random_map(*shape, seed=seed)
            expected = self.value(h, self.draws(shape, seed))
            torch.testing.assert_close(self.layer(detach=detach)(h, seeded(seed)), expected, rtol=1e-8, atol=1e-8)

    @each("detach", [False, True])
    def test_a_batch_is_its_maps_one_by_one_each_with_its_own_draw(self, detach: bool) -> None:
        h = random_map(2, 4, 7, 5)
        h_tilde = self.layer(detach=detach)(h, seeded(1))
        draws = self.draws(tuple(h.shape), seed=1)
        for i in range(2):
            for j in range(4):
                torch.testing.assert_close(h_tilde[i, j], self.value(h[i, j], draws[i, j]), rtol=1e-8, atol=1e-8)

    @each("shape", [*SHAPES, (2, 5, 4), (1, 3), (3, 1)])
    def test_gradient(self, shape: tuple[int, ...]) -> None:
        h, layer = random_map(*shape).requires_grad_(), self.layer()
        if shape[-2] < layer.min_rows:
            return
        assert torch.autograd.gradcheck(lambda x: layer(x, seeded(3)), h)

    @each("shape", SHAPES)
    def test_detached_gradient_is_that_of_a_constant_operator(self, shape: tuple[int, int]) -> None:
        h, seen = random_map(*shape).requires_grad_(), random_map(*shape, seed=2)
        (gradient,) = torch.autograd.grad((self.layer(detach=True)(h, seeded(1)) * seen).sum(), h)
        constant = self.matrix(h.detach(), self.draws(shape, seed=1))
        mean = h.mean(0) if self.adds_mean else 0
        (expected,) = torch.autograd.grad(((self.center(h) @ constant + mean) * seen).sum(), h)
        torch.testing.assert_close(gradient, expected, rtol=1e-6, atol=1e-7)
        (flowing,) = torch.autograd.grad((self.layer()(h, seeded(1)) * seen).sum(), h)
        assert not torch.allclose(gradient, flowing)

    def test_without_noise_nothing_is_random(self) -> None:
        drawn = self.draw_shape(8, 5)
        options = {} if drawn is None else {"noise": 0.0}
        h, generator = random_map(8, 5), seeded(0)
        before = generator.get_state()
        first, second = (self.layer(**options)(h, generator) for _ in range(2))
        assert torch.equal(first, second)
        assert torch.equal(before, generator.get_state()), "and nothing is drawn"
        torch.testing.assert_close(first, self.value(h, torch.zeros(drawn or ())), rtol=1e-8, atol=1e-8)

    @each("shape", [(40, 12), (12, 40)])
    def test_value_on_maps_without_full_rank(self, shape: tuple[int, int]) -> None:
        """The roots lose digits on singular Gram matrices: no more than float32 has anyway."""
        h = low_rank(*shape, rank=4)
        expected = self.value(h, self.draws(shape, seed=1))
        torch.testing.assert_close(self.layer()(h, seeded(1)), expected, rtol=1e-7, atol=1e-7)


def inverse_root(sigma: Tensor, h: Tensor, per: int) -> Tensor:
    """``1 / √(σ² + ε)`` for a ridge of 0.01, as preconditioning and whitening have it."""
    variance = sigma**2 / per
    return (variance + 0.01 * variance.sum() / h.shape[-1]) ** -0.5
