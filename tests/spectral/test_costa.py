"""COSTA's random combinations of rows."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

import sfa
from sfa.spectral import Costa, costa
from tests.cases import each
from tests.spectral.maps import random_map, seeded


class TestCosta:
    @staticmethod
    def random_matrix(rows: int, columns: int, generator: torch.Generator) -> Tensor:
        """The matrix that a generator in this state gives one map."""
        return costa(torch.eye(columns, dtype=torch.float64), rows / columns, generator=generator)

    @each(("n", "ratio", "rows"), [(9, 0.5, 4), (300, 0.5, 150), (5, 0.01, 1), (1, 0.5, 1), (7, 1, 7)])
    def test_value_and_number_of_rows(self, n: int, ratio: float, rows: int) -> None:
        """Also beyond one block of rows."""
        h = random_map(n, 4)
        h_tilde = costa(h, ratio, generator=seeded(1))
        torch.testing.assert_close(h_tilde, self.random_matrix(rows, n, seeded(1)) @ h)
        assert h_tilde.shape == (rows, 4)

    def test_entries_are_independent_normals_of_variance_one_over_rows(self) -> None:
        p = self.random_matrix(200, 400, seeded(0)) * 200**0.5
        assert float(p.mean()) == pytest.approx(0, abs=0.02)
        assert float(p.std()) == pytest.approx(1, abs=0.02)
        assert float((p.abs() < 1).double().mean()) == pytest.approx(0.6827, abs=0.01)
        correlations = torch.corrcoef(p) - torch.eye(200)
        assert correlations.abs().max() < 0.3, "no block repeats another"

    def test_keeps_the_gram_matrix_on_average(self) -> None:
        h = random_map(30, 3)
        h_tilde = costa(h.expand(4000, 30, 3), generator=seeded(0))
        torch.testing.assert_close((h_tilde.mT @ h_tilde).mean(0), h.T @ h, rtol=0.05, atol=0.5)

    @pytest.mark.slow
    @each("shape", [(6, 3), (2, 70, 2), (2, 2, 5, 3)])
    def test_gradient_and_second_derivative(self, shape: tuple[int, ...]) -> None:
        h = random_map(*shape).requires_grad_()
        assert torch.autograd.gradcheck(lambda x: costa(x, 1.0, generator=seeded(1)), h)
        assert torch.autograd.gradgradcheck(lambda x: costa(x, generator=seeded(1)).square(), h)

    def test_a_batch_has_a_matrix_for_every_map(self) -> None:
        generator = seeded(1)
        h = random_map(3, 8, 4)
        h_tilde = costa(h, generator=seeded(1))
        seeds = torch.randint(2**62, (3,), generator=generator).tolist()
        for one, expected_of, seed in zip(h_tilde, h, seeds, strict=True):
            p = torch.randn(4, 8, generator=seeded(seed), dtype=torch.float64) / 2
            torch.testing.assert_close(one, p @ expected_of)

    def test_both_views_get_the_same_matrix(self) -> None:
        h_alpha, h_beta = random_map(10, 4), random_map(10, 3, seed=1)
        alpha, beta = Costa().forward_all(h_alpha, h_beta, generator=seeded(1))
        p = self.random_matrix(5, 10, seeded(1))
        torch.testing.assert_close(alpha, p @ h_alpha)
        torch.testing.assert_close(beta, p @ h_beta)

    def test_views_of_different_rows_are_refused(self) -> None:
        with pytest.raises(sfa.InputError, match=r"same rows.*\(10, 4\) and \(9, 4\)"):
            Costa().forward_all(random_map(10, 4), random_map(9, 4))

    def test_eval_leaves_both_views_alone(self) -> None:
        h_alpha, h_beta = random_map(10, 4), random_map(9, 4)
        assert Costa().eval().forward_all(h_alpha, h_beta) == (h_alpha, h_beta)

    def test_memory_is_linear_in_the_number_of_rows(self) -> None:
        """The whole random matrix would be 32 MB, a block of it 1 MB."""
        h = torch.randn(4000, 8, generator=seeded(0), requires_grad=True)
        with torch.profiler.profile(profile_memory=True) as profile:
            costa(h, generator=seeded(1)).sum().backward()
        allocations = [event.cpu_memory_usage for event in profile.events()]
        assert max(allocations) < 4e6


WRONG = [
    (Costa, {"ratio": 0}, "ratio .* above 0 and at most 1, not 0"),
    (Costa, {"ratio": 1.1}, "ratio"),
]
