"""Functions of singular values, differentiated as a whole."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from sfa.spectral.feature_map import spectral_function
from tests.cases import each
from tests.spectral.maps import low_rank, random_map


class TestSpectralFunction:
    """The gradient of ``U f(Σ) Vᵀ`` where SVD's own is infinite."""

    @staticmethod
    def unchanged(sigma: Tensor) -> tuple[Tensor, Tensor]:
        return sigma, torch.ones_like(sigma)

    @each("h", [torch.eye(4), torch.zeros(5, 3), torch.ones(3, 5), low_rank(6, 4, 2)])
    def test_the_identity_has_the_identity_as_gradient_also_on_degenerate_maps(self, h: Tensor) -> None:
        h = h.double().requires_grad_()
        seen = random_map(*h.shape, seed=3)
        (gradient,) = torch.autograd.grad((spectral_function(h, self.unchanged) * seen).sum(), h)
        torch.testing.assert_close(gradient, seen)

    @each("shape", [(7, 4), (4, 7)])
    def test_a_smooth_function_on_repeated_singular_values(self, shape: tuple[int, int]) -> None:
        """σ³ is H HᵀH: its gradient is known everywhere."""
        u, _ = torch.linalg.qr(random_map(shape[0], 4))
        v, _ = torch.linalg.qr(random_map(shape[1], 4, seed=1))
        h = (u * torch.tensor([2.0, 2, 1, 0]) @ v.T).requires_grad_()
        seen = random_map(*shape, seed=3)
        cube = spectral_function(h, lambda sigma: (sigma**3, 3 * sigma**2))
        torch.testing.assert_close(cube, h @ h.mT @ h)
        (gradient,) = torch.autograd.grad((cube * seen).sum(), h)
        (expected,) = torch.autograd.grad((h @ h.mT @ h * seen).sum(), h)
        torch.testing.assert_close(gradient, expected)

    def test_second_derivatives_are_refused_and_not_wrong(self) -> None:
        h = random_map(5, 3).requires_grad_()
        (gradient,) = torch.autograd.grad(spectral_function(h, self.unchanged).square().sum(), h, create_graph=True)
        with pytest.raises(RuntimeError, match="once_differentiable"):
            gradient.sum().backward()
