"""Embeddings spread over a graph are those that a dense normalised adjacency gives."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from torch_geometric.data import Data

from sfa.data import build_graph
from sfa.graph.propagation import Propagation, propagation_of
from sfa.graph.smoothing import smoothed


def random_graph(seed: int, n: int, is_weighted: bool) -> Data:
    generator = torch.Generator().manual_seed(seed)
    drawn = torch.randint(n, (2, 2 * n), generator=generator)
    edges = torch.cat([torch.tensor([[0], [n - 1]]), drawn], dim=1)  # one at least is no self-loop
    weight = 0.1 + torch.rand(2 * n + 1, generator=generator) if is_weighted else None
    return build_graph(torch.zeros(n, 1), edges, edge_weight=weight)


def dense_adjacency(graph: Data) -> Tensor:
    """``D^(-1/2) (A + I) D^(-1/2)`` in float64."""
    a = torch.eye(graph.num_nodes, dtype=torch.float64)
    a[tuple(graph.edge_index)] = 1.0 if graph.edge_weight is None else graph.edge_weight.double()
    scale = a.sum(1).rsqrt()
    return scale[:, None] * a * scale


@given(st.integers(0, 2**31), st.integers(2, 12), st.booleans(), st.integers(1, 14))
def test_a_step_is_a_product_with_the_normalised_adjacency(seed: int, n: int, is_weighted: bool, chunk: int) -> None:
    graph = random_graph(seed, n, is_weighted)
    z = torch.randn(n, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))
    before = z.clone()
    found = smoothed(z, propagation_of(graph, z.dtype), chunk=chunk)
    torch.testing.assert_close(found, dense_adjacency(graph) @ z, rtol=1e-6, atol=1e-7)  # weights are in float32
    assert torch.equal(z, before)


def test_a_node_without_edges_keeps_its_row() -> None:
    graph = build_graph(torch.zeros(4, 1), torch.tensor([[0], [2]]))
    z = torch.randn(4, 5)
    found = smoothed(z, propagation_of(graph))
    assert torch.equal(found[[1, 3]], z[[1, 3]])
    torch.testing.assert_close(found[[0, 2]], (z[0] + z[2]).expand(2, 5) / 2)


@pytest.mark.parametrize(("chunk", "pieces"), [(1, 7), (3, 3), (7, 1), (100, 1)])
def test_no_more_rows_than_a_chunk_are_taken_at_a_time(chunk: int, pieces: int) -> None:
    class Watched(Propagation):
        def __init__(self, matrix: Tensor) -> None:
            super().__init__(matrix)
            self.taken: list[int] = []

        def rows(self, start: int, stop: int) -> Tensor:
            self.taken.append(stop - start)
            return super().rows(start, stop)

    adjacency = Watched(propagation_of(random_graph(0, 7, False)).matrix)
    smoothed(torch.randn(7, 2), adjacency, chunk=chunk)
    assert (sum(adjacency.taken), len(adjacency.taken)) == (7, pieces)
    assert max(adjacency.taken) <= chunk


def test_nothing_is_kept_for_a_way_back_and_rows_are_in_order() -> None:
    adjacency = propagation_of(random_graph(0, 7, False))
    z = torch.randn(2, 7, requires_grad=True).T
    found = smoothed(z, adjacency)
    assert not found.requires_grad
    assert found.is_contiguous()
    torch.testing.assert_close(found, smoothed(z.detach().contiguous(), adjacency))


def test_mixed_precision_around_it_changes_nothing() -> None:
    """A trainer of Lightning embeds within autocast, and sparse products lack half precision."""
    adjacency, z = propagation_of(random_graph(0, 7, True)), torch.randn(7, 4)
    with torch.autocast("cpu", torch.bfloat16):
        found = smoothed(z, adjacency)
    assert torch.equal(found, smoothed(z, adjacency))
