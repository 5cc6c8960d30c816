"""ZCA whitening and matrix preconditioning against their formulas."""

from __future__ import annotations

import torch
from torch import Tensor

from sfa.spectral import Precondition, Whiten, precondition, whiten
from tests.cases import each
from tests.spectral.maps import low_rank
from tests.spectral.operator_tests import OperatorTests, inverse_root


class TestWhiten(OperatorTests):
    map = Whiten
    options = {"ridge": 0.01}  # noqa: RUF012
    centered = True

    def weights(self, sigma: Tensor, h: Tensor, draw: Tensor) -> Tensor:
        return inverse_root(sigma, h, len(h))


class TestPrecondition(OperatorTests):
    map = Precondition
    options = {"ridge": 0.01}  # noqa: RUF012

    def weights(self, sigma: Tensor, h: Tensor, draw: Tensor) -> Tensor:
        return inverse_root(sigma, h, 1)


@each("ridge", [1e-9, 1e-16, 1e-30])
def test_a_tiny_ridge_does_not_make_noise_of_zeros(ridge: float) -> None:
    h = low_rank(20, 8, rank=3)
    for h_tilde in (whiten(h, ridge) / 20**0.5, precondition(h, ridge)):
        sigma = torch.linalg.svdvals(h_tilde)
        torch.testing.assert_close(sigma[:3], torch.ones(3, dtype=torch.float64), rtol=1e-3, atol=0)
        assert (sigma[3:] < 1e-2).all()


WRONG = [
    (Whiten, {"ridge": -1}, "ridge"),
    (Whiten, {"ridge": "much"}, "ridge .* above 0, not 'much'"),
    (Precondition, {"ridge": -1e-3}, "ridge"),
]
