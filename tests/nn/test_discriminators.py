"""Corruption, summary and discriminator."""

import pytest
import torch
from torch_geometric.data import Data

from sfa.matrices import csr_matrix
from sfa.methods.infomax import Discriminator, shuffled, summary


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def as_csr(x: torch.Tensor) -> torch.Tensor:
    rowptr = torch.cat([torch.zeros(1, dtype=torch.long), (x != 0).sum(1).cumsum(0)])
    return csr_matrix(rowptr, x.nonzero()[:, 1], x[x != 0], (x.shape[0], x.shape[1]))


@pytest.mark.parametrize("sparse", [False, True])
def test_shuffling_moves_rows_and_nothing_else(planted: Data, sparse: bool) -> None:
    dense = planted.x * (planted.x > 0)
    planted.x = as_csr(dense) if sparse else dense
    given = planted.x
    corrupted = shuffled(planted, seeded(1))
    assert corrupted.x.layout == given.layout
    assert corrupted.edge_index is planted.edge_index
    assert planted.x is given
    rows = corrupted.x.to_dense()
    assert torch.equal(rows, dense[torch.randperm(60, generator=seeded(1))])
    assert not torch.equal(rows, dense)
    assert sorted(map(tuple, rows.tolist())) == sorted(map(tuple, dense.tolist()))
    assert not torch.equal(shuffled(planted, seeded(2)).x.to_dense(), rows)


def test_the_summary_is_the_sigmoid_of_the_mean() -> None:
    h = torch.tensor([[0.0, 2.0], [0.0, -4.0]])
    torch.testing.assert_close(summary(h), torch.tensor([0.5, 1 / (1 + 2.718281828)]))


def test_scores_are_bilinear() -> None:
    torch.manual_seed(0)
    discriminator = Discriminator(5)
    h, s = torch.randn(7, 5), torch.randn(5)
    expected = torch.nn.functional.bilinear(h, s.expand(7, 5), discriminator.weight[None]).squeeze(1)
    torch.testing.assert_close(discriminator(h, s), expected)
    assert not torch.allclose(discriminator.weight, discriminator.weight.T)
