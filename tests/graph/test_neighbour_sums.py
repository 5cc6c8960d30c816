"""The product with A + I against dense matrices."""

import pytest
import torch
from hypothesis import given
from torch_geometric.data import Data
from torch_geometric.utils import to_dense_adj

from sfa.errors import InputError
from sfa.graph.neighbour_sums import NeighbourSums
from tests.graph.graph_batches import batches, mixed_batch, seeded

PATH = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])


def dense(batch: Data) -> torch.Tensor:
    n = batch.num_nodes
    adjacency = (
        to_dense_adj(batch.edge_index, edge_attr=batch.edge_weight, max_num_nodes=n)[0] if n else torch.ones(0, 0)
    )
    return adjacency.double() + torch.eye(n, dtype=torch.float64)


@given(batch=batches())
def test_equals_the_dense_product(batch: Data) -> None:
    h = torch.randn(batch.num_nodes, 4, generator=seeded(), dtype=torch.float64)
    torch.testing.assert_close(NeighbourSums(batch, torch.float64) @ h, dense(batch) @ h)


def test_edges_in_any_order() -> None:
    batch = mixed_batch(weighted=True)
    order = torch.randperm(batch.num_edges, generator=seeded())
    shuffled = Data(
        edge_index=batch.edge_index[:, order], edge_weight=batch.edge_weight[order], num_nodes=batch.num_nodes
    )
    h = torch.randn(batch.num_nodes, 4, generator=seeded(), dtype=torch.float64)
    torch.testing.assert_close(NeighbourSums(shuffled, torch.float64) @ h, dense(batch) @ h)


@pytest.mark.parametrize("weighted", [False, True])
def test_gradients(weighted: bool) -> None:
    sums = NeighbourSums(mixed_batch(weighted), torch.float64)
    h = torch.randn(38, 2, generator=seeded(), dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda h: sums @ h, h)
    assert torch.autograd.gradgradcheck(lambda h: (sums @ h).square(), h)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision_comes_back_wide(dtype: torch.dtype) -> None:
    batch = mixed_batch()
    h = torch.randn(38, 2, generator=seeded()).to(dtype)
    with torch.autocast("cpu", torch.bfloat16):
        result = NeighbourSums(batch, torch.float32) @ h
    assert result.dtype == torch.float32
    torch.testing.assert_close(result.double(), dense(batch) @ h.double())


@pytest.mark.parametrize("weight", [[1.0, 2.0, 1.0, 1.0], [float("nan")] * 4], ids=str)
def test_weights_that_differ_by_direction_are_refused(weight: list[float]) -> None:
    with pytest.raises(InputError, match="edge weights are NaN or not the same"):
        NeighbourSums(Data(edge_index=PATH, edge_weight=torch.tensor(weight), num_nodes=3), torch.float32)


def test_edges_of_one_direction_are_refused() -> None:
    with pytest.raises(InputError, match="one direction only"):
        NeighbourSums(Data(edge_index=PATH[:, :3], num_nodes=3), torch.float32)
