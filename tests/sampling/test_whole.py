"""The whole graph as one batch, or shared by several processes."""

from collections.abc import Callable

import pytest
import torch
from torch_geometric.data import Data

from sfa.nn import GCN
from sfa.sampling import WholeGraph

MakeGraph = Callable[..., Data]


def test_one_step_on_the_graph_itself(make_graph: MakeGraph, generator: torch.Generator) -> None:
    graph = make_graph("sparse", 15)
    sampler = WholeGraph(graph)
    (step,) = sampler.plan(generator)
    assert sorted(step.tolist()) == list(range(15))
    assert sampler.batch(step, generator) is graph


@pytest.mark.parametrize("weighted", [False, True])
def test_a_part_of_the_nodes_gives_all_of_the_graph_with_these_first(
    make_graph: MakeGraph, generator: torch.Generator, weighted: bool
) -> None:
    graph = make_graph("sparse", 15, weighted=weighted)
    if weighted:  # weights that tell edges apart
        graph.edge_weight = graph.edge_weight + 0.1 * graph.edge_index.prod(0)
    sampler = WholeGraph(graph)
    part = torch.tensor([11, 3, 7])
    batch = sampler.batch(part, generator)
    assert batch.roots == 3
    assert batch.nodes[:3].tolist() == [11, 3, 7]
    assert sorted(batch.nodes.tolist()) == list(range(15))
    keys = batch.edge_index[0] * 15 + batch.edge_index[1]
    assert bool((keys.diff() > 0).all())
    encoder = GCN(4, 3).eval()
    torch.testing.assert_close(encoder(batch), encoder(graph)[batch.nodes])
