"""Candidate pairs, chances of steps and walked views, against loops over the pairs of each graph."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from torch_geometric.data import Batch, Data

from sfa.graph.walks import Transitions
from sfa.methods.lp_info import Candidates, candidate_pairs, step_chances, walked_view


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def random_batch(sizes: list[int], density: float, seed: int = 0) -> Data:
    """Random graphs of these sizes; the features of a node are its number."""
    rng, graphs, first = np.random.default_rng(seed), [], 0
    for size in sizes:
        pairs = np.argwhere(np.triu(rng.random((size, size)) < density, 1)).T
        both = torch.from_numpy(np.concatenate([pairs, pairs[::-1]], 1))
        graphs.append(Data(x=torch.arange(first, first + size, dtype=torch.float32)[:, None], edge_index=both))
        first += size
    batch: Data = Batch.from_data_list(graphs)
    return batch


def as_pairs(pairs: Tensor) -> list[tuple[int, int]]:
    return [(int(i), int(j)) for i, j in pairs.T]


def edges_of(batch: Data) -> set[tuple[int, int]]:
    return {(i, j) for i, j in as_pairs(batch.edge_index) if i < j}


@given(
    sizes=st.lists(st.integers(0, 7), min_size=1, max_size=4),
    density=st.sampled_from([0.0, 0.3, 0.8, 1.0]),
    seed=st.integers(0, 99),
)
def test_candidates_are_all_edges_and_as_many_other_pairs_of_each_graph(
    sizes: list[int], density: float, seed: int
) -> None:
    batch = random_batch(sizes, density, seed)
    found = candidate_pairs(batch, seeded(seed))
    pairs, edges = as_pairs(found.pairs), edges_of(batch)
    assert pairs == sorted(set(pairs))
    for number, (start, size) in enumerate(zip(batch.ptr.tolist(), sizes, strict=False)):
        all_pairs = set(itertools.combinations(range(start, start + size), 2))
        mine = {pair for pair, graph in zip(pairs, found.graph.tolist(), strict=True) if graph == number}
        assert mine <= all_pairs
        assert edges & all_pairs <= mine
        others = all_pairs - edges
        drawn = len(mine & others)
        assert drawn == min(len(edges & all_pairs), len(others))
        for pair in mine:
            place = pairs.index(pair)
            assert bool(found.joined[place]) == (pair in edges)
            assert float(found.stands_for[place]) == pytest.approx(1 if pair in edges else len(others) / drawn)


def slow_chances(candidates: Candidates, scores: Tensor, least: float) -> dict[tuple[int, int], float]:
    """The formula, a node and a neighbour at a time."""
    chances = {}
    rows = list(zip(as_pairs(candidates.pairs), scores.tolist(), candidates.stands_for.tolist(), strict=True))
    for node in range(candidates.structure.num_nodes):
        steps = [(j if i == node else i, s, w) for (i, j), s, w in rows if node in (i, j)]
        total = sum(w * math.exp(s) for _, s, w in steps)
        likely = [(j, w * math.exp(s) / total) for j, s, w in steps if math.exp(s) / total >= least]
        for j, chance in likely or [(j, w * math.exp(s) / total) for j, s, w in steps]:
            chances[node, j] = chance
    return chances


@pytest.mark.parametrize("least", [0.0, 0.1, 0.3, 1.0])
def test_chances_of_steps(least: float) -> None:
    batch = random_batch([6, 0, 9, 1, 4], 0.4)
    candidates = candidate_pairs(batch, seeded())
    assert bool((candidates.stands_for > 1).any())
    scores = 2 * torch.randn(len(candidates.graph), generator=seeded(1))
    chances = step_chances(candidates, scores, least)
    steps = torch.stack(
        [torch.arange(20).repeat_interleave(candidates.structure.edge_rowptr.diff()), candidates.structure.edge_col]
    )
    found = {pair: chance for pair, chance in zip(as_pairs(steps), chances.tolist(), strict=True) if chance > 0}
    assert found == pytest.approx(slow_chances(candidates, scores, least), rel=1e-5)


def test_where_all_pairs_are_candidates_chances_are_a_softmax_over_the_graph() -> None:
    """Nearly complete graphs: nothing is estimated."""
    batch = random_batch([5, 4], 0.8, seed=2)
    candidates = candidate_pairs(batch, seeded())
    assert len(candidates.graph) == 10 + 6
    scores = torch.randn(16, generator=seeded(1))
    dense = torch.full((9, 9), -math.inf)
    for (i, j), score in zip(as_pairs(candidates.pairs), scores.tolist(), strict=True):
        dense[i, j] = dense[j, i] = score
    expected = dense.softmax(1)
    torch.testing.assert_close(step_chances(candidates, scores, 0.0), expected[expected > 0])


@pytest.mark.parametrize("scale", [1e3, 1e30])
def test_huge_scores_stay_finite(scale: float) -> None:
    candidates = candidate_pairs(random_batch([8], 0.4), seeded())
    scores = scale * torch.randn(len(candidates.graph), generator=seeded(1))
    chances = step_chances(candidates, scores, 0.1)
    row = torch.arange(8).repeat_interleave(candidates.structure.edge_rowptr.diff())
    torch.testing.assert_close(torch.zeros(8).index_add(0, row, chances), torch.ones(8))


def test_a_view_holds_the_nodes_passed_and_the_steps_taken() -> None:
    """Walks that can only go round a ring of four, among them no step to the other two nodes of the graph."""
    batch = random_batch([6, 0, 3], 1.0)
    candidates = candidate_pairs(batch, seeded())
    chances = torch.zeros(len(candidates.structure.edge_col))
    row = torch.arange(9).repeat_interleave(candidates.structure.edge_rowptr.diff())
    for here in range(4):
        chances[(row == here) & (candidates.structure.edge_col == (here + 1) % 4)] = 1
    transitions = Transitions(candidates.structure, chances)
    view = walked_view(batch, transitions, 30, 5, seeded())
    assert view.x.flatten().tolist() == list(range(9))
    assert (view.ptr.tolist(), view.batch.tolist()) == ([0, 6, 6, 9], [0] * 6 + [2] * 3)
    assert edges_of(view) == {(0, 1), (1, 2), (2, 3), (0, 3)}
    keys = view.edge_index[0] * 9 + view.edge_index[1]
    assert view.edge_index.shape == (2, 8)
    assert bool((keys.diff() > 0).all())

    for seed in range(20):
        one = walked_view(batch, transitions, 1, 2, seeded(seed))
        start, other = one.x[: int(one.ptr[1])].flatten().tolist(), one.x[int(one.ptr[1]) :].flatten().tolist()
        assert len(other) == 1
        if len(start) == 1:
            assert start[0] in (4, 5)
        else:
            assert sorted(start) in ([0, 1, 2], [1, 2, 3], [0, 2, 3], [0, 1, 3])
            assert one.edge_index.shape == (2, 4)
            passed = {(start[i], start[j]) for i, j in as_pairs(one.edge_index)}
            assert passed <= {(i, j) for i in range(4) for j in ((i + 1) % 4, (i - 1) % 4)}


def test_walks_start_everywhere_alike() -> None:
    """Without edges a view is the nodes that walks start from: each with probability 1 - (1 - 1/n)^walks."""
    batch = random_batch([5] * 2000, 0.0)
    empty = Transitions(candidate_pairs(batch, seeded()).structure, torch.zeros(0))
    view = walked_view(batch, empty, 3, 4, seeded())
    assert view.num_edges == 0
    kept = torch.zeros(5).index_add(0, view.x.flatten().long() % 5, torch.ones(view.num_nodes)) / 2000
    torch.testing.assert_close(kept, torch.full((5,), 1 - 0.8**3), rtol=0, atol=0.05)


def test_a_view_has_no_weights() -> None:
    batch = random_batch([6, 5], 0.5)
    batch.edge_weight = torch.rand(batch.num_edges)
    candidates = candidate_pairs(batch, seeded())
    chances = step_chances(candidates, torch.zeros(len(candidates.graph)), 0.0)
    assert walked_view(batch, Transitions(candidates.structure, chances), 4, 4, seeded()).edge_weight is None
