"""DGI's corruption: features change places, and nothing else does."""

import pytest
import torch
from torch_geometric.data import Data

from sfa.augment import ShuffleFeatures
from sfa.matrices import csr_matrix


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
    view, corrupted = ShuffleFeatures()(planted, seeded(1))
    assert view is planted
    assert planted.x is given
    assert corrupted.x.layout == given.layout
    assert corrupted.edge_index is planted.edge_index
    rows = corrupted.x.to_dense()
    assert torch.equal(rows, dense[torch.randperm(60, generator=seeded(1))])
    assert not torch.equal(rows, dense)
    assert sorted(map(tuple, rows.tolist())) == sorted(map(tuple, dense.tolist()))
    assert not torch.equal(ShuffleFeatures().view(planted, seeded(2)).x.to_dense(), rows)
