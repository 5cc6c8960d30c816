"""Principal components against their formula."""

from __future__ import annotations

import torch
from torch import Tensor

from sfa.spectral import PCA
from tests.spectral.operator_tests import OperatorTests

VARIANTS = [PCA(kappa=2)]


class TestPCA(OperatorTests):
    map = PCA
    options = {"kappa": 3}  # noqa: RUF012
    centered = True
    adds_mean = True

    def weights(self, sigma: Tensor, h: Tensor, draw: Tensor) -> Tensor:
        return (torch.arange(len(sigma)) < 3).double()


WRONG = [
    (PCA, {"kappa": -3}, "kappa"),
    (PCA, {"kappa": 0}, "kappa"),
]
