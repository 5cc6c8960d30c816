"""Sparse products against dense ones."""

from __future__ import annotations

import gc

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.utils import to_dense_adj

from sfa.errors import InputError
from sfa.graph.structure import some_rows
from sfa.matrices import csr_matrix
from sfa.nn import GCN
from sfa.nn import sparse as products
from sfa.nn.sparse import feature_product, neighbor_sums, sparse_product
from tests.graph.graph_batches import batches, mixed_batch, seeded


def random_csr(n: int, d: int, seed: int = 0, dtype: torch.dtype = torch.float64) -> tuple[Tensor, Tensor]:
    """A CSR matrix and the same one dense."""
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(n, d, generator=generator, dtype=dtype) * (torch.rand(n, d, generator=generator) < 0.4)
    rowptr = torch.cat([torch.zeros(1, dtype=torch.long), (x != 0).sum(1).cumsum(0)])
    return csr_matrix(rowptr, x.nonzero()[:, 1], x[x != 0], (n, d)), x


@settings(max_examples=40)
@given(n=st.integers(1, 9), d=st.integers(1, 7), h=st.integers(1, 5), masked=st.booleans(), seed=st.integers(0, 999))
def test_features_times_weights(n: int, d: int, h: int, masked: bool, seed: int) -> None:
    sparse, dense = random_csr(n, d, seed)
    generator = torch.Generator().manual_seed(seed)
    weight = torch.randn(d, h, generator=generator, dtype=torch.float64, requires_grad=True)
    mask = torch.rand(d, generator=generator) < 0.5 if masked else None
    expected = (dense if mask is None else dense * mask) @ weight
    direction = torch.randn(n, h, generator=generator, dtype=torch.float64)
    for x in (sparse, dense):
        result = feature_product(x, weight, mask)
        torch.testing.assert_close(result, expected)
        gradient = torch.autograd.grad((result * direction).sum(), weight)[0]
        torch.testing.assert_close(
            gradient, torch.autograd.grad((expected * direction).sum(), weight, retain_graph=True)[0]
        )


def test_gradients_of_gradients() -> None:
    sparse, _ = random_csr(6, 5)
    by_column = sparse.to_sparse_csc()
    transposed = csr_matrix(by_column.ccol_indices(), by_column.row_indices(), by_column.values(), (5, 6))
    weight = torch.randn(5, 3, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda w: sparse_product(sparse, transposed, w), weight)
    assert torch.autograd.gradgradcheck(lambda w: sparse_product(sparse, transposed, w).square(), weight)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_half_precision_comes_back_wide(dtype: torch.dtype) -> None:
    sparse, dense = random_csr(6, 5, dtype=torch.float32)
    weight = torch.randn(5, 3, generator=torch.Generator().manual_seed(0)).to(dtype)
    result = feature_product(sparse, weight)
    assert result.dtype == torch.float32
    torch.testing.assert_close(result, dense @ weight.float())


def test_autocast_leaves_sparse_products_alone() -> None:
    sparse, dense = random_csr(6, 5, dtype=torch.float32)
    weight = torch.randn(5, 3, generator=torch.Generator().manual_seed(0))
    with torch.autocast("cpu", torch.bfloat16):
        result = feature_product(sparse, weight)
    torch.testing.assert_close(result, dense @ weight)


def test_some_rows_of_dense_and_sparse() -> None:
    sparse, dense = random_csr(9, 4)
    for start, stop in ((0, 9), (3, 3), (2, 7), (8, 9)):
        assert torch.equal(some_rows(dense, start, stop), dense[start:stop])
        assert torch.equal(some_rows(sparse, start, stop).to_dense(), dense[start:stop])
    assert some_rows(sparse, 2, 7).values().data_ptr() == sparse.values()[int(sparse.crow_indices()[2]) :].data_ptr()


def test_a_transpose_is_made_once_and_forgotten_with_its_matrix() -> None:
    sparse, _ = random_csr(9, 4)
    weight = torch.ones(4, 2, dtype=torch.float64, requires_grad=True)
    with torch.no_grad():
        feature_product(sparse, weight)  # no way back, no transpose
    known = len(products._TRANSPOSES._known)
    for _ in range(2):
        feature_product(sparse, weight).sum().backward()
    assert len(products._TRANSPOSES._known) == (known := known + 1)
    del sparse
    gc.collect()
    assert len(products._TRANSPOSES._known) == known - 1


def test_features_that_were_written_to_have_a_new_transpose() -> None:
    sparse, dense = random_csr(9, 4)
    weight = torch.ones(4, 2, dtype=torch.float64, requires_grad=True)
    feature_product(sparse, weight).sum().backward()
    sparse.values().mul_(3)
    (gradient,) = torch.autograd.grad(feature_product(sparse, weight).sum(), weight)
    torch.testing.assert_close(gradient, (3 * dense).T @ torch.ones(9, 2, dtype=torch.float64))


EDGES = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])


@pytest.mark.parametrize(
    "weight", [[1.0, 2.0, 1.0, 1.0], [-1.0, -1.0, 1.0, 1.0], [float("nan"), float("nan"), 1.0, 1.0]], ids=str
)
@pytest.mark.parametrize("call", ["forward", "embed"])
def test_weights_that_are_no_symmetric_adjacency_are_refused(weight: list[float], call: str) -> None:
    graph = Data(x=torch.ones(3, 2), edge_index=EDGES, edge_weight=torch.tensor(weight))
    with pytest.raises(InputError, match="edge weights"):
        getattr(GCN(2, 4), call)(graph)


@pytest.mark.parametrize("call", ["forward", "embed"])
def test_edges_of_one_direction_are_refused(call: str) -> None:
    graph = Data(x=torch.ones(3, 2), edge_index=EDGES[:, :3])
    with pytest.raises(InputError, match="one direction"):
        getattr(GCN(2, 4), call)(graph)


def test_graphs_made_in_inference_mode() -> None:
    encoder = GCN(2, 4).eval()
    expected = encoder(Data(x=torch.ones(3, 2), edge_index=EDGES))
    with torch.inference_mode():
        graph = Data(x=torch.ones(3, 2), edge_index=EDGES.clone())
        torch.testing.assert_close(encoder(graph), expected)
        graph.edge_index.copy_(graph.edge_index.flip(0))
        torch.testing.assert_close(encoder.embed(graph), expected)


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
    torch.testing.assert_close(neighbor_sums(batch, torch.float64) @ h, dense(batch) @ h)


def test_edges_in_any_order() -> None:
    batch = mixed_batch(weighted=True)
    order = torch.randperm(batch.num_edges, generator=seeded())
    shuffled = Data(
        edge_index=batch.edge_index[:, order], edge_weight=batch.edge_weight[order], num_nodes=batch.num_nodes
    )
    h = torch.randn(batch.num_nodes, 4, generator=seeded(), dtype=torch.float64)
    torch.testing.assert_close(neighbor_sums(shuffled, torch.float64) @ h, dense(batch) @ h)


@pytest.mark.parametrize("weighted", [False, True])
def test_gradients(weighted: bool) -> None:
    sums = neighbor_sums(mixed_batch(weighted), torch.float64)
    h = torch.randn(38, 2, generator=seeded(), dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda h: sums @ h, h)
    assert torch.autograd.gradgradcheck(lambda h: (sums @ h).square(), h)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_sums_in_half_precision_come_back_wide(dtype: torch.dtype) -> None:
    batch = mixed_batch()
    h = torch.randn(38, 2, generator=seeded()).to(dtype)
    with torch.autocast("cpu", torch.bfloat16):
        result = neighbor_sums(batch, torch.float32) @ h
    assert result.dtype == torch.float32
    torch.testing.assert_close(result.double(), dense(batch) @ h.double())


@pytest.mark.parametrize("weight", [[1.0, 2.0, 1.0, 1.0], [float("nan")] * 4], ids=str)
def test_weights_that_differ_by_direction_are_refused(weight: list[float]) -> None:
    with pytest.raises(InputError, match="edge weights are negative"):
        neighbor_sums(Data(edge_index=PATH, edge_weight=torch.tensor(weight), num_nodes=3), torch.float32)


def test_sums_over_edges_of_one_direction_are_refused() -> None:
    with pytest.raises(InputError, match="one direction only"):
        neighbor_sums(Data(edge_index=PATH[:, :3], num_nodes=3), torch.float32)
