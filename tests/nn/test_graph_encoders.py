"""What both encoders of graphs have in common: pooling, chunks, odd batches."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch_geometric.data import Batch, Data
from torch_geometric.loader import DataLoader

from sfa import distributed
from sfa.augment import MaskFeatures
from sfa.errors import InputError
from sfa.nn import GIN, GraphEncoder, PooledGCN, sum_pool
from sfa.nn.gin import whole_graphs
from sfa.seeding import seeded_initialization
from tests.graph.graph_batches import (
    WIDTH,
    assert_sound,
    batches,
    mixed_batch,
    random_graphs,
    seeded,
    to_batch,
    to_data,
)
from tests.processes import run_in_processes

ENCODERS: dict[str, type[GIN | PooledGCN]] = {"gin": GIN, "gcn": PooledGCN}
BOTH = pytest.mark.parametrize("name", ENCODERS)


def trained_a_little(name: str, **options: int) -> GraphEncoder:
    """An encoder whose running statistics are no longer those of a new module."""
    with seeded_initialization(0):
        encoder = ENCODERS[name](WIDTH, **{"hidden": 4, "layers": 2, **options})
    encoder(to_batch(random_graphs(1, [9, 8, 7])))
    return encoder


@BOTH
def test_widths(name: str) -> None:
    encoder = ENCODERS[name](WIDTH, 5, layers=4)
    assert encoder.width == 20
    assert encoder.nodes(mixed_batch()).shape == (38, 20)
    assert encoder(mixed_batch()).shape == (6, 20)
    assert ENCODERS[name](WIDTH).width == 96


@BOTH
@pytest.mark.parametrize("training", [True, False])
def test_graphs_are_sums_of_their_nodes(name: str, training: bool) -> None:
    batch = mixed_batch()
    encoder = trained_a_little(name).train(training)
    torch.testing.assert_close(encoder(batch), sum_pool(encoder.nodes(batch), batch.ptr))


@BOTH
@settings(max_examples=25)
@given(batch=batches(), chunk=st.integers(1, 30), seed=st.integers(0, 99))
def test_embedding_in_chunks_equals_forward(name: str, batch: Data, chunk: int, seed: int) -> None:
    """Whatever the order of the edges; and each graph's row is what it is alone."""
    encoder = trained_a_little(name)
    order = torch.randperm(batch.num_edges, generator=seeded(seed))
    shuffled = Data(x=batch.x, edge_index=batch.edge_index[:, order], ptr=batch.ptr, batch=batch.batch)
    if "edge_weight" in batch:
        shuffled.edge_weight = batch.edge_weight[order]
    embedded = encoder.embed(shuffled, chunk=chunk)
    assert encoder.training
    assert not embedded.requires_grad
    encoder.eval()
    torch.testing.assert_close(embedded, encoder(batch))
    assert not encoder.embed(batch).requires_grad
    assert not encoder.training
    for row, graph in zip(embedded, batch.to_data_list(), strict=True):
        torch.testing.assert_close(row[None], encoder(Batch.from_data_list([graph])))


@given(batch=batches(), chunk=st.integers(1, 30))
def test_parts_are_whole_graphs_in_their_order(batch: Data, chunk: int) -> None:
    parts = list(whole_graphs(batch, chunk))
    assert torch.equal(torch.cat([part.x for part in parts]), batch.x)
    assert torch.cat([part.ptr.diff() for part in parts]).tolist() == batch.ptr.diff().tolist()
    for part, following in zip(parts, [*parts[1:], None], strict=True):
        assert_sound(part, part)
        assert part.num_nodes <= chunk or len(part.ptr) == 2
        if following is not None:
            assert part.num_nodes + int(following.ptr[1]) > chunk
    assert sum(part.num_edges for part in parts) == batch.num_edges


@BOTH
def test_batches_of_a_data_loader(name: str) -> None:
    encoder = trained_a_little(name).eval()
    graphs = [to_data(graph) for graph in random_graphs(3, [5, 1, 8, 4, 0, 7])]
    expected = encoder(Batch.from_data_list(graphs))
    rows = [encoder(batch) for batch in DataLoader(graphs, batch_size=4)]
    torch.testing.assert_close(torch.cat(rows), expected)


@BOTH
def test_the_order_of_nodes_and_graphs_makes_no_difference(name: str) -> None:
    graphs = [to_data(graph) for graph in random_graphs(3, [5, 8, 6])]
    encoder = trained_a_little(name).double().train()
    renumbered = []
    for graph in graphs:
        order = torch.randperm(graph.num_nodes, generator=seeded(4))
        renumbered.append(Data(x=graph.x[order].double(), edge_index=order.argsort()[graph.edge_index]))
        graph.x = graph.x.double()
    expected = encoder(Batch.from_data_list(graphs))
    torch.testing.assert_close(encoder(Batch.from_data_list(renumbered[::-1])).flip(0), expected)


@BOTH
def test_graphs_without_edges(name: str) -> None:
    batch = to_batch(random_graphs(0, [4, 3], density=0.0))
    encoder = trained_a_little(name)
    loss = encoder(batch).square().mean()
    assert loss.isfinite()
    loss.backward()


@BOTH
def test_graphs_without_nodes(name: str) -> None:
    encoder = trained_a_little(name)
    only = to_batch(random_graphs(0, [0, 0]))
    assert not encoder.embed(only).any()
    assert encoder.embed(only).shape == (2, 8)
    assert not encoder.embed(to_batch(random_graphs(0, [5, 0, 6])), chunk=5)[1].any()


@BOTH
@pytest.mark.parametrize("sizes", [[1], [0, 1], [0]])
def test_training_needs_two_nodes(name: str, sizes: list[int]) -> None:
    encoder, batch = trained_a_little(name), to_batch(random_graphs(0, sizes))
    state = {key: value.clone() for key, value in encoder.state_dict().items()}
    for call in (encoder, encoder.nodes):
        with pytest.raises(InputError, match=f"2 or more nodes in a batch of graphs to train on, not {sum(sizes)}"):
            call(batch)
    assert all(torch.equal(value, state[key]) for key, value in encoder.state_dict().items())
    assert encoder.embed(batch).isfinite().all()


@BOTH
def test_what_is_no_batch_is_refused(name: str) -> None:
    encoder = trained_a_little(name)
    one = to_data(random_graphs(0, [6])[0])
    for call in (encoder, encoder.nodes, encoder.embed):
        with pytest.raises(InputError, match="ptr"):
            call(one)
        assert encoder.training
    joined = to_batch(random_graphs(0, [3, 3]))
    joined.edge_index = torch.cat([joined.edge_index, torch.tensor([[0, 5], [5, 0]])], dim=1)
    with pytest.raises(InputError, match="joins nodes of two graphs"):
        encoder.embed(joined, chunk=3)
    with pytest.raises(InputError, match="joins nodes of two graphs"):
        encoder.embed(joined)
    assert encoder.training
    directed = to_batch(random_graphs(0, [5, 5], density=1.0))
    directed.edge_index = directed.edge_index[:, 1:]
    with pytest.raises(InputError, match="one direction only"):
        encoder(directed)


def test_wrong_arguments_are_named() -> None:
    for wrong in ({"hidden": 0}, {"layers": 0}):
        for encoder in ENCODERS.values():
            with pytest.raises(InputError, match="≥ 1 and layers"):
                encoder(3, **wrong)


@BOTH
def test_masked_columns_of_a_view_do_not_count(name: str) -> None:
    encoder, batch = trained_a_little(name).eval(), mixed_batch()
    view = MaskFeatures(0.5).view(batch, seeded(0))
    assert 0 < int(view.feature_mask.sum()) < WIDTH
    plain = batch.clone()
    plain.x = batch.x * view.feature_mask
    expected = encoder(plain)
    torch.testing.assert_close(encoder(view), expected)
    assert not torch.allclose(encoder(batch), expected)


def share_of_the_graphs(name: str, state: dict[str, Any], sizes: list[int]) -> tuple[Tensor, Tensor]:
    """Rows of this process's graphs, the first rank with a single node, and a running mean."""
    encoder = trained_a_little(name)
    encoder.load_state_dict(state)
    distributed.enable_cross_rank(encoder)
    graphs = [to_data(graph) for graph in random_graphs(3, sizes)]
    own = graphs[:1] if distributed.rank() == 0 else graphs[1:]
    rows = encoder(Batch.from_data_list(own)).detach()
    return rows, next(value for key, value in encoder.state_dict().items() if key.endswith("running_mean"))


@pytest.mark.multiprocess
@BOTH
def test_the_nodes_of_all_processes_are_one_batch(name: str) -> None:
    sizes, encoder = [1, 6, 7], trained_a_little(name)
    state = {key: value.clone() for key, value in encoder.state_dict().items()}
    results = run_in_processes(share_of_the_graphs, 2, name, state, sizes)
    expected = encoder(Batch.from_data_list([to_data(graph) for graph in random_graphs(3, sizes)])).detach()
    torch.testing.assert_close(torch.cat([rows for rows, _ in results]), expected)
    running = next(value for key, value in encoder.state_dict().items() if key.endswith("running_mean"))
    for _, mean in results:
        torch.testing.assert_close(mean, running)
