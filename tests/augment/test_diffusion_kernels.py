"""Sparse diffusion against the inverse and the exponential of dense matrices."""

import gc
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from unittest.mock import patch

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch_geometric.data import Data

from sfa.augment import diffusion
from sfa.augment.diffusion import heat_kernel, personalized_pagerank
from sfa.data import build_graph
from sfa.errors import InputError
from tests.augment.dense_diffusion import dense_adjacency, dense_heat, dense_pagerank

KERNELS: list[tuple[Callable[..., Tensor], Callable[[Data], Tensor]]] = [
    (partial(personalized_pagerank, alpha=0.2), lambda graph: dense_pagerank(graph, 0.2)),
    (partial(personalized_pagerank, alpha=0.02), lambda graph: dense_pagerank(graph, 0.02)),
    (partial(personalized_pagerank, alpha=1.0), lambda graph: dense_pagerank(graph, 1.0)),
    (partial(heat_kernel, t=5.0), lambda graph: dense_heat(graph, 5.0)),
    (partial(heat_kernel, t=60.0), lambda graph: dense_heat(graph, 60.0)),
    (partial(heat_kernel, t=0.0), lambda graph: dense_heat(graph, 0.0)),
]


def random_graph(n: int, density: float, *, weighted: bool = False, seed: int = 0) -> Data:
    """Any undirected graph: with isolated nodes, in several pieces, with weights from 0.001 to 1000, as it comes."""
    generator = torch.Generator().manual_seed(seed)
    upper = (torch.rand(n, n, generator=generator) < density).triu(1)
    weight = 10 ** (6 * torch.rand(n, n, generator=generator, dtype=torch.float64) - 3)
    both = upper | upper.T
    edge_weight = (weight.triu(1) + weight.triu(1).T)[both] if weighted else None
    return Data(x=torch.zeros(n, 1), edge_index=both.nonzero().T.contiguous(), edge_weight=edge_weight)


@settings(max_examples=60)
@given(
    n=st.integers(1, 14),
    density=st.floats(0, 1),
    weighted=st.booleans(),
    kernel=st.sampled_from(KERNELS),
    tolerance=st.sampled_from([1e-9, 1e-4, 1e-2, 0.2]),
    block=st.integers(1, 16),
    seed=st.integers(0, 999),
)
def test_every_entry_is_within_the_tolerance(
    n: int,
    density: float,
    weighted: bool,
    kernel: tuple[Callable[..., Tensor], Callable[[Data], Tensor]],
    tolerance: float,
    block: int,
    seed: int,
) -> None:
    """Whatever the blocks of rows are, those that do not divide the rows and those larger than all of them included."""
    graph = random_graph(n, density, weighted=weighted, seed=seed)
    with patch.object(diffusion, "BLOCK_BYTES", 8 * n * block):
        found = kernel[0](graph, tolerance=tolerance, dtype=torch.float64)
    exact, dense = kernel[1](graph), found.to_dense()
    rounding = 1e-11
    assert (dense - exact).abs().max() <= tolerance + rounding
    kept = dense != 0
    assert (dense - exact)[kept].abs().sum() == 0 or (dense - exact)[kept].abs().max() <= tolerance / 10 + rounding
    assert not (kept & (exact < 0.79 * tolerance)).any()
    assert torch.equal(dense, dense.T)
    assert int(kept.sum()) == len(found.values())


def test_two_nodes_by_hand() -> None:
    """``T`` is then a projection, and so ``S = α I + (1 - α) T`` and ``S = e^-t I + (1 - e^-t) T``."""
    pair = Data(x=torch.zeros(2, 1), edge_index=torch.tensor([[0, 1], [1, 0]]))
    expected = torch.tensor([[0.6, 0.4], [0.4, 0.6]])
    torch.testing.assert_close(personalized_pagerank(pair, alpha=0.2, tolerance=1e-7).to_dense(), expected)
    cooled = heat_kernel(pair, t=1.6094379, tolerance=1e-7).to_dense()  # e^-t = 0.2
    torch.testing.assert_close(cooled, expected)


def test_nothing_reaches_another_component_or_an_isolated_node() -> None:
    graph = Data(x=torch.zeros(5, 1), edge_index=torch.tensor([[0, 1, 3, 4], [1, 0, 4, 3]]))
    for spread in (personalized_pagerank(graph, alpha=0.1), heat_kernel(graph, t=9.0)):
        dense = spread.to_dense()
        assert dense[2].tolist() == [0, 0, pytest.approx(1, rel=1e-4), 0, 0]
        assert not dense[:2, 2:].any()
        assert (dense[:2, :2] > 0).all()


def test_the_exact_row_sums_on_a_regular_graph() -> None:
    """On a cycle nothing is lost: each row of the exact kernel sums to 1, and what is left out is what is missing."""
    cycle = build_graph(torch.zeros(40, 1), torch.tensor([range(40), [*range(1, 40), 0]]))
    sums = personalized_pagerank(cycle, alpha=0.2, tolerance=1e-9, dtype=torch.float64).to_dense().sum(1)
    torch.testing.assert_close(sums, torch.ones(40, dtype=torch.float64), rtol=0, atol=40e-9)


@pytest.mark.parametrize("top_k", [1, 3, 30, 99])
@pytest.mark.parametrize("block", [1, 7, 30])
def test_the_largest_entries_of_each_row(top_k: int, block: int) -> None:
    graph = random_graph(30, 0.15, weighted=True)
    exact = dense_pagerank(graph, 0.1)
    largest = torch.zeros(30, 30, dtype=torch.bool)
    for i in range(30):
        for j in range(30):
            larger = int((exact[i] > exact[i, j] + 1e-12).sum())
            largest[i, j] = larger < top_k and exact[i, j] > 1e-6
    largest |= largest.T.clone()
    with patch.object(diffusion, "BLOCK_BYTES", 8 * 30 * block):
        found = personalized_pagerank(graph, alpha=0.1, tolerance=1e-6, top_k=top_k, dtype=torch.float64).to_dense()
    assert torch.equal(found, found.T)
    sure = (exact - 1e-6).abs() > 2e-7
    assert torch.equal((found != 0)[sure], largest[sure])
    assert (found - exact)[found != 0].abs().max() <= 1e-7 + 1e-11


def test_dtype_and_indices() -> None:
    graph = random_graph(9, 0.4)
    matrix = heat_kernel(graph, t=2.0)
    assert matrix.layout == torch.sparse_csr
    assert (matrix.dtype, matrix.shape) == (torch.float32, (9, 9))
    rowptr, col = matrix.crow_indices(), matrix.col_indices()
    for i in range(9):
        assert (col[rowptr[i] : rowptr[i + 1]].diff() > 0).all()


class TestMemory:
    def test_worked_out_once_for_a_graph_and_its_settings(self) -> None:
        graph = random_graph(12, 0.4)
        first = personalized_pagerank(graph, alpha=0.2)
        view = Data(x=graph.x, edge_index=graph.edge_index)
        assert personalized_pagerank(view, alpha=0.2) is first
        for other in (
            partial(personalized_pagerank, alpha=0.3),
            partial(personalized_pagerank, alpha=0.2, tolerance=0.01),
            partial(personalized_pagerank, alpha=0.2, top_k=2),
            partial(personalized_pagerank, alpha=0.2, dtype=torch.float64),
            partial(heat_kernel, t=0.2),
        ):
            personalized_pagerank(graph, alpha=0.2)
            result = other(graph)
            fresh = other(random_graph(12, 0.4))
            assert result.dtype == fresh.dtype
            assert torch.equal(result.to_dense(), fresh.to_dense())
            assert not torch.equal(result.to_dense(), first.to_dense().to(result.dtype))

    def test_weights_and_edges_that_change_are_noticed(self) -> None:
        graph = random_graph(12, 0.4, weighted=True)
        plain = Data(x=graph.x, edge_index=graph.edge_index)
        weighted = heat_kernel(graph, t=3.0)
        assert heat_kernel(graph, t=3.0) is weighted
        assert not torch.equal(heat_kernel(plain, t=3.0).to_dense(), weighted.to_dense())
        assert heat_kernel(graph, t=3.0) is weighted
        graph.edge_weight.fill_(1)
        torch.testing.assert_close(heat_kernel(graph, t=3.0).to_dense(), heat_kernel(plain, t=3.0).to_dense())
        other = random_graph(12, 0.4, seed=1).edge_index
        same_weight = torch.ones(other.shape[1])
        a = Data(x=graph.x, edge_index=other, edge_weight=same_weight)
        before = heat_kernel(a, t=3.0)
        b = Data(x=graph.x, edge_index=other.clone().flip(1), edge_weight=same_weight)
        assert heat_kernel(b, t=3.0) is not before

    def test_forgotten_with_the_graph(self) -> None:
        before = len(diffusion._KNOWN._known)
        graph = random_graph(12, 0.4, weighted=True)
        heat_kernel(graph, t=3.0)
        personalized_pagerank(Data(x=graph.x, edge_index=graph.edge_index), alpha=0.2)
        assert len(diffusion._KNOWN._known) == before + 2
        del graph
        gc.collect()
        assert len(diffusion._KNOWN._known) == before


PEAK = """
import resource, torch
from torch_geometric.data import Data
from sfa.augment.diffusion import personalized_pagerank
def cycle(n):
    a, b = torch.arange(n), (torch.arange(n) + 1) % n
    return Data(x=torch.zeros(n, 1), edge_index=torch.stack([torch.cat([a, b]), torch.cat([b, a])]))
personalized_pagerank(cycle(99), alpha=0.8, tolerance=0.01)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
personalized_pagerank(cycle(6000), alpha=0.8, tolerance=0.01)
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024)
"""


@pytest.mark.slow
def test_no_dense_matrix_is_held() -> None:
    """6,000 × 6,000 numbers would be 288 MB in float64 and 144 MB in float32."""
    result = subprocess.run([sys.executable, "-W", "ignore", "-c", PEAK], capture_output=True, text=True, check=True)
    assert float(result.stdout) < 90


def test_edges_of_one_direction_are_refused() -> None:
    graph = Data(x=torch.zeros(3, 1), edge_index=torch.tensor([[0, 1], [1, 2]]))
    with pytest.raises(InputError, match="one direction only"):
        heat_kernel(graph, t=1.0)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (partial(personalized_pagerank, alpha=0.0), "alpha must be a number, above 0 and at most 1, not 0"),
        (partial(personalized_pagerank, alpha=1.5), "at most 1, not 1.5"),
        (partial(personalized_pagerank, alpha=float("nan")), "alpha"),
        (partial(heat_kernel, t=-1.0), "t must be a number, 0 or more, not -1"),
        (partial(heat_kernel, t=1.0, tolerance=0.0), "tolerance must be a number, above 1e-10, not 0"),
        (partial(heat_kernel, t=1.0, top_k=0), "top_k must be a whole number, 1 or more, not 0"),
    ],
)
def test_wrong_arguments_are_named(call: Callable[[Data], Tensor], message: str) -> None:
    with pytest.raises(InputError, match=message):
        call(random_graph(4, 0.5))


def test_the_reference_is_symmetric_with_eigenvalues_up_to_one() -> None:
    values = torch.linalg.eigvalsh(dense_adjacency(random_graph(20, 0.3, weighted=True)))
    assert values.max() == pytest.approx(1)
    assert values.min() > -1
