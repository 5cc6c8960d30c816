"""Batches of whole graphs, against torch_geometric's own collation."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torch import nn
from torch_geometric.data import Batch, Data

from sfa.errors import InputError
from sfa.sampling import Graphs, Images, Starts
from sfa.tasks import item_word, num_items, task_of
from sfa.train import train


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def union(graphs: list[Data]) -> Data:
    """What torch_geometric makes of a list, in the form of a set."""
    batch = Batch.from_data_list(graphs)
    order = (batch.edge_index[0] * batch.num_nodes + batch.edge_index[1]).argsort()
    return Data(x=batch.x, edge_index=batch.edge_index[:, order], ptr=batch.ptr, batch=batch.batch)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seeds=st.lists(st.integers(0, 39), min_size=1, unique=True))
def test_a_batch_is_what_torch_geometric_collates(molecule_list: list[Data], seeds: list[int]) -> None:
    batch = Graphs(union(molecule_list)).batch(torch.tensor(seeds), seeded())
    expected = union([molecule_list[i] for i in seeds])
    for key in ("x", "edge_index", "ptr", "batch"):
        assert torch.equal(batch[key], expected[key]), key
    assert batch.graphs.tolist() == seeds
    assert (task_of(batch), num_items(batch), item_word(batch)) == ("graph", len(seeds), "graphs")
    assert batch.num_nodes == len(batch.x)


def test_weights_and_sparse_features_come_along(molecules: Data) -> None:
    weights = torch.rand(molecules.num_edges)
    dense, molecules.edge_weight = molecules.x, weights
    molecules.x = dense.to_sparse_csr()
    batch = Graphs(molecules).batch(torch.tensor([7, 3]), seeded())
    first, last = molecules.ptr[7], molecules.ptr[8]
    inside = (molecules.edge_index[0] >= first) & (molecules.edge_index[0] < last)
    assert torch.equal(batch.edge_weight[: inside.sum()], weights[inside])
    assert torch.equal(batch.x.to_dense()[: last - first], dense[first:last])


def test_graphs_without_edges_or_nodes_keep_their_place() -> None:
    pair = torch.tensor([[0, 1], [1, 0]])
    none = torch.empty((2, 0), dtype=torch.int64)
    graphs = [
        Data(x=torch.ones(2, 3), edge_index=pair),
        Data(x=torch.zeros(0, 3), edge_index=none),
        Data(x=torch.full((1, 3), 5.0), edge_index=none),
    ]
    batch = Graphs(union(graphs)).batch(torch.tensor([2, 1, 0]), seeded())
    assert batch.ptr.tolist() == [0, 1, 1, 3]
    assert batch.batch.tolist() == [0, 2, 2]
    assert batch.edge_index.tolist() == [[1, 2], [2, 1]]
    assert batch.x[:, 0].tolist() == [5, 1, 1]


def test_an_epoch_has_every_graph_once(molecules: Data) -> None:
    sampler = Graphs(molecules, batch_size=12)
    plan = sampler.plan(seeded())
    assert [len(step) for step in plan] == [10] * 4
    assert sorted(torch.cat(plan).tolist()) == list(range(40))
    assert not torch.equal(torch.cat(plan), torch.cat(sampler.plan(seeded(1))))


def test_one_graph_is_no_set(planted: Data) -> None:
    assert (task_of(planted), num_items(planted), item_word(planted)) == ("node", 60, "nodes")
    with pytest.raises(InputError, match="of graphs, and this"):
        Graphs(planted)


def test_one_graph_is_too_few_to_learn_from(molecule_list: list[Data]) -> None:
    with pytest.raises(InputError, match="least 2 are needed"):
        Graphs(union(molecule_list[:1]))


@pytest.mark.parametrize("wrong", [torch.tensor([40]), torch.tensor([0, 0])])
def test_seeds_that_are_none_are_named(molecules: Data, wrong: torch.Tensor) -> None:
    with pytest.raises(InputError, match=r"[Ss]eeds"):
        Graphs(molecules).batch(wrong, seeded())


def test_a_batch_is_some_images_with_their_labels(pictures: Data) -> None:
    batch = Images(pictures).batch(torch.tensor([7, 3]), seeded())
    assert torch.equal(batch.x, pictures.x[[7, 3]])
    assert batch.y.tolist() == pictures.y[[7, 3]].tolist()
    assert batch.images.tolist() == [7, 3]
    assert (task_of(batch), num_items(batch), item_word(batch)) == ("image", 2, "images")


def test_images_outside_of_the_training_part_are_never_seen(pictures: Data) -> None:
    pictures.train_mask = torch.arange(60) % 2 == 1
    sampler = Images(pictures, batch_size=7)
    seen = [int(image) for seeds in sampler.plan(seeded()) for image in sampler.batch(seeds, seeded()).images]
    assert sorted(seen) == list(range(1, 60, 2))


def test_without_parts_every_image_is_seen_once(pictures: Data) -> None:
    del pictures.train_mask, pictures.y
    sampler = Images(pictures, batch_size=16)
    batches = [sampler.batch(seeds, seeded()) for seeds in sampler.plan(seeded(1))]
    assert [len(batch.x) for batch in batches] == [15, 15, 15, 15]
    assert sorted(torch.cat([batch.images for batch in batches]).tolist()) == list(range(60))
    assert all("y" not in batch for batch in batches)


def test_other_data_and_single_images_are_refused(pictures: Data, planted: Data) -> None:
    with pytest.raises(InputError, match="needs a set of images"):
        Images(planted)
    pictures.train_mask = torch.arange(60) == 4
    with pytest.raises(InputError, match="2 images are needed"):
        Images(pictures)
    pictures.train_mask = torch.arange(60) < 45
    sampler = Images(pictures)
    with pytest.raises(InputError, match="from 0 to 44"):
        sampler.batch(torch.tensor([45]), seeded())


def test_training_without_a_sampler_takes_images_in_batches(pictures: Data) -> None:
    sizes = []

    class Counts(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.Parameter(torch.zeros(()))

        def forward(self, batch: Data, generator: torch.Generator) -> torch.Tensor:
            sizes.append(len(batch.x))
            return self.weight.square()

    train(Counts(), pictures, epochs=1, device="cpu")
    assert sizes == [45]


MakeGraph = Callable[..., Data]


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
