"""Dropout with a generator of one's own."""

import pytest
import torch
from torch import Tensor

from sfa.errors import InputError
from sfa.matrices import csr_matrix
from sfa.nn.dropout import dropout


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def sparse(dense: Tensor) -> Tensor:
    row, col = dense.nonzero(as_tuple=True)
    rowptr = torch.cat([torch.zeros(1, dtype=torch.int64), (dense != 0).sum(1).cumsum(0)])
    return csr_matrix(rowptr, col, dense[row, col], tuple(dense.shape))


@pytest.mark.parametrize("rate", [0.1, 0.5, 0.9])
def test_entries_are_dropped_or_scaled_and_keep_their_mean(rate: float) -> None:
    x = 1 + torch.rand(200, 300, generator=seeded())
    dropped = dropout(x, rate, seeded(1))
    kept = dropped != 0
    torch.testing.assert_close(dropped[kept], (x / (1 - rate))[kept])
    assert kept.double().mean().item() == pytest.approx(1 - rate, abs=0.01)
    assert dropped.mean().item() == pytest.approx(x.mean().item(), rel=0.03)
    # Neither rows nor columns go together.
    for dim in (0, 1):
        assert kept.double().mean(dim).std() < 2 * (rate * (1 - rate) / x.shape[dim]) ** 0.5


def test_of_a_sparse_matrix_stored_values_are_dropped() -> None:
    x = torch.rand(30, 20, generator=seeded()) * (torch.rand(30, 20, generator=seeded(1)) < 0.3)
    given = sparse(x)
    dropped = dropout(given, 0.4, seeded(2))
    assert dropped.layout == torch.sparse_csr
    assert dropped.col_indices().data_ptr() == given.col_indices().data_ptr()
    values = dropped.values()
    expected = dropout(given.values(), 0.4, seeded(2))
    assert torch.equal(values, expected)
    assert 0 < (values == 0).sum() < len(values)
    assert torch.equal(given.to_dense(), x), "the given matrix stays as it is"


def test_the_generator_alone_decides() -> None:
    x = torch.ones(50)
    torch.manual_seed(1)
    first = dropout(x, 0.5, seeded(3))
    torch.manual_seed(2)
    assert torch.equal(first, dropout(x, 0.5, seeded(3)))
    assert not torch.equal(first, dropout(x, 0.5, seeded(4)))


def test_the_ends() -> None:
    x = torch.rand(4, 3)
    assert dropout(x, 0.0) is x
    assert torch.equal(dropout(x, 1.0), torch.zeros(4, 3))
    with pytest.raises(InputError, match=r"from 0 to 1, not 1\.5"):
        dropout(x, 1.5)


def test_the_gradient_is_that_of_what_was_kept() -> None:
    x = torch.rand(6, 5, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x: dropout(x, 0.3, seeded()), (x,))
