"""Random walks, and the subgraphs that they induce, against plain Python."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare
from torch_geometric.data import Data

from sfa.errors import InputError
from sfa.graph.structure import csr_structure
from sfa.graph.walks import Transitions, random_walks
from sfa.sampling import RandomWalks

MakeGraph = Callable[..., Data]


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def walks_on(graph: Data, seeds: torch.Tensor, length: int, generator: torch.Generator) -> torch.Tensor:
    transitions = Transitions(csr_structure(graph.edge_index, graph.num_nodes))
    return random_walks(transitions, seeds, length, generator)


@given(
    shape=st.sampled_from(["sparse", "dense", "star", "path", "two"]),
    nodes=st.integers(2, 20),
    seed=st.integers(0, 2**31),
    length=st.integers(1, 5),
    weighted=st.booleans(),
)
def test_walks_follow_edges_and_induce_their_subgraph(
    make_graph: MakeGraph, shape: str, nodes: int, seed: int, length: int, weighted: bool
) -> None:
    graph = make_graph(shape, nodes, seed, weighted=weighted)
    weights = torch.ones(graph.edge_index.shape[1]) if graph.edge_weight is None else graph.edge_weight
    edges = dict(zip(map(tuple, graph.edge_index.T.tolist()), weights.tolist(), strict=True))
    seeds = torch.randperm(nodes, generator=seeded(seed))[:3]

    walks = walks_on(graph, seeds, length, seeded(seed))
    assert walks.shape == (length + 1, len(seeds))
    assert torch.equal(walks[0], seeds)
    has_neighbours = {a for a, _ in edges}
    for here, there in zip(walks[:-1].flatten().tolist(), walks[1:].flatten().tolist(), strict=True):
        assert (here, there) in edges if here in has_neighbours else here == there

    batch = RandomWalks(graph, length=length).batch(seeds, seeded(seed))
    visited = set(walks.flatten().tolist())
    assert set(batch.nodes.tolist()) == visited
    assert batch.roots == len(visited)
    found = batch.get("edge_weight", torch.ones(batch.edge_index.shape[1])).tolist()
    induced = dict(zip(map(tuple, batch.nodes[batch.edge_index].T.tolist()), found, strict=True))
    assert induced == {(a, b): weight for (a, b), weight in edges.items() if a in visited and b in visited}


def test_each_neighbour_is_as_likely_at_each_step(make_graph: MakeGraph, generator: torch.Generator) -> None:
    """From the hub of a star to a leaf, back, and to another leaf that does not depend on the first."""
    graph = make_graph("star", 6)
    walks = walks_on(graph, torch.zeros(20_000, dtype=torch.int64), 3, generator)
    assert not walks[2].any()
    counts = torch.bincount(walks[1] * 6 + walks[3], minlength=36).reshape(6, 6)[1:, 1:]
    assert counts.sum() == 20_000
    assert chisquare(counts.flatten()).pvalue > 0.001


def test_a_node_with_no_neighbour_is_a_batch_of_its_own(make_graph: MakeGraph) -> None:
    batch = RandomWalks(make_graph("two", 5)).batch(torch.tensor([4]), seeded())
    assert batch.nodes.tolist() == [4]
    assert batch.edge_index.shape == (2, 0)


@pytest.mark.parametrize("wrong", [0, -1, 2.0])
def test_a_length_below_one_is_refused(make_graph: MakeGraph, wrong: int) -> None:
    with pytest.raises(InputError, match="number, 1 or more"):
        RandomWalks(make_graph("path", 5), length=wrong)
