"""Matrix preconditioning and principal components against their formulas."""

from __future__ import annotations

import torch
from torch import Tensor

from sfa.spectral import PCA, Precondition, precondition
from tests.cases import each
from tests.spectral.maps import low_rank
from tests.spectral.operator_tests import OperatorTests, inverse_root

VARIANTS = [PCA(kappa=2)]


class TestPrecondition(OperatorTests):
    map = Precondition
    options = {"ridge": 0.01}  # noqa: RUF012

    def weights(self, sigma: Tensor, h: Tensor, draw: Tensor) -> Tensor:
        return inverse_root(sigma, h, 1)


@each("ridge", [1e-9, 1e-16, 1e-30])
def test_a_tiny_ridge_does_not_make_noise_of_zeros(ridge: float) -> None:
    sigma = torch.linalg.svdvals(precondition(low_rank(20, 8, rank=3), ridge))
    torch.testing.assert_close(sigma[:3], torch.ones(3, dtype=torch.float64), rtol=1e-3, atol=0)
    assert (sigma[3:] < 1e-2).all()


class TestPCA(OperatorTests):
    map = PCA
    options = {"kappa": 3}  # noqa: RUF012
    centered = True
    adds_mean = True

    def weights(self, sigma: Tensor, h: Tensor, draw: Tensor) -> Tensor:
        return (torch.arange(len(sigma)) < 3).double()


WRONG = [
    (Precondition, {"ridge": -1e-3}, "ridge"),
    (PCA, {"kappa": -3}, "kappa"),
    (PCA, {"kappa": 0}, "kappa"),
]
