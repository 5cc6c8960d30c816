"""The queue of projections: the newest rows of each view. How SwAV uses it is tested there."""

import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from sfa.nn.prototypes import Queue


@given(size=st.integers(1, 9), batches=st.lists(st.integers(0, 12), max_size=6))
def test_the_queue_holds_the_newest_rows_of_each_view(size: int, batches: list[int]) -> None:
    queue = Queue(size, 3)
    views: tuple[list[Tensor], list[Tensor]] = ([], [])
    for number, count in enumerate(batches):
        assert queue.is_full == (len(views[0]) >= size)
        z = torch.randn(2, count, 3, generator=torch.Generator().manual_seed(number))
        queue.push(z)
        for kept, rows in zip(views, z, strict=True):
            kept[:0] = rows
    for kept, rows in zip(views, queue.rows, strict=True):
        expected = torch.stack([*kept[:size], *[torch.zeros(3)] * (size - len(kept))])
        assert torch.equal(rows, expected)
    assert int(queue.stored) == min(size, sum(batches))
