"""The fixed pattern of a graph against dense matrices, and how long it is remembered."""

import gc

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from sfa.errors import InputError
from sfa.graph.pattern import _PATTERNS, Pattern, pattern_of


def random_edges(n: int, share: float, seed: int) -> Tensor:
    """Undirected, without loops, sorted."""
    draw = torch.rand(n, n, generator=torch.Generator().manual_seed(seed)).triu(1)
    upper = (draw > 0) & (draw < share)
    return (upper | upper.T).nonzero().T.contiguous()


@settings(max_examples=60)
@given(n=st.integers(1, 12), share=st.floats(0, 1), seed=st.integers(0, 10**6), shuffled=st.booleans())
def test_places_rows_and_twins(n: int, share: float, seed: int, shuffled: bool) -> None:
    edges = random_edges(n, share, seed)
    if shuffled:
        edges = edges[:, torch.randperm(edges.shape[1], generator=torch.Generator().manual_seed(seed))]
    pattern = Pattern(edges, n)
    given_values = torch.arange(1, edges.shape[1] + 1).double()
    dense = torch.zeros(n, n, dtype=torch.float64)
    dense[edges[0], edges[1]] = given_values
    dense += 1000 * torch.eye(n)

    values = torch.empty(len(pattern.col), dtype=torch.float64)
    values[pattern.place] = pattern.sorted(given_values)
    values[pattern.loop] = 1000
    row = torch.arange(n).repeat_interleave(pattern.rowptr.diff())
    rebuilt = torch.zeros(n, n, dtype=torch.float64)
    rebuilt[row, pattern.col] = values
    assert torch.equal(rebuilt, dense)
    assert bool(((row * n + pattern.col).diff() > 0).all())

    sorted_edges = torch.stack([row, pattern.col])[:, pattern.place]
    assert torch.equal(sorted_edges[:, pattern.edge_twin], sorted_edges.flip(0))

    number, count = pattern.undirected
    assert count == edges.shape[1] // 2
    pairs = {(int(edges.min(0).values[e]), int(edges.max(0).values[e])): int(number[e]) for e in range(len(number))}
    assert [pairs[pair] for pair in sorted(pairs)] == list(range(count))
    for e in range(len(number)):
        assert int(number[e]) == pairs[tuple(sorted(edges[:, e].tolist()))]  # type: ignore[index]


@pytest.mark.parametrize(
    ("edges", "message"),
    [
        ([[0, 1, 1], [1, 0, 1]], "self-loop"),
        ([[0, 0, 1, 1], [1, 1, 0, 0]], "duplicate"),
        ([[0, 1, 2], [1, 0, 0]], "one direction"),
        ([[0], [2]], "one direction"),
    ],
)
def test_edges_that_are_no_undirected_graph_are_refused(edges: list[list[int]], message: str) -> None:
    with pytest.raises(InputError, match=message):
        _ = Pattern(torch.tensor(edges), 3).edge_twin


def test_a_pattern_is_remembered_while_its_edges_live_and_stay() -> None:
    edges = random_edges(8, 0.5, 0)
    first = pattern_of(edges, 8)
    assert pattern_of(edges, 8) is first
    assert pattern_of(edges, 9) is not first
    assert pattern_of(edges.clone(), 8) is not first

    changed = pattern_of(edges, 8)
    edges.copy_(edges.flip(0))
    assert pattern_of(edges, 8) is not changed

    gc.collect()
    known = len(_PATTERNS)
    del edges
    gc.collect()
    assert len(_PATTERNS) == known - 1
