"""Sums over the nodes of each graph, against a loop."""

from itertools import pairwise

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from sfa.errors import InputError
from sfa.graph.pooling import graph_of_nodes, sum_pool


def looped(h: Tensor, ptr: Tensor) -> Tensor:
    return torch.stack([h[start:stop].sum(0) for start, stop in pairwise(ptr.tolist())])


def begins(sizes: list[int]) -> Tensor:
    return torch.tensor([0, *sizes]).cumsum(0)


@given(sizes=st.lists(st.integers(0, 6), min_size=1, max_size=8), d=st.integers(1, 4))
def test_equals_a_loop(sizes: list[int], d: int) -> None:
    h = torch.randn(sum(sizes), d, generator=torch.Generator().manual_seed(d), dtype=torch.float64)
    pooled = sum_pool(h, begins(sizes))
    assert pooled.dtype == torch.float64
    torch.testing.assert_close(pooled, looped(h, begins(sizes)))


def test_gradients() -> None:
    h = torch.randn(6, 3, dtype=torch.float64, requires_grad=True)
    ptr = begins([2, 0, 3, 1])
    assert torch.autograd.gradcheck(lambda h: sum_pool(h, ptr), h)
    assert torch.autograd.gradgradcheck(lambda h: sum_pool(h, ptr).square(), h)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision_is_summed_in_single(dtype: torch.dtype) -> None:
    """300 ones are 256 if they are added one by one in bfloat16, and 4,000 are 2,048 in float16."""
    h = torch.ones(4300, 2, dtype=dtype, requires_grad=True)
    pooled = sum_pool(h, begins([300, 4000]))
    assert pooled.dtype == torch.float32
    assert pooled.tolist() == [[300, 300], [4000, 4000]]
    pooled.sum().backward()
    assert h.grad is not None
    assert h.grad.dtype == dtype
    assert bool((h.grad == 1).all())


def test_precision_does_not_depend_on_the_graphs_before() -> None:
    h = torch.tensor([[1e8], [1.0], [2.0], [3.0]])
    assert sum_pool(h, begins([1, 3])).tolist() == [[1e8], [6.0]]


@pytest.mark.parametrize("ptr", [[0, 2], [0, 4], [1, 3], [0, 4, 3]], ids=str)
def test_a_ptr_that_does_not_fit_is_refused(ptr: list[int]) -> None:
    with pytest.raises(InputError, match="from 0 to the number of nodes, 3"):
        sum_pool(torch.ones(3, 2), torch.tensor(ptr))


def test_graph_of_nodes() -> None:
    assert graph_of_nodes(begins([2, 0, 1]), 3).tolist() == [0, 0, 2]
