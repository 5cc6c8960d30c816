"""Nodes to start from, and the whole graph with them."""

from collections.abc import Callable

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch_geometric.data import Data

from sfa.sampling import Starts

MakeGraph = Callable[..., Data]


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


@given(nodes=st.integers(2, 40), seed=st.integers(0, 2**31), batch_size=st.integers(1, 12))
def test_every_node_starts_once_an_epoch(make_graph: MakeGraph, nodes: int, seed: int, batch_size: int) -> None:
    sampler = Starts(make_graph("sparse", nodes), batch_size=batch_size)
    batches = [sampler.batch(step, seeded()) for step in sampler.plan(seeded(seed))]
    assert sorted(torch.cat([batch.seeds for batch in batches]).tolist()) == list(range(nodes))
    assert max(len(batch.seeds) for batch in batches) <= batch_size


@pytest.mark.parametrize("csr", [False, True])
def test_a_batch_is_the_graph_itself_and_not_a_copy(make_graph: MakeGraph, csr: bool) -> None:
    graph = make_graph("sparse", 15, weighted=True, csr=csr)
    sampler = Starts(graph)
    one, other = sampler.batch(torch.tensor([3, 1]), seeded()), sampler.batch(torch.tensor([7]), seeded())
    for batch in (one, other, one.to("cpu")):  # as training moves it
        assert all(batch[key] is graph[key] for key in ("x", "edge_index", "edge_weight"))
        assert batch.num_nodes == 15
        assert "nodes" not in batch
        assert "roots" not in batch
    assert one.seeds.tolist() == [3, 1]
    assert other.seeds.tolist() == [7]
    assert "seeds" not in graph
