"""Samplers and walks on a stored graph, which read the rows that they need."""

from pathlib import Path

import pytest
import torch
from torch_geometric.data import Data

from sfa.data.store import StoredGraph
from sfa.data.write_store import write_store
from sfa.errors import InputError
from sfa.graph.batches import replace_edges
from sfa.graph.structure import take_rows
from sfa.graph.walks import Transitions
from sfa.sampling import Neighbors, RandomNodes, RandomWalks


@pytest.fixture
def weighted(planted: Data) -> Data:
    weight = torch.rand(60, 60, generator=torch.Generator().manual_seed(0))
    planted.edge_weight = (weight + weight.T)[tuple(planted.edge_index)]
    return planted


@pytest.fixture
def stored(weighted: Data, tmp_path: Path) -> StoredGraph:
    return write_store(weighted, tmp_path / "store")


@pytest.mark.parametrize("kind", [Neighbors, RandomWalks])
def test_a_batch_is_that_of_the_graph_in_memory(weighted: Data, stored: StoredGraph, kind: type) -> None:
    seeds = torch.tensor([50, 3, 17])
    batches = [kind(data, batch_size=3).batch(seeds, torch.Generator().manual_seed(1)) for data in (weighted, stored)]
    for key in ("nodes", "edge_index", "edge_weight", "x"):
        assert torch.equal(*(batch[key] for batch in batches))
    assert "edge_index" not in stored


def test_the_seeds_of_an_epoch_are_distinct_and_any_node(stored: StoredGraph) -> None:
    sampler, generator = RandomNodes(stored, batch_size=4, steps=5), torch.Generator().manual_seed(0)
    plans = [sampler.plan(generator) for _ in range(40)]
    for plan in plans:
        assert [len(seeds) for seeds in plan] == [4] * 5
        assert len(torch.cat(plan).unique()) == 20
    assert len(torch.cat(plans[0] + plans[1]).unique()) > 20  # drawn anew
    assert len(torch.cat([torch.cat(plan) for plan in plans]).unique()) == 60
    again = sampler.plan(torch.Generator().manual_seed(0))
    assert all(torch.equal(*seeds) for seeds in zip(again, plans[0], strict=True))


def test_walks_on_disk_go_by_weight(weighted: Data, stored: StoredGraph) -> None:
    node, draws = 7, 40_000
    here = torch.full((draws,), node)
    found = [Transitions.of(data).step(here, torch.Generator().manual_seed(0)) for data in (weighted, stored)]
    shares = [there.bincount(minlength=60) / draws for there in found]
    torch.testing.assert_close(*shares, atol=0.01, rtol=0)


def test_half_precision_is_widened_as_rows_are_taken(weighted: Data, tmp_path: Path) -> None:
    data = write_store(weighted, tmp_path / "half", float16=True)
    assert data.x.dtype == torch.float16
    assert take_rows(data.x, torch.tensor([1, 2])).dtype == torch.float32


def test_edges_on_disk_are_not_replaced(stored: StoredGraph) -> None:
    with pytest.raises(InputError, match="stored graph"):
        replace_edges(stored, 0.1, 0)
