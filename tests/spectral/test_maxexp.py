"""MaxExp(F) against its formula."""

from __future__ import annotations

import torch
from torch import Tensor

from sfa.spectral import MaxExp, maxexp
from tests.cases import each
from tests.spectral.maps import random_map, seeded
from tests.spectral.operator_tests import OperatorTests


class TestMaxExp(OperatorTests):
    map = MaxExp
    options = {"eta": 4, "noise": 2.0}  # noqa: RUF012

    def draw_shape(self, n: int, d: int) -> tuple[int, ...]:
        return (1, 1)

    def weights(self, sigma: Tensor, h: Tensor, draw: Tensor) -> Tensor:
        count = max(1, round(4 + 2 * float(draw)))
        share = sigma / sigma.sum()
        return torch.where(sigma > 1e-12, (1 - (1 - share) ** count) / share, count) / sigma.sum()

    @each("eta", [1, 2, 3, 7, 8, 15, 100])
    def test_every_exponent(self, eta: int) -> None:
        h = random_map(12, 4)
        u, sigma, vh = torch.linalg.svd(h, full_matrices=False)
        expected = u * (1 - (1 - sigma / sigma.sum()) ** eta) @ vh
        torch.testing.assert_close(maxexp(h, eta, noise=0.0), expected)

    def test_a_huge_exponent_is_a_polar_factor(self) -> None:
        u, _, vh = torch.linalg.svd(h := random_map(12, 4), full_matrices=False)
        torch.testing.assert_close(maxexp(h, 10_000, noise=0.0), u @ vh)

    def test_the_exponent_is_one_at_least(self) -> None:
        h = random_map(12, 4)
        weakest = h / torch.linalg.svdvals(h).sum()
        draws = torch.stack([maxexp(h, 1, noise=5.0, generator=seeded(seed)) for seed in range(20)])
        assert (draws - weakest).abs().amax((-2, -1)).min() < 1e-12
        assert (torch.linalg.svdvals(draws)[:, 0] >= torch.linalg.svdvals(weakest)[0] - 1e-12).all()


WRONG = [
    (MaxExp, {"eta": 0}, "eta .* 1 or more, not 0"),
    (MaxExp, {"eta": 2.5}, "eta must be a whole number"),
    (MaxExp, {"noise": -1.0}, "noise .* 0 or more, not -1.0"),
]
