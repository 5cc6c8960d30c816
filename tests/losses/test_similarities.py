"""Memory that is used again."""

import pytest
import torch

from sfa.losses import similarities as buffers
from sfa.losses.similarities import borrow, borrowed, give_back


@pytest.fixture(autouse=True)
def no_spares(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(buffers, "_SPARE", [])


def test_what_is_given_back_is_lent_again_and_never_twice() -> None:
    like = torch.zeros(0)
    first = borrow(10, like)
    second = borrow(10, like)
    assert first.data_ptr() != second.data_ptr()
    give_back(first)
    assert borrow(8, like) is first
    assert borrow(8, like) is not first


def test_the_smallest_that_fits_in_the_right_dtype() -> None:
    like = torch.zeros(0)
    lent = {size: borrow(size, like) for size in (5, 50, 500)}
    for buffer in lent.values():
        give_back(buffer)
    assert borrow(6, like) is lent[50]
    other = borrow(6, like.double())
    assert other.dtype == torch.float64
    assert other.numel() == 6
    assert borrow(501, like).numel() == 501


def test_few_are_kept_and_a_failure_gives_back() -> None:
    like = torch.zeros(0)
    for size in range(1, 3 * buffers.SPARES):
        give_back(torch.empty(size))
    assert [spare.numel() for spare in buffers._SPARE] == list(range(2 * buffers.SPARES, 3 * buffers.SPARES))
    with pytest.raises(RuntimeError), borrowed(1, like) as buffer:
        raise RuntimeError
    assert any(spare is buffer for spare in buffers._SPARE)
