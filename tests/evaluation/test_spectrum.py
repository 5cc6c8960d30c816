"""Spectrum diagnostics."""

import pytest
import torch

from sfa.evaluation import effective_rank, singular_values


def test_singular_values_of_a_known_matrix() -> None:
    q, _ = torch.linalg.qr(torch.randn(9, 3, generator=torch.Generator().manual_seed(0)))
    assert singular_values(q * torch.tensor([1.0, 5.0, 2.0])).tolist() == pytest.approx([5, 2, 1], rel=1e-5)


def test_effective_rank_counts_equal_directions() -> None:
    assert effective_rank(torch.eye(7)) == pytest.approx(7)
    assert effective_rank(torch.outer(torch.arange(1.0, 5), torch.ones(3))) == pytest.approx(1, abs=1e-4)
    assert effective_rank(torch.zeros(4, 3)) == 0
    assert effective_rank(torch.diag(torch.tensor([3.0, 1.0]))) == pytest.approx(1.7548, abs=1e-4)
